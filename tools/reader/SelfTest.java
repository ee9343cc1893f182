import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.zip.CRC32;

/** The checker is checked: a right history passes, and each way to spoil one is caught and named. */
final class SelfTest {
  /** A record of a history: where it ends up, and its value. */
  private record Entry(int output, String value) { }

  private static final int SOURCES = 2;
  private static final int RECORDS = 300;

  private static int failures;

  /** Two producers in two source partitions; output partition = source partition. */
  private static List<Entry> history() {
    List<Entry> entries = new ArrayList<>();
    for (int partition = 0; partition < SOURCES; partition++) {
      for (int i = 0; i < RECORDS; i++) {
        String producer = i % 2 == 0 ? "a" : "b";
        entries.add(new Entry(partition, value(producer, partition, i / 2, i + 1)));
      }
    }
    return entries;
  }

  private static String value(String producer, int partition, int sequence, int number) {
    return "c=" + number + ";p=" + producer + ";n=" + partition + ";s=" + sequence
        + ";d=1700000000000000;|pad=x;";
  }

  /** Adds `shift` to the numbers of source partition 0 from the record at `from` on. */
  private static void renumber(List<Entry> entries, int from, int shift) {
    for (int i = from; i < entries.size() && entries.get(i).output == 0; i++) {
      String value = entries.get(i).value;
      int number = Integer.parseInt(value.substring(2, value.indexOf(';')));
      entries.set(i, new Entry(0, value.replaceFirst("c=\\d+", "c=" + (number + shift))));
    }
  }

  private static Checker.Verdict judge(List<Entry> entries, boolean expected) {
    Checker.Options options = new Checker.Options();
    if (expected) {
      for (int partition = 0; partition < SOURCES; partition++) {
        options.expected.put("a:" + partition, RECORDS / 2L);
        options.expected.put("b:" + partition, RECORDS / 2L);
      }
    }
    Checker checker = new Checker(options, List.of("out-0", "out-1"));
    long offset = 0;
    for (Entry entry : entries) {
      byte[] bytes = ("##" + entry.value).getBytes(StandardCharsets.UTF_8);
      checker.add(entry.output, offset++, bytes, 2, bytes.length - 2);
    }
    return checker.finish();
  }

  private static void check(String name, boolean expected, Consumer<List<Entry>> spoil,
      Predicate<Checker.Verdict> right) {
    List<Entry> entries = history();
    spoil.accept(entries);
    Checker.Verdict verdict = judge(entries, expected);
    boolean good = right.test(verdict) && (verdict.ok() || !verdict.examples.isEmpty());
    if (!good) failures++;
    System.out.printf("%-52s %s: lost %d, duplicated %d, reordered %d, wrong numbers %d, other %d%n",
        name, good ? "ok" : "FAILED", verdict.lost, verdict.duplicated, verdict.reordered,
        verdict.wrongNumbers, verdict.foreign + verdict.damaged + verdict.unexpected);
    if (!good) verdict.examples.forEach(example -> System.out.println("    " + example));
  }

  static boolean run() {
    check("a right history passes", true, entries -> { }, Checker.Verdict::ok);
    check("and without expected counts", false, entries -> { }, Checker.Verdict::ok);
    check("partitions that alternate are no reordering", true, entries -> {
      List<Entry> mixed = new ArrayList<>();
      for (int i = 0; i < RECORDS; i++) {
        mixed.add(entries.get(i));
        mixed.add(entries.get(RECORDS + i));
      }
      Collections.copy(entries, mixed);
    }, Checker.Verdict::ok);
    check("one lost in the middle", false, entries -> entries.remove(100),
        v -> v.lost == 1 && v.wrongNumbers == 1 && v.duplicated + v.reordered == 0);
    check("one lost, those behind it numbered without a gap", true, entries -> {
      entries.remove(100);
      renumber(entries, 100, -1);
    }, v -> v.lost == 1 && v.wrongNumbers == 0);
    check("the last one lost", true, entries -> entries.remove(RECORDS - 1),
        v -> v.lost == 1 && v.duplicated + v.reordered == 0);
    check("the very first one lost", true, entries -> entries.remove(0), v -> v.lost == 1);
    check("one doubled, the copy right behind", true, entries -> entries.add(101, entries.get(100)),
        v -> v.duplicated == 1 && v.lost == 0 && v.wrongNumbers == 1);
    check("one doubled, the copy much later", true, entries -> entries.add(RECORDS, entries.get(5)),
        v -> v.duplicated == 1 && v.lost == 0);
    check("one doubled into the other partition", true,
        entries -> entries.add(new Entry(1, entries.get(5).value)),
        v -> v.duplicated == 1 && v.lost == 0);
    check("one doubled, counted twice", true, entries -> {
      entries.add(101, entries.get(100));
      renumber(entries, 101, 1);
    }, v -> v.duplicated == 1 && v.lost == 0 && v.wrongNumbers == 0);
    check("two swapped", true, entries -> Collections.swap(entries, 100, 102),
        v -> v.reordered >= 1 && v.lost + v.duplicated == 0 && v.wrongNumbers >= 1);
    check("two swapped, numbers in order", true, entries -> {
      entries.set(100, new Entry(0, value("a", 0, 51, 101)));
      entries.set(102, new Entry(0, value("a", 0, 50, 103)));
    }, v -> v.reordered == 1 && v.lost + v.duplicated == 0);
    check("one lost and another doubled: the count is right", true, entries -> {
      entries.set(200, entries.get(198));
    }, v -> v.lost == 1 && v.duplicated == 1);
    check("a torn epoch: the end of partition 0 lacks 50 of it", true,
        entries -> entries.subList(RECORDS - 50, RECORDS).clear(),
        v -> v.lost == 50 && v.duplicated + v.reordered == 0);
    check("a torn epoch: 50 lacking while later ones are there", false,
        entries -> entries.subList(150, 200).clear(), v -> v.lost == 50 && v.wrongNumbers == 50);
    check("an epoch twice", true,
        entries -> entries.addAll(RECORDS, new ArrayList<>(entries.subList(250, RECORDS))),
        v -> v.duplicated == 50 && v.lost == 0);
    check("state older than the output: numbers repeat", true,
        entries -> renumber(entries, 200, -20),
        v -> v.lost + v.duplicated == 0 && v.wrongNumbers == 20);
    check("state newer than the output: numbers jump", true,
        entries -> renumber(entries, 200, 20),
        v -> v.lost + v.duplicated == 0 && v.wrongNumbers == 20);
    check("a record without its number", true,
        entries -> entries.set(7, new Entry(0, entries.get(7).value.replaceFirst("c=\\d+;", ""))),
        v -> v.wrongNumbers == 2 && v.lost == 0);
    check("a stream that never arrived", true,
        entries -> entries.removeIf(entry -> entry.value.contains("p=b;n=1;")),
        v -> v.lost == RECORDS / 2);
    check("a record that nobody sent", true,
        entries -> entries.add(new Entry(1, value("a", 1, RECORDS / 2, RECORDS + 1))),
        v -> v.unexpected == 1 && v.lost == 0);
    check("bytes that are no test record", true,
        entries -> entries.add(new Entry(1, "hello\0world")),
        v -> v.foreign == 1 && v.lost == 0);
    check("a header cut short", true, entries -> entries.add(new Entry(1, "p=a;n=0;s=")),
        v -> v.foreign == 1);
    check("a JSON document, counted", true, entries -> entries.set(10, new Entry(0,
        "c=11;{\"p\":\"a\",\"n\":0,\"s\":5,\"d\":17,\"identityUri\":\"x\"}")), Checker.Verdict::ok);
    check("a JSON document with an intact body", true,
        entries -> entries.set(10, new Entry(0, json(0))), Checker.Verdict::ok);
    check("a JSON document with a changed body", true,
        entries -> entries.set(10, new Entry(0, json(1))),
        v -> v.damaged == 1 && v.lost == 0);
    check("one producer: its numbers must follow its sequence", false, entries -> {
      entries.clear();
      for (int i = 0; i < RECORDS; i++) entries.add(new Entry(0, value("a", 0, i, i + 1)));
      entries.set(20, new Entry(0, value("a", 0, 21, 21)));
      entries.set(21, new Entry(1, value("a", 0, 20, 22)));
    }, v -> v.lost + v.duplicated == 0 && v.wrongNumbers == 2);
    latencies();
    System.out.println("self-test: " + (failures == 0 ? "all right" : failures + " FAILED"));
    return failures == 0;
  }

  private static String json(int change) {
    CRC32 crc = new CRC32();
    crc.update("\"big\":1,\"list\":[1,2]".getBytes(StandardCharsets.UTF_8));
    String format = "c=11;{'p':'a','n':0,'s':5,'d':17,'identityUri':'x','check':'%08x',"
        + "'big':1,'list':[1,%d],'end':0}";
    return String.format(format.replace('\'', '"'), crc.getValue(), 2 + change);
  }

  private static void latencies() {
    Latencies latencies = new Latencies();
    for (long i = 1; i <= 1_000_000; i++) latencies.add(i);
    long p50 = latencies.percentile(0.5);
    long p99 = latencies.percentile(0.99);
    boolean good = Math.abs(p50 - 500_000) < 2_500 && Math.abs(p99 - 990_000) < 5_000
        && latencies.max() == 1_000_000 && latencies.percentile(1) == 1_000_000;
    if (!good) failures++;
    System.out.printf("%-52s %s: p50 %d, p99 %d%n", "percentiles of 1 to 1,000,000",
        good ? "ok" : "FAILED", p50, p99);
  }
}
