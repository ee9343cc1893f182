import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;

/** Topic to topic with Flink in this process, exactly once: bytes as they are, or JSON rewritten. */
public final class FlinkJob {
  public static void main(String[] args) throws Exception {
    Options options = Options.parse(args);
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(
        options.parallelism, configuration(options));
    // One operator chain: the source's task hands each message on by a call.
    DataStream<Message> messages = env.fromSource(source(options), WatermarkStrategy.noWatermarks(), "in");
    if (options.job.equals("json")) {
      messages = messages.map(new RewriteFunction()).returns(Message.class);
    }
    messages.sinkTo(sink(options)).name("out").uid("out");
    // A bounded job ends by itself, after the checkpoint that commits its last records.
    env.execute(options.name);
    System.exit(0);
  }

  /** One parser a task. It changes the message in place, as object reuse allows. */
  private static final class RewriteFunction extends RichMapFunction<Message, Message> {
    private transient Rewrite rewrite;

    @Override
    public void open(OpenContext context) {
      rewrite = new Rewrite();
    }

    @Override
    public Message map(Message message) {
      message.value = rewrite.apply(message.value);
      return message;
    }
  }

  private static Configuration configuration(Options options) throws IOException {
    Configuration conf = new Configuration();
    conf.setString("pipeline.object-reuse", "true");
    conf.setString("execution.checkpointing.interval", options.intervalMs + " ms");
    conf.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
    conf.setString("execution.checkpointing.dir", directory(options).toUri().toString());
    conf.setString("execution.checkpointing.storage", "filesystem");
    conf.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    Optional<Path> newest = newestCheckpoint(directory(options));
    if (newest.isPresent()) {
      conf.setString("execution.state-recovery.path", newest.get().toUri().toString());
    }
    for (String property : options.properties) {
      int equals = property.indexOf('=');
      if (!property.startsWith("consumer.") && !property.startsWith("producer.")) {
        conf.setString(property.substring(0, equals), property.substring(equals + 1));
      }
    }
    return conf;
  }

  private static Path directory(Options options) {
    return Path.of(options.directory, options.name).toAbsolutePath();
  }

  /** A job killed in this directory goes on from the last checkpoint that it completed. */
  private static Optional<Path> newestCheckpoint(Path directory) throws IOException {
    Files.createDirectories(directory);
    try (Stream<Path> paths = Files.walk(directory, 3)) {
      return paths.filter(path -> path.endsWith("_metadata"))
          .max(Comparator.comparing(FlinkJob::modified))
          .map(Path::getParent);
    }
  }

  private static FileTime modified(Path path) {
    try {
      return Files.getLastModifiedTime(path);
    } catch (IOException error) {
      return FileTime.fromMillis(0);
    }
  }

  private static KafkaSource<Message> source(Options options) {
    KafkaSourceBuilder<Message> builder = KafkaSource.<Message>builder()
        .setBootstrapServers(options.brokers)
        .setTopics(options.in)
        .setGroupId(options.name)
        .setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST))
        .setDeserializer(new Message.Reader())
        .setProperty("isolation.level", "read_committed")
        .setProperty("register.consumer.metrics", "false")
        // Larger steps than the defaults, as for throughput one would set them.
        .setProperty("max.poll.records", "10000")
        .setProperty("max.partition.fetch.bytes", "4194304");
    if (options.records > 0) builder.setBounded(OffsetsInitializer.latest());
    options.given("consumer.").forEach((key, value) -> builder.setProperty((String) key, (String) value));
    return builder.build();
  }

  private static KafkaSink<Message> sink(Options options) {
    Properties properties = new Properties();
    properties.put("transaction.timeout.ms", "900000");  // The broker's maximum.
    properties.put("batch.size", "131072");
    properties.put("register.producer.metrics", "false");  // Else anew for every transaction.
    properties.putAll(options.given("producer."));
    return KafkaSink.<Message>builder()
        .setBootstrapServers(options.brokers)
        .setRecordSerializer(KafkaRecordSerializationSchema.<Message>builder()
            .setTopic(options.out)
            .setKeySerializationSchema(new Message.KeyOf())
            .setValueSerializationSchema(new Message.ValueOf())
            .build())
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix(options.name)
        // The default takes a new transactional id for every checkpoint.
        .setTransactionNamingStrategy(TransactionNamingStrategy.POOLING)
        .setKafkaProducerConfig(properties)
        .build();
  }
}
