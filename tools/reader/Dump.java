import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;

/**
 * One line a record, tab-separated: topic, partition, offset, key, value, headers, timestamp.
 * null is \N; control characters, backslashes and what is not UTF-8 are escaped: a line is a record.
 */
final class Dump {
  private final PrintStream out;
  private final StringBuilder line = new StringBuilder();

  Dump(PrintStream out) {
    this.out = out;
  }

  void print(ConsumerRecord<ByteBuffer, ByteBuffer> record) {
    line.setLength(0);
    line.append(record.topic()).append('\t').append(record.partition()).append('\t');
    line.append(record.offset()).append('\t');
    append(record.key());
    line.append('\t');
    append(record.value());
    line.append('\t');
    char separator = 0;
    for (Header header : record.headers()) {
      if (separator != 0) line.append(separator);
      separator = ',';
      append(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8)));
      line.append('=');
      append(header.value() == null ? null : ByteBuffer.wrap(header.value()));
    }
    line.append('\t');
    if (record.timestampType() == TimestampType.LOG_APPEND_TIME) line.append("append:");
    line.append(record.timestamp()).append('\n');
    byte[] bytes = line.toString().getBytes(StandardCharsets.UTF_8);
    out.write(bytes, 0, bytes.length);
  }

  private void append(ByteBuffer bytes) {
    if (bytes == null) {
      line.append("\\N");
      return;
    }
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(bytes.duplicate()).toString();
      for (int i = 0; i < text.length(); i++) {
        char c = text.charAt(i);
        append(c, c < ' ' || c == '\\' || c == 127);
      }
    } catch (CharacterCodingException notText) {
      for (ByteBuffer left = bytes.duplicate(); left.hasRemaining();) {
        int c = left.get() & 0xff;
        append((char) c, c < ' ' || c == '\\' || c >= 127);
      }
    }
  }

  private void append(char c, boolean escaped) {
    if (!escaped) {
      line.append(c);
      return;
    }
    switch (c) {
      case '\\' -> line.append("\\\\");
      case '\n' -> line.append("\\n");
      case '\t' -> line.append("\\t");
      default -> line.append(String.format("\\x%02x", (int) c));
    }
  }
}
