import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * What a test record says about itself, parsed from its value in place: text
 * `p=a;n=0;s=17;d=…;c=18;` in any order, or the first fields of a JSON document, which may stand behind text fields.
 */
final class Header {
  byte[] bytes;
  int producerStart, producerEnd;
  int topicStart, topicEnd;
  long partition, sequence, due, number;  // -1: absent
  long hash;        // of producer and partition
  boolean damaged;  // What no pipeline may touch is not as it was generated.

  private int at, end;
  private final CRC32 crc = new CRC32();

  boolean parse(byte[] value, int start, int length) {
    bytes = value;
    at = start;
    end = start + length;
    producerStart = producerEnd = topicStart = topicEnd = -1;
    partition = sequence = due = number = -1;
    damaged = false;
    if (!textFields()) return false;
    if (at < end && bytes[at] == '{') {
      at++;
      if (!jsonFields()) return false;
      damaged = !bodyIsIntact();
    }
    if (producerStart < 0 || partition < 0 || sequence < 0) return false;
    hash = partition;
    for (int i = producerStart; i < producerEnd; i++) hash = hash * 1_099_511_628_211L + bytes[i];
    return true;
  }

  String producer() {
    return new String(bytes, producerStart, producerEnd - producerStart, StandardCharsets.UTF_8);
  }

  String topic() {
    if (topicStart < 0) return "";
    return new String(bytes, topicStart, topicEnd - topicStart, StandardCharsets.UTF_8);
  }

  /** Takes `key=value;` as often as it comes. False when a known field makes no sense. */
  private boolean textFields() {
    while (at < end && bytes[at] >= 'a' && bytes[at] <= 'z') {
      int equals = at;
      while (equals < end && bytes[equals] >= 'a' && bytes[equals] <= 'z') equals++;
      if (equals == end || bytes[equals] != '=') return true;
      int stop = equals + 1;
      while (stop < end && bytes[stop] != ';') stop++;
      if (stop == end) return true;
      if (equals == at + 1 && !field(bytes[at], equals + 1, stop)) return false;
      at = stop + 1;
    }
    return true;
  }

  /** Takes `"key":value,` until a key that is none of ours. */
  private boolean jsonFields() {
    while (at + 4 < end && bytes[at] == '"' && bytes[at + 2] == '"' && bytes[at + 3] == ':') {
      byte key = bytes[at + 1];
      if ("pnsdct".indexOf(key) < 0) return true;
      int start = at + 4;
      boolean text = bytes[start] == '"';
      if (text) start++;
      int stop = start;
      while (stop < end && bytes[stop] != (text ? '"' : ',') && bytes[stop] != '}') stop++;
      if (stop == end || !field(key, start, stop)) return false;
      at = text ? stop + 1 : stop;
      if (at < end && bytes[at] == ',') at++;
    }
    return true;
  }

  private boolean field(byte key, int start, int stop) {
    switch (key) {
      case 'p' -> {
        if (producerStart >= 0 || start == stop) return false;
        producerStart = start;
        producerEnd = stop;
      }
      case 't' -> {
        topicStart = start;
        topicEnd = stop;
      }
      case 'n' -> {
        if (partition >= 0 || (partition = digits(start, stop)) < 0) return false;
      }
      case 's' -> {
        if (sequence >= 0 || (sequence = digits(start, stop)) < 0) return false;
      }
      case 'd' -> {
        if (due >= 0 || (due = digits(start, stop)) < 0) return false;
      }
      case 'c' -> {
        if (number >= 0 || (number = digits(start, stop)) < 0) return false;
      }
      default -> { }
    }
    return true;
  }

  private long digits(int start, int stop) {
    if (start == stop || stop - start > 18) return -1;
    long value = 0;
    for (int i = start; i < stop; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) return -1;
      value = value * 10 + digit;
    }
    return value;
  }

  private static final byte[] CHECK = "\"check\":\"".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] BODY_END = ",\"end\":0".getBytes(StandardCharsets.US_ASCII);

  /** A generated document carries the CRC-32 of its own second half; others are not judged. */
  private boolean bodyIsIntact() {
    int check = at;
    while (check + CHECK.length <= end && !matches(CHECK, check)) check++;
    if (check + CHECK.length > end) return true;
    int hex = check + CHECK.length;
    int start = hex + 10;  // eight digits, a quote, a comma
    int stop = end - BODY_END.length;
    while (stop > start && !matches(BODY_END, stop)) stop--;
    if (stop <= start) return false;
    long wanted = 0;
    for (int i = hex; i < hex + 8; i++) {
      int digit = Character.digit(bytes[i], 16);
      if (digit < 0) return false;
      wanted = wanted * 16 + digit;
    }
    crc.reset();
    crc.update(bytes, start, stop - start);
    return crc.getValue() == wanted;
  }

  private boolean matches(byte[] word, int position) {
    for (int i = 0; i < word.length; i++) {
      if (bytes[position + i] != word[i]) return false;
    }
    return true;
  }
}
