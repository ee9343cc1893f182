import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * The first so many events of the stream. Reader i of n makes events i, i + n, i + 2n, …, so there is nothing to assign and there are no
 * splits. Not for checkpoints: no position is kept.
 */
final class EventSource implements Source<Event, EventSource.NoSplit, Void> {
  private static final long serialVersionUID = 1;

  private final long events, seed, rate;
  /** Events that a reader makes when it is asked for one. Flink's connectors make one, which costs more. */
  private final int batch;

  EventSource(long events, long seed, long rate, int batch) {
    this.events = events;
    this.seed = seed;
    this.rate = rate;
    this.batch = batch;
  }

  @Override
  public Boundedness getBoundedness() {
    return Boundedness.BOUNDED;
  }

  @Override
  public SourceReader<Event, NoSplit> createReader(SourceReaderContext context) {
    return new Reader(new Generator(seed, rate, context.getIndexOfSubtask(), context.currentParallelism()));
  }

  private final class Reader implements SourceReader<Event, NoSplit> {
    private final Generator generator;
    private final Event event = new Event();
    private boolean started;

    Reader(Generator generator) {
      this.generator = generator;
    }

    @Override
    public InputStatus pollNext(ReaderOutput<Event> output) {
      if (!started) {
        started = true;
        Meter.started();
      }
      for (int made = 0; made < batch; made++) {
        if (generator.number() >= events) return InputStatus.END_OF_INPUT;
        long time = generator.next(event);
        output.collect(event, time);
      }
      return InputStatus.MORE_AVAILABLE;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void start() {}

    @Override
    public List<NoSplit> snapshotState(long checkpoint) {
      return List.of();
    }

    @Override
    public void addSplits(List<NoSplit> splits) {}

    @Override
    public void notifyNoMoreSplits() {}

    @Override
    public void close() {}
  }

  @Override
  public SplitEnumerator<NoSplit, Void> createEnumerator(SplitEnumeratorContext<NoSplit> context) {
    return new NoSplits();
  }

  @Override
  public SplitEnumerator<NoSplit, Void> restoreEnumerator(SplitEnumeratorContext<NoSplit> context, Void checkpoint) {
    return new NoSplits();
  }

  @Override
  public SimpleVersionedSerializer<NoSplit> getSplitSerializer() {
    return new Nothing<>();
  }

  @Override
  public SimpleVersionedSerializer<Void> getEnumeratorCheckpointSerializer() {
    return new Nothing<>();
  }

  static final class NoSplit implements SourceSplit {
    @Override
    public String splitId() {
      return "";
    }
  }

  private static final class NoSplits implements SplitEnumerator<NoSplit, Void> {
    @Override
    public void start() {}

    @Override
    public void handleSplitRequest(int subtask, String host) {}

    @Override
    public void addSplitsBack(List<NoSplit> splits, int subtask) {}

    @Override
    public void addReader(int subtask) {}

    @Override
    public Void snapshotState(long checkpoint) {
      return null;
    }

    @Override
    public void close() {}
  }

  private static final class Nothing<T> implements SimpleVersionedSerializer<T> {
    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(T nothing) {
      return new byte[0];
    }

    @Override
    public T deserialize(int version, byte[] bytes) {
      return null;
    }
  }
}
