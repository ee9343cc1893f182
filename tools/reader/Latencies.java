/** Percentiles of microseconds within 0.4 %: 256 steps in each power of two. */
final class Latencies {
  private static final int STEPS_LOG2 = 8;
  private final long[] counts = new long[(64 - STEPS_LOG2) << STEPS_LOG2];
  private long total, max;

  void add(long microseconds) {
    long value = Math.max(microseconds, 0);
    counts[index(value)]++;
    total++;
    if (value > max) max = value;
  }

  long total() {
    return total;
  }

  long max() {
    return max;
  }

  long percentile(double share) {
    long rank = (long) Math.ceil(share * total);
    long passed = 0;
    for (int i = 0; i < counts.length; i++) {
      passed += counts[i];
      if (passed >= rank && passed > 0) return Math.min(highest(i), max);
    }
    return max;
  }

  private static int index(long value) {
    int shift = Math.max(0, 64 - Long.numberOfLeadingZeros(value) - STEPS_LOG2 - 1);
    return (shift << STEPS_LOG2) + (int) (value >>> shift);
  }

  private static long highest(int index) {
    int shift = Math.max(0, (index >> STEPS_LOG2) - 1);
    return ((long) (index - (shift << STEPS_LOG2)) + 1 << shift) - 1;
  }
}
