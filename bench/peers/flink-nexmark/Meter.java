import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * Wall time and CPU time of the process (all threads: tasks, collector, compiler) from when the first reader is asked for its first event
 * until the last sink has seen the end. Starting and stopping Flink is not in it.
 */
final class Meter {
  private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static long startNs, startCpuNs, endNs, endCpuNs;

  private Meter() {}

  static synchronized void reset() {
    startNs = startCpuNs = endNs = endCpuNs = 0;
  }

  static synchronized void started() {
    if (startNs != 0) return;
    startCpuNs = SYSTEM.getProcessCpuTime();
    startNs = System.nanoTime();
  }

  static synchronized void ended() {
    endNs = System.nanoTime();
    endCpuNs = SYSTEM.getProcessCpuTime();
  }

  static synchronized double seconds() {
    return (endNs - startNs) / 1e9;
  }

  static synchronized double cpuSeconds() {
    return (endCpuNs - startCpuNs) / 1e9;
  }
}
