import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;

/** Topic to topic with Kafka Streams, exactly once: bytes as they are, or JSON rewritten. */
public final class StreamsJob {
  public static void main(String[] args) throws InterruptedException {
    Options options = Options.parse(args);
    CountDownLatch done = new CountDownLatch(1);
    AtomicLong seen = new AtomicLong();
    boolean[] failed = {false};
    StreamsBuilder builder = new StreamsBuilder();
    KStream<byte[], byte[]> records =
        builder.stream(options.in, Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()));
    if (options.job.equals("json")) {
      ThreadLocal<Rewrite> rewrite = ThreadLocal.withInitial(Rewrite::new);
      records = records.mapValues(value -> rewrite.get().apply(value));
    }
    records.to(options.out, Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
    if (options.records > 0) {
      // Behind to(): whoever is counted has been handed to the producer.
      records.foreach((key, value) -> {
        if (seen.incrementAndGet() == options.records) done.countDown();
      });
    }
    KafkaStreams streams = new KafkaStreams(builder.build(), settings(options));
    streams.setUncaughtExceptionHandler(error -> {
      error.printStackTrace();
      failed[0] = true;
      done.countDown();
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
    streams.start();
    done.await();
    // Closing commits what is open.
    boolean closed = streams.close(Duration.ofSeconds(60));
    Runtime.getRuntime().halt(closed && !failed[0] ? 0 : 1);
  }

  private static Properties settings(Options options) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, options.name);
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.brokers);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, options.intervalMs);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, options.parallelism);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, options.directory);
    // With exactly once its consumers are read_committed; said here because the comparison needs it.
    settings.put(StreamsConfig.consumerPrefix("isolation.level"), "read_committed");
    settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    // Larger steps than the defaults, as for throughput one would set them.
    settings.put(StreamsConfig.consumerPrefix("max.poll.records"), "10000");
    settings.put(StreamsConfig.consumerPrefix("max.partition.fetch.bytes"), "4194304");
    settings.put(StreamsConfig.producerPrefix("batch.size"), "131072");
    settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, "10000");
    settings.put("processing.exception.handler.global.enabled", "true");  // It warns otherwise.
    settings.putAll(options.given(""));
    return settings;
  }
}
