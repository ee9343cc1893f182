import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** Where queries put their rows. As in bench/nexmark/digest.h a run that is timed counts them, and one that is judged digests them. */
final class RowSink implements Sink<Row> {
  private static final long serialVersionUID = 1;

  enum Mode { COUNT, DIGEST, PRINT }

  /** What all writers of a job in this process have seen. */
  private static long rows, sum, folded;

  private final Mode mode;

  RowSink(Mode mode) {
    this.mode = mode;
  }

  static synchronized void reset() {
    rows = sum = folded = 0;
  }

  static synchronized long rows() {
    return rows;
  }

  /** "920000 00c0ffee00c0ffee", as nexmark_answers prints it. */
  static synchronized String digest() {
    return String.format("%d %016x", rows, sum);
  }

  private static synchronized void ended(long moreRows, long moreSum, long moreFolded) {
    rows += moreRows;
    sum += moreSum;
    folded ^= moreFolded;
    Meter.ended();
  }

  @Override
  public SinkWriter<Row> createWriter(WriterInitContext context) {
    return switch (mode) {
      case COUNT -> new Counting();
      case DIGEST -> new Digesting();
      case PRINT -> new Printing();
    };
  }

  private static final class Counting implements SinkWriter<Row> {
    private long rows, folded;

    @Override
    public void write(Row row, Context context) {
      rows++;
      folded ^= row.folded();
    }

    @Override
    public void flush(boolean end) {
      if (end) ended(rows, 0, folded);
    }

    @Override
    public void close() {}
  }

  private static final class Digesting implements SinkWriter<Row> {
    private final Hasher64 hasher = Hashing.xxh3_64();
    private final StringBuilder text = new StringBuilder();
    private long rows, sum;

    @Override
    public void write(Row row, Context context) {
      text.setLength(0);
      row.write(text);
      rows++;
      sum += hasher.hashBytesToLong(text.toString().getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public void flush(boolean end) {
      if (end) ended(rows, sum, 0);
    }

    @Override
    public void close() {}
  }

  private static final class Printing implements SinkWriter<Row> {
    private static final OutputStream OUT = new BufferedOutputStream(System.out, 1 << 16);
    private final StringBuilder text = new StringBuilder();
    private long rows;

    @Override
    public void write(Row row, Context context) throws IOException {
      text.setLength(0);
      row.write(text);
      text.append('\n');
      rows++;
      OUT.write(text.toString().getBytes(StandardCharsets.US_ASCII));  // A whole line at once: subtasks may share it.
    }

    @Override
    public void flush(boolean end) throws IOException {
      if (!end) return;
      OUT.flush();
      ended(rows, 0, 0);
    }

    @Override
    public void close() {}
  }
}
