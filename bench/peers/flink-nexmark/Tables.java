import java.util.Locale;

/** bench/nexmark/tables.cc in Java: everything that events take their texts from. The same for every seed. */
final class Tables {
  static final Tables INSTANCE = new Tables();
  static final int CHANNELS = 10_000;
  static final int PERSON_TEXTS = 4_096;
  private static final int TEXT_STARTS = 65_536;
  private static final int TEXT_BYTES_MAX = 1_024;
  private static final long STEP = 0x9e3779b97f4a7c15L;

  final String[] hotChannels = {"Google", "Facebook", "Baidu", "Apple"};
  final String[] hotUrls = new String[4];
  final String[] channels = new String[CHANNELS];
  final String[] urls = new String[CHANNELS];
  final String[] names = new String[99];
  final String[] emails = new String[PERSON_TEXTS];
  final String[] creditCards = new String[PERSON_TEXTS];
  final String[] cities = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent",
      "Cheyenne"};
  final String[] states = {"AZ", "CA", "ID", "OR", "WA", "WY"};
  final double[][] price = new double[4][256];
  private final String text;
  private long words;

  /** The finaliser of splitmix64. */
  static long mixed(long word) {
    word = (word ^ (word >>> 30)) * 0xbf58476d1ce4e5b9L;
    word = (word ^ (word >>> 27)) * 0x94d049bb133111ebL;
    return word ^ (word >>> 31);
  }

  /** Uniform in [0, range), range below 2^32, from the lower half of a random word. */
  static long below(long range, long word) {
    return ((word & 0xffff_ffffL) * range) >>> 32;
  }

  String text(long start, long bytes) {
    int from = (int) start & (TEXT_STARTS - 1);
    return text.substring(from, from + (int) bytes);
  }

  private Tables() {
    String[] first = {"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"};
    String[] last = {"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"};
    for (int at = 0; at < names.length; at++) names[at] = first[at / last.length] + " " + last[at % last.length];
    for (int at = 0; at < PERSON_TEXTS; at++) {
      String user = letters(3 + below(4));
      emails[at] = user + "@" + letters(3 + below(2)) + ".com";
      StringBuilder card = new StringBuilder();
      for (int group = 0; group < 4; group++) card.append(String.format(Locale.ROOT, group == 0 ? "%04d" : " %04d", below(10_000)));
      creditCards[at] = card.toString();
    }
    for (int at = 0; at < hotUrls.length; at++) hotUrls[at] = url();
    for (int number = 0; number < CHANNELS; number++) {
      String link = url();
      if (below(10) > 0) link += "&channel_id=" + Integer.toUnsignedString(Integer.reverse(number));
      channels[number] = "channel-" + number;
      urls[number] = link;
    }
    text = letters(TEXT_STARTS + TEXT_BYTES_MAX);
    double[] step = {1.055449600878603, 1.0002108301829544, 1.0000008234689381, 1.0000000032166743};
    for (int part = 0; part < price.length; part++) {
      price[part][0] = part == 0 ? 100.0 : 1.0;
      for (int at = 1; at < 256; at++) price[part][at] = price[part][at - 1] * step[part];
    }
  }

  private long below(long range) {
    return below(range, mixed(++words * STEP));
  }

  private String letters(long count) {
    StringBuilder letters = new StringBuilder((int) count);
    while (count-- > 0) letters.append((char) ('a' + below(26)));
    return letters.toString();
  }

  private String url() {
    StringBuilder url = new StringBuilder("https://www.nexmark.com");
    for (int folder = 0; folder < 3; folder++) url.append('/').append(letters(3 + below(2)));
    return url.append("/item.htm?query=1").toString();
  }
}
