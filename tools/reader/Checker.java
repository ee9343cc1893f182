import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Judges a history of records: is each one there once, in order, with the right number?
 *
 * A stream is what one producer wrote to one source partition: its sequence numbers are 0, 1, 2 …
 * Numbers are those that the pipeline's `number` operator wrote: 1, 2, 3 … for each source
 * partition, whoever produced to it. Order is judged within an output partition, presence over all of them.
 *
 * Ten million records are one bit each, and no object: a verifier that is slower than the pipeline
 * would be run less often.
 */
final class Checker {
  static final class Options {
    /** "producer:partition" to the number of records that were sent. */
    final Map<String, Long> expected = new TreeMap<>();
    /** Producer to the topic it wrote to, where several topics have the same partition numbers. */
    final Map<String, String> topics = new HashMap<>();
    boolean numbersRequired;
    int examplesMax = 5;
  }

  static final class Verdict {
    long records, streams, lost, duplicated, reordered, wrongNumbers, foreign, damaged, unexpected;
    boolean endProven;  // Counts were told, not guessed from the last record seen.
    final List<String> examples = new ArrayList<>();

    boolean ok() {
      return lost + duplicated + reordered + wrongNumbers + foreign + damaged + unexpected == 0;
    }
  }

  /** Which numbers were seen, and the last one of each output partition. */
  private static final class Track {
    long[] bits = new long[64];
    long seen, max = -1;
    long[] last = new long[0];
    long[] lastOffset = new long[0];

    boolean mark(long value) {
      int word = (int) (value >>> 6);
      if (word >= bits.length) bits = Arrays.copyOf(bits, Math.max(word + 1, bits.length * 2));
      long bit = 1L << value;
      if ((bits[word] & bit) != 0) return false;
      bits[word] |= bit;
      seen++;
      if (value > max) max = value;
      return true;
    }

    boolean has(long value) {
      int word = (int) (value >>> 6);
      return word < bits.length && (bits[word] & 1L << value) != 0;
    }

    void room(int output) {
      if (output < last.length) return;
      int old = last.length;
      last = Arrays.copyOf(last, output + 8);
      lastOffset = Arrays.copyOf(lastOffset, output + 8);
      Arrays.fill(last, old, last.length, -1);
    }
  }

  private static final class Stream {
    String name;
    byte[] producer;
    long partition, hash;
    final Track sequences = new Track();
    Numbers numbers;
    long disagreeing;  // records whose number is not their sequence + 1
    String firstDisagreeing;
    Stream next;  // of the same bucket
  }

  private static final class Numbers {
    String name;
    final Track track = new Track();
    long streams, records, without;
  }

  private static final long SEQUENCE_MAX = 1L << 33;

  private final Options options;
  private final List<String> outputs;
  private final Stream[] buckets = new Stream[1024];
  private final List<Stream> streams = new ArrayList<>();
  private final Map<String, Numbers> numbers = new TreeMap<>();
  private final Map<String, List<String>> jumps = new HashMap<>();
  private final Verdict verdict = new Verdict();
  private final Header header = new Header();
  private final Map<String, Integer> told = new HashMap<>();

  /** `outputs`: names of the output partitions; records come with an index into it. */
  Checker(Options options, List<String> outputs) {
    this.options = options;
    this.outputs = outputs;
  }

  /** Returns when the record was due, in microseconds, or -1 when it does not say. */
  long add(int output, long offset, byte[] value, int start, int length) {
    verdict.records++;
    if (value == null || !header.parse(value, start, length) || header.sequence > SEQUENCE_MAX
        || header.number > SEQUENCE_MAX) {
      verdict.foreign++;
      example("foreign", () -> at(output, offset) + " has no test header");
      return -1;
    }
    if (header.damaged) {
      verdict.damaged++;
      example("damaged", () -> at(output, offset) + ": bytes changed that no operator may touch");
    }
    Stream stream = stream();
    sequence(stream, output, offset, header.sequence);
    if (header.number >= 0) {
      number(stream, output, offset, header.sequence, header.number);
    } else {
      stream.numbers.without++;
    }
    return header.due;
  }

  private void sequence(Stream stream, int output, long offset, long sequence) {
    Track track = stream.sequences;
    track.room(output);
    long last = track.last[output];
    if (!track.mark(sequence)) {
      verdict.duplicated++;
      example("duplicated",
          () -> stream.name + " s=" + sequence + " again at " + at(output, offset));
    } else if (sequence < last) {
      verdict.reordered++;
      example("reordered", () -> stream.name + " s=" + sequence + " at " + at(output, offset)
          + " stands behind s=" + last + " at " + at(output, track.lastOffset[output]));
    } else if (sequence > last + 1) {
      jump(stream.name, output, offset, last, sequence);
    }
    if (sequence > last) {
      track.last[output] = sequence;
      track.lastOffset[output] = offset;
    }
  }

  private void number(Stream stream, int output, long offset, long sequence, long number) {
    Numbers of = stream.numbers;
    of.records++;
    if (number != sequence + 1 && stream.disagreeing++ == 0) {
      stream.firstDisagreeing = stream.name + " s=" + sequence + " has c=" + number + " at "
          + at(output, offset);
    }
    of.track.room(output);
    long last = of.track.last[output];
    if (number == 0 || !of.track.mark(number)) {
      verdict.wrongNumbers++;
      example("number", () -> of.name + " c=" + number + (number == 0 ? "" : " again") + " at "
          + at(output, offset) + " (" + stream.name + " s=" + sequence + ")");
    } else if (number < last) {
      verdict.wrongNumbers++;
      example("number", () -> of.name + " c=" + number + " at " + at(output, offset)
          + " stands behind c=" + last + " at " + at(output, of.track.lastOffset[output]));
    }
    if (number > last) {
      of.track.last[output] = number;
      of.track.lastOffset[output] = offset;
    }
  }

  private Stream stream() {
    int bucket = (int) ((header.hash ^ header.hash >>> 32) & buckets.length - 1);
    for (Stream each = buckets[bucket]; each != null; each = each.next) {
      if (each.hash == header.hash && each.partition == header.partition
          && Arrays.equals(each.producer, 0, each.producer.length, header.bytes,
              header.producerStart, header.producerEnd)) {
        return each;
      }
    }
    Stream made = new Stream();
    made.producer = Arrays.copyOfRange(header.bytes, header.producerStart, header.producerEnd);
    made.partition = header.partition;
    made.hash = header.hash;
    made.name = header.producer() + ":" + header.partition;
    String topic = header.topic();
    if (topic.isEmpty()) topic = options.topics.getOrDefault(header.producer(), "");
    String source = (topic.isEmpty() ? "source partition " : topic + "-") + header.partition;
    made.numbers = numbers.computeIfAbsent(source, name -> new Numbers());
    made.numbers.name = source;
    made.numbers.streams++;
    made.next = buckets[bucket];
    buckets[bucket] = made;
    streams.add(made);
    return made;
  }

  /** Call once, when all records were added. */
  Verdict finish() {
    Map<String, Stream> byName = new TreeMap<>();
    for (Stream stream : streams) byName.put(stream.name, stream);
    verdict.streams = streams.size();
    verdict.endProven = !options.expected.isEmpty();
    for (Map.Entry<String, Long> entry : options.expected.entrySet()) {
      if (entry.getValue() > 0 && !byName.containsKey(entry.getKey())) {
        verdict.lost += entry.getValue();
        example("lost",
            () -> entry.getKey() + ": none of its " + entry.getValue() + " records is there");
      }
    }
    for (Stream stream : byName.values()) finish(stream);
    for (Numbers each : numbers.values()) finish(each);
    return verdict;
  }

  private void finish(Stream stream) {
    Track track = stream.sequences;
    long count = options.expected.getOrDefault(stream.name, verdict.endProven ? 0 : track.max + 1);
    long beyond = 0;
    for (long sequence = count; sequence <= track.max; sequence++) {
      if (track.has(sequence)) beyond++;
    }
    if (beyond > 0) {
      verdict.unexpected += beyond;
      example("unexpected", () -> stream.name + ": s=" + track.max + " was seen, but only " + count
          + " records were sent");
    }
    missing(stream.name, "s", track, 0, count, "lost");
    verdict.lost += count - (track.seen - beyond);
    // With one producer the counts must go along with its sequence, not only be complete.
    if (stream.numbers.streams == 1 && stream.disagreeing > 0) {
      verdict.wrongNumbers += stream.disagreeing;
      example("number", () -> stream.firstDisagreeing);
    }
  }

  private void finish(Numbers of) {
    if (of.records == 0 && !options.numbersRequired) return;
    if (of.without > 0) {
      verdict.wrongNumbers += of.without;
      example("number", () -> of.name + ": " + of.without + " records carry no number");
    }
    // One that was written as 0 is in `records` and nowhere else; it has been counted as wrong.
    missing(of.name, "c", of.track, 1, of.track.max + 1, "number");
    verdict.wrongNumbers += Math.max(of.track.max, 0) - of.track.seen;
  }

  private void missing(String name, String field, Track track, long first, long end, String kind) {
    int left = options.examplesMax;
    for (long value = first; value < end && left > 0; value++) {
      if (track.has(value)) continue;
      long from = value;
      while (value + 1 < end && !track.has(value + 1)) value++;
      long to = value;
      example(kind, () -> name + " lacks " + field + "=" + from
          + (to > from ? " to " + to : "") + (to + 1 >= end ? " at its end" : "")
          + String.join("", jumps.getOrDefault(name + field + from, List.of())));
      left--;
    }
  }

  /** Remembers where a gap was met, so that a loss can be looked at in the topic. */
  private void jump(String name, int output, long offset, long last, long sequence) {
    if (jumps.size() >= 1000) return;
    String where = last < 0 ? " (" : " (s=" + last + " before it, ";
    jumps.computeIfAbsent(name + "s" + (last + 1), key -> new ArrayList<>())
        .add(where + "s=" + sequence + " at " + at(output, offset) + ")");
  }

  private String at(int output, long offset) {
    return outputs.get(output) + "@" + offset;
  }

  private void example(String kind, Supplier<String> text) {
    int count = told.merge(kind, 1, Integer::sum);
    if (count <= options.examplesMax) verdict.examples.add(kind + ": " + text.get());
  }
}
