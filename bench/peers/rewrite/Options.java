import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** The command line that both peers have. */
public final class Options {
  public String brokers = "127.0.0.1:9092", in = "in", out = "out", name = "peer", job = "pass";
  public String directory = "state";
  public long intervalMs = 100;
  public int parallelism = 1;
  /** How many records there are; 0: run until SIGTERM. */
  public long records;
  public final List<String> properties = new ArrayList<>();

  public static Options parse(String[] args) {
    Options options = new Options();
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length) usage(args[i] + " takes a value");
      String value = args[i + 1];
      try {
        switch (args[i]) {
          case "--brokers" -> options.brokers = value;
          case "--in" -> options.in = value;
          case "--out" -> options.out = value;
          case "--name" -> options.name = value;
          case "--job" -> options.job = value;
          case "--directory" -> options.directory = value;
          case "--interval-ms" -> options.intervalMs = Long.parseLong(value);
          case "--parallelism" -> options.parallelism = Integer.parseInt(value);
          case "--records" -> options.records = Long.parseLong(value);
          case "-X" -> options.properties.add(value);
          default -> usage("unknown option \"" + args[i] + "\"");
        }
      } catch (NumberFormatException error) {
        usage(args[i] + " takes a number, not \"" + value + "\"");
      }
    }
    if (!options.job.equals("pass") && !options.job.equals("json")) {
      usage("--job takes pass or json, not \"" + options.job + "\"");
    }
    return options;
  }

  /** What -X gave with this prefix, without it: `-X consumer.fetch.min.bytes=1`. */
  public Properties given(String prefix) {
    Properties found = new Properties();
    for (String property : properties) {
      int equals = property.indexOf('=');
      if (equals < 0) usage("-X takes KEY=VALUE, not \"" + property + "\"");
      if (property.startsWith(prefix)) {
        found.put(property.substring(prefix.length(), equals), property.substring(equals + 1));
      }
    }
    return found;
  }

  private static void usage(String problem) {
    System.err.println(problem + "\n"
        + "usage: run PEER --brokers HOST:PORT --in TOPIC --out TOPIC [options]\n"
        + "  --job pass|json     copy bytes, or rewrite identityUri of JSON documents\n"
        + "  --name NAME         of the job, its group and its transactions\n"
        + "  --records N         end when so many are committed (default: run until SIGTERM)\n"
        + "  --interval-ms N     between checkpoints, or commits (default 100)\n"
        + "  --parallelism N     tasks, or threads (default 1)\n"
        + "  --directory DIR     of checkpoints and state (default state)\n"
        + "  -X KEY=VALUE        consumer.… and producer.… for the clients, else of the system");
    System.exit(2);
  }
}
