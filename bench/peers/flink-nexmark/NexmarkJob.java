import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Nexmark's queries with Flink in this process: judged, printed, or timed after a warm-up in the same process. */
public final class NexmarkJob {
  private static final Map<String, Function<Streams, DataStream<Row>>> QUERIES = new TreeMap<>(Map.ofEntries(
      Map.entry("events", PassQueries::events),
      Map.entry("q0", PassQueries::q0), Map.entry("q1", PassQueries::q1), Map.entry("q2", PassQueries::q2),
      Map.entry("q3", JoinQueries::q3), Map.entry("q4", JoinQueries::q4), Map.entry("q5", WindowQueries::q5),
      Map.entry("q7", WindowQueries::q7), Map.entry("q8", WindowQueries::q8), Map.entry("q9", JoinQueries::q9),
      Map.entry("q11", WindowQueries::q11), Map.entry("q12", WindowQueries::q12), Map.entry("q13", PassQueries::q13),
      Map.entry("q14", PassQueries::q14), Map.entry("q15", StatisticsQueries::q15), Map.entry("q16", StatisticsQueries::q16),
      Map.entry("q17", StatisticsQueries::q17), Map.entry("q18", StatisticsQueries::q18), Map.entry("q19", StatisticsQueries::q19),
      Map.entry("q20", JoinQueries::q20), Map.entry("q21", PassQueries::q21), Map.entry("q22", PassQueries::q22)));

  public static void main(String[] args) throws Exception {
    NexmarkOptions options = NexmarkOptions.parse(args, QUERIES.keySet());
    for (String query : options.queries) {
      if (options.mode == RowSink.Mode.COUNT) {
        measure(query, options);
      } else {
        run(query, options);
        if (options.mode == RowSink.Mode.DIGEST) System.out.println(query + " " + RowSink.digest());
      }
    }
    System.exit(0);
  }

  /** Of the repeats after the warm-ups: wall time is their median; CPU time, whose clock moves in steps of 10 ms, their mean. */
  private static void measure(String query, NexmarkOptions options) throws Exception {
    double[] seconds = new double[options.repeats];
    double cpu = 0;
    for (int at = -options.warmUps; at < options.repeats; at++) {
      System.gc();  // What the last one left behind is not this one's cost.
      run(query, options);
      if (at < 0) continue;
      seconds[at] = Meter.seconds();
      cpu += Meter.cpuSeconds() / options.repeats;
    }
    double wall = median(seconds);
    if (options.json) {
      System.out.printf("{\"schema_version\":1,\"bench\":\"nexmark\",\"kind\":\"flink\",\"query\":\"%s\",\"events\":%d,\"parallelism\":%d,"
          + "\"repeats\":%d,\"rows\":%d,\"seconds\":%.4f,\"cpu_seconds\":%.4f,\"events_per_second\":%.0f,"
          + "\"events_per_cpu_second\":%.0f}%n", query, options.events, options.parallelism, options.repeats, RowSink.rows(), wall, cpu,
          options.events / wall, options.events / cpu);
    } else {
      System.out.printf("%-9s %12.0f events/s %12.0f events/CPU-s %8.1f ns of CPU an event, %d rows%n", query, options.events / wall,
          options.events / cpu, cpu * 1e9 / options.events, RowSink.rows());
    }
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  private static void run(String query, NexmarkOptions options) throws Exception {
    Meter.reset();
    RowSink.reset();
    if (query.equals("generator")) {
      generate(options);
      return;
    }
    Configuration conf = new Configuration();
    conf.setString("pipeline.object-reuse", "true");
    conf.setString("taskmanager.numberOfTaskSlots", Integer.toString(options.parallelism));
    // On a machine with other work this process may not run for minutes. Nobody else is there to take over.
    conf.setString("heartbeat.timeout", "30 min");
    conf.setString("pekko.ask.timeout", "30 min");
    for (String property : options.properties) {
      int equals = property.indexOf('=');
      conf.setString(property.substring(0, equals), property.substring(equals + 1));
    }
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(options.parallelism, conf);
    // "Time − 4 s" as the original has it. The strategy takes another millisecond: a watermark is the last time that cannot come again.
    WatermarkStrategy<Event> watermarks = WatermarkStrategy.forBoundedOutOfOrderness(Duration.ofSeconds(4));
    EventSource source = new EventSource(options.events, options.seed, options.rate, options.batch);
    DataStream<Event> events = env.fromSource(source, watermarks, "events", TypeInformation.of(Event.class));
    QUERIES.get(query).apply(new Streams(events, options.chained)).sinkTo(new RowSink(options.mode));
    env.execute(query);
  }

  private static long seen;

  /** The generator alone, without Flink: what every query's figure includes. */
  private static void generate(NexmarkOptions options) {
    Event event = new Event();
    Generator generator = new Generator(options.seed, options.rate, 0, 1);
    Meter.started();
    for (long made = 0; made < options.events; made++) {
      seen ^= generator.next(event);
      if (event.kind == Event.BID) seen ^= event.bid.extra.length();
    }
    Meter.ended();
  }
}
