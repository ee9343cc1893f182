import java.io.Serializable;

/**
 * A row of an answer: numbers and texts in order. Made once in each operator that answers and written over for each row, as object reuse
 * allows; so a row costs neither an allocation nor a boxed number. It goes to the sink by a call and is never serialised.
 */
final class Row implements Serializable {
  private static final long serialVersionUID = 1;
  private static final int FIELDS_MAX = 20;

  private int fields;
  private final long[] numbers = new long[FIELDS_MAX];
  private final String[] texts = new String[FIELDS_MAX];  // null: the field is a number.

  Row clear() {
    fields = 0;
    return this;
  }

  Row add(long number) {
    numbers[fields] = number;
    texts[fields++] = null;
    return this;
  }

  Row add(String text) {
    texts[fields++] = text;
    return this;
  }

  /** Its text as bench/nexmark/digest.h has it: fields with '|' between. */
  void write(StringBuilder out) {
    for (int field = 0; field < fields; field++) {
      if (field > 0) out.append('|');
      if (texts[field] == null) {
        out.append(numbers[field]);
      } else {
        out.append(texts[field]);
      }
    }
  }

  /** Touches every field, so that none of the work is optimised away. */
  long folded() {
    long folded = 0;
    for (int field = 0; field < fields; field++) folded ^= texts[field] == null ? numbers[field] : texts[field].length();
    return folded;
  }
}
