import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

/**
 * Reads topics with Kafka's own Java client, and shows, counts or judges what is there.
 *
 * It shares no code with the engine, neither the client library nor the parser of test records: a
 * mistake in those cannot hide itself here.
 */
public final class Reader {
  enum Mode { DUMP, COUNT, VERIFY }

  private static final class Options {
    String bootstrap = System.getenv().getOrDefault("BROKERS", "127.0.0.1:9092");
    final List<String> topics = new ArrayList<>();
    Mode mode;
    String isolation = "read_committed";
    boolean json, latency, fromEnd;
    long waitFor = -1;
    double timeout_s = 60;
    final Checker.Options checks = new Checker.Options();
  }

  private final Options options;
  private final PrintStream out =
      new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
  private final Latencies latencies = new Latencies();
  private final Map<TopicPartition, Integer> index = new HashMap<>();
  private final List<TopicPartition> partitions = new ArrayList<>();
  private long[] counts;
  private long records;
  private boolean timedOut;
  private Checker checker;
  private Dump dump;

  private Reader(Options options) {
    this.options = options;
  }

  public static void main(String[] args) {
    if (args.length == 1 && args[0].equals("--self-test")) System.exit(SelfTest.run() ? 0 : 1);
    Options options = parse(args);
    try {
      System.exit(new Reader(options).run());
    } catch (Exception error) {
      System.err.println("tools/read: could not read " + String.join(", ", options.topics) + " at "
          + options.bootstrap + ": " + error.getMessage());
      System.exit(1);
    }
  }

  private int run() throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", options.bootstrap);
    properties.put("isolation.level", options.isolation);
    properties.put("enable.auto.commit", "false");
    properties.put("allow.auto.create.topics", "false");
    properties.put("auto.offset.reset", "none");
    properties.put("max.poll.records", "20000");
    properties.put("max.partition.fetch.bytes", "4194304");
    properties.put("receive.buffer.bytes", "1048576");
    properties.put("default.api.timeout.ms", "20000");
    long start = System.nanoTime();
    var bytes = new ByteBufferDeserializer();
    try (var consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
      for (String topic : options.topics) {
        List<PartitionInfo> found = consumer.partitionsFor(topic);
        if (found == null || found.isEmpty()) {
          throw new IllegalStateException("there is no topic " + topic);
        }
        for (PartitionInfo each : found) {
          partitions.add(new TopicPartition(topic, each.partition()));
        }
      }
      partitions.sort(Comparator.comparing(TopicPartition::topic)
          .thenComparing(TopicPartition::partition));
      for (TopicPartition partition : partitions) index.put(partition, index.size());
      counts = new long[partitions.size()];
      List<String> names = partitions.stream().map(TopicPartition::toString).toList();
      checker = new Checker(options.checks, names);
      dump = new Dump(out);
      consumer.assign(partitions);
      if (options.fromEnd) {
        consumer.seekToEnd(partitions);
      } else {
        consumer.seekToBeginning(partitions);
      }
      read(consumer);
    }
    return report((System.nanoTime() - start) / 1e9);
  }

  /** To the end as it is now; with --wait-for, as it is once that many records were seen. */
  private void read(KafkaConsumer<ByteBuffer, ByteBuffer> consumer) {
    long deadline = System.nanoTime() + (long) (options.timeout_s * 1e9);
    if (options.waitFor >= 0) {
      while (records < options.waitFor && !timedOut) {
        take(consumer.poll(Duration.ofMillis(100)));
        timedOut = System.nanoTime() > deadline;
      }
    }
    // With read_committed this is the last stable offset: an open transaction is not awaited.
    Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
    List<TopicPartition> open = new ArrayList<>(partitions);
    long progress = System.nanoTime();
    for (;;) {
      // The position, not the last record: a partition may end with markers and aborted records.
      if (open.removeIf(partition -> consumer.position(partition) >= ends.get(partition))) {
        progress = System.nanoTime();
      }
      if (open.isEmpty()) return;
      long before = records;
      take(consumer.poll(Duration.ofMillis(100)));
      if (records != before) progress = System.nanoTime();
      if (System.nanoTime() - progress > 60_000_000_000L) {
        throw new IllegalStateException("nothing came for 60 s, and the end is " + ends);
      }
    }
  }

  private void take(ConsumerRecords<ByteBuffer, ByteBuffer> batch) {
    Instant now = Instant.now();
    long now_us = now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    for (TopicPartition partition : batch.partitions()) {
      int output = index.get(partition);
      for (ConsumerRecord<ByteBuffer, ByteBuffer> record : batch.records(partition)) {
        records++;
        counts[output]++;
        if (options.mode == Mode.DUMP) dump.print(record);
        if (options.mode == Mode.VERIFY || options.latency) {
          ByteBuffer value = record.value();
          long due = value == null
              ? checker.add(output, record.offset(), null, 0, 0)
              : checker.add(output, record.offset(), value.array(),
                  value.arrayOffset() + value.position(), value.remaining());
          if (due >= 0) latencies.add(now_us - due);
        }
      }
    }
    // Whoever reads the dump may have had enough of it ("| head").
    if (options.mode == Mode.DUMP && out.checkError()) System.exit(0);
  }

  private int report(double seconds) throws IOException {
    boolean complete = options.waitFor < 0 || records >= options.waitFor;
    Checker.Verdict verdict = options.mode == Mode.VERIFY ? checker.finish() : null;
    boolean ok = complete && (verdict == null || verdict.ok());
    if (options.json) {
      out.println(json(verdict, complete, ok, seconds));
    } else if (options.mode != Mode.DUMP) {
      text(verdict, ok, seconds);
    }
    if (!complete) {
      System.err.printf(Locale.ROOT, "tools/read: %,d of %,d records were there after %.0f s%n",
          records, options.waitFor, options.timeout_s);
    }
    out.flush();
    return ok ? 0 : 1;
  }

  private void text(Checker.Verdict verdict, boolean ok, double seconds) {
    if (options.mode == Mode.COUNT) {
      for (int i = 0; i < counts.length; i++) out.println(partitions.get(i) + " " + counts[i]);
      out.println("total " + records);
    }
    if (verdict != null) {
      out.printf(Locale.ROOT,
          "%,d records in %d partitions of %s (%s), %,d streams, read in %.1f s%n", records, partitions.size(), String.join(", ", options.topics), options.isolation,
          verdict.streams, seconds);
      for (String example : verdict.examples) out.println("  " + example);
      if (!verdict.endProven) {
        out.println("  not proven: losses at the very end of a stream (no --expect)");
      }
      out.printf(Locale.ROOT, "lost %,d, duplicated %,d, reordered %,d, wrong numbers %,d",
          verdict.lost, verdict.duplicated, verdict.reordered, verdict.wrongNumbers);
      if (verdict.foreign > 0) out.printf(Locale.ROOT, ", foreign %,d", verdict.foreign);
      if (verdict.damaged > 0) out.printf(Locale.ROOT, ", damaged %,d", verdict.damaged);
      if (verdict.unexpected > 0) out.printf(Locale.ROOT, ", never sent %,d", verdict.unexpected);
      out.println();
    }
    if (options.latency && latencies.total() > 0) {
      out.printf(Locale.ROOT,
          "latency p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, p99.9 %.1f ms, max %.1f ms%n",
          latencies.percentile(0.5) / 1e3, latencies.percentile(0.9) / 1e3,
          latencies.percentile(0.99) / 1e3, latencies.percentile(0.999) / 1e3,
          latencies.max() / 1e3);
    }
    if (verdict != null) {
      out.println("verdict: " + (ok ? "every record is there once and in order" : "NOT right"));
    }
  }

  private String json(Checker.Verdict verdict, boolean complete, boolean ok, double seconds)
      throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode root = mapper.createObjectNode();
    root.put("schema_version", 1).put("ok", ok).put("complete", complete).put("records", records);
    root.put("isolation", options.isolation).put("seconds", seconds);
    ObjectNode each = root.putObject("partitions");
    for (int i = 0; i < counts.length; i++) each.put(partitions.get(i).toString(), counts[i]);
    if (verdict != null) {
      root.put("streams", verdict.streams).put("lost", verdict.lost);
      root.put("duplicated", verdict.duplicated).put("reordered", verdict.reordered);
      root.put("wrong_numbers", verdict.wrongNumbers);
      root.put("foreign", verdict.foreign).put("damaged", verdict.damaged);
      root.put("unexpected", verdict.unexpected).put("end_proven", verdict.endProven);
      ArrayNode examples = root.putArray("examples");
      verdict.examples.forEach(examples::add);
    }
    if (options.latency) {
      ObjectNode latency = root.putObject("latency_us").put("count", latencies.total());
      latency.put("p50", latencies.percentile(0.5)).put("p90", latencies.percentile(0.9));
      latency.put("p99", latencies.percentile(0.99)).put("p999", latencies.percentile(0.999));
      latency.put("max", latencies.max());
    }
    return mapper.writeValueAsString(root);
  }

  private static Options parse(String[] args) {
    Options options = new Options();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--dump" -> mode(options, Mode.DUMP);
        case "--count" -> mode(options, Mode.COUNT);
        case "--verify" -> mode(options, Mode.VERIFY);
        case "--latency" -> options.latency = true;
        case "--json" -> options.json = true;
        case "--read-uncommitted" -> options.isolation = "read_uncommitted";
        case "--from-end" -> options.fromEnd = true;
        case "--numbers" -> options.checks.numbersRequired = true;
        case "--bootstrap", "--brokers" -> options.bootstrap = value(args, ++i);
        case "--topic" -> options.topics.add(value(args, ++i));
        case "--wait-for" -> options.waitFor = (long) number(args, ++i);
        case "--timeout" -> options.timeout_s = number(args, ++i);
        case "--examples" -> options.checks.examplesMax = (int) number(args, ++i);
        case "--expect" -> expect(options, value(args, ++i));
        case "--expect-file" -> expectFile(options, value(args, ++i));
        case "--producer-topic" -> {
          String[] pair = value(args, ++i).split("=", 2);
          if (pair.length != 2) usage("--producer-topic takes PRODUCER=TOPIC");
          options.checks.topics.put(pair[0], pair[1]);
        }
        default -> {
          if (args[i].startsWith("-")) usage("unknown option \"" + args[i] + "\"");
          options.topics.add(args[i]);
        }
      }
    }
    if (options.topics.isEmpty()) usage("a topic is needed");
    if (options.mode == null) options.mode = options.latency ? Mode.VERIFY : Mode.COUNT;
    return options;
  }

  private static void mode(Options options, Mode mode) {
    if (options.mode != null) usage("one of --dump, --count and --verify");
    options.mode = mode;
  }

  private static void expect(Options options, String text) {
    int count = text.lastIndexOf(':');
    int partition = count < 0 ? -1 : text.lastIndexOf(':', count - 1);
    try {
      if (partition < 1) throw new NumberFormatException();
      Integer.parseInt(text.substring(partition + 1, count));
      long records = Long.parseLong(text.substring(count + 1));
      options.checks.expected.merge(text.substring(0, count), records, Long::sum);
    } catch (NumberFormatException error) {
      usage("\"" + text + "\" is not PRODUCER:PARTITION:COUNT");
    }
  }

  /** Lines as for --expect, or what `sluice generate --json` prints. */
  private static void expectFile(Options options, String file) {
    try {
      String text = Files.readString(Path.of(file)).strip();
      if (!text.startsWith("{")) {
        text.lines()
            .map(String::strip)
            .filter(line -> !line.isEmpty() && !line.startsWith("#"))
            .forEach(line -> expect(options, line));
        return;
      }
      JsonNode root = new ObjectMapper().readTree(text);
      for (JsonNode producer : root.path("producers")) {
        String id = producer.path("producer").asText();
        if (root.has("topic")) options.checks.topics.put(id, root.path("topic").asText());
        for (JsonNode partition : producer.path("partitions")) {
          expect(options, id + ":" + partition.path("partition").asLong() + ":"
              + partition.path("records").asLong());
        }
      }
    } catch (IOException error) {
      usage("could not read " + file + ": " + error.getMessage());
    }
  }

  private static String value(String[] args, int at) {
    if (at >= args.length) usage(args[at - 1] + " takes a value");
    return args[at];
  }

  private static double number(String[] args, int at) {
    try {
      return Double.parseDouble(value(args, at));
    } catch (NumberFormatException error) {
      usage(args[at - 1] + " takes a number, not \"" + args[at] + "\"");
      return 0;
    }
  }

  private static void usage(String message) {
    System.err.println("tools/read: " + message + "; see tools/read --help");
    System.exit(2);
  }
}
