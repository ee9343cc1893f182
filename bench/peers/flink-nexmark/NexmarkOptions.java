import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The command line; options that nexmark_answers has too mean the same. */
final class NexmarkOptions {
  final List<String> queries = new ArrayList<>();
  final List<String> properties = new ArrayList<>();
  long events = 1_000_000, seed = 1, rate = 100_000;
  int parallelism = 1, repeats = 5, warmUps = 3, batch = 256;
  boolean json, chained;
  RowSink.Mode mode = RowSink.Mode.COUNT;

  static NexmarkOptions parse(String[] args, Set<String> known) {
    NexmarkOptions options = new NexmarkOptions();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--json" -> options.json = true;
        case "--list" -> {
          System.out.println("generator\n" + String.join("\n", known));
          System.exit(0);
        }
        case "--chained" -> options.chained = true;
        case "--digest" -> options.mode = RowSink.Mode.DIGEST;
        case "--rows" -> options.mode = RowSink.Mode.PRINT;
        default -> {
          if (i + 1 == args.length) usage(args[i] + " is unknown or takes a value", known);
          options.set(args[i], args[++i], known);
        }
      }
    }
    if (options.queries.isEmpty()) usage("which queries? --query", known);
    if (options.chained && options.parallelism != 1) usage("--chained is for --parallelism 1", known);
    return options;
  }

  private void set(String name, String value, Set<String> known) {
    try {
      switch (name) {
        case "--query" -> {
          if (!known.contains(value) && !value.equals("generator")) usage("there is no query \"" + value + "\"", known);
          queries.add(value);
        }
        case "--events" -> events = positive(value);
        case "--seed" -> seed = Long.parseUnsignedLong(value);
        case "--rate" -> rate = positive(value);
        case "--parallelism" -> parallelism = (int) positive(value);
        case "--batch" -> batch = (int) positive(value);
        case "--repeats" -> repeats = (int) positive(value);
        case "--warm-ups" -> warmUps = Integer.parseInt(value);
        case "-X" -> {
          if (value.indexOf('=') < 0) usage("-X takes KEY=VALUE, not \"" + value + "\"", known);
          properties.add(value);
        }
        default -> usage("unknown option \"" + name + "\"", known);
      }
    } catch (NumberFormatException error) {
      usage(name + " takes a number, not \"" + value + "\"", known);
    }
  }

  private static long positive(String value) {
    long number = Long.parseLong(value);
    if (number < 1) throw new NumberFormatException();
    return number;
  }

  private static void usage(String problem, Set<String> known) {
    System.err.println(problem + "\n"
        + "usage: bench/peers/run flink-nexmark --query QUERY … [options]\n"
        + "  --query QUERY       one of generator " + String.join(" ", known) + "; repeat it for several\n"
        + "  --events N          the first so many of the stream (default 1000000)\n"
        + "  --seed N --rate N   of the stream (default 1, and 100000 events in a second of event time)\n"
        + "  --parallelism N     tasks of each operator (default 1)\n"
        + "  --warm-ups N        runs before the first that counts (default 3)\n"
        + "  --batch N           events that the source makes at a time (default 256)\n"
        + "  --repeats N         runs that count (default 5)\n"
        + "  --json              one object a line\n"
        + "  --list              print the names of the queries\n"
        + "  --digest            run once and print query, rows, digest; --rows: print the rows\n"
        + "  --chained           keyed operators in the source's task, no exchange\n"
        + "  -X KEY=VALUE        Flink's own options");
    System.exit(2);
  }
}
