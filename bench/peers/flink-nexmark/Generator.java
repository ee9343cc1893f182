/** bench/nexmark/generator.cc in Java, bit for bit: its comments say which random words each field takes. */
final class Generator {
  private static final long ROUND = 50, AUCTIONS_A_ROUND = 3, HOT_SPAN = 100, ACTIVE_PERSONS = 1_000, OPEN_AUCTIONS = 100,
      IDS_AHEAD = 10, OPEN_AUCTIONS_SPAN = OPEN_AUCTIONS * ROUND / AUCTIONS_A_ROUND, DRAWS = 8, FIRST_ID = 1_000;
  private static final long BASE_TIME_MS = 1_436_918_400_000L;

  private final Tables tables = Tables.INSTANCE;
  private final long key, rate, step, stepRest, stride;
  private long number, time, rest;

  /** Makes events first, first + stride, first + 2 × stride, … of the stream. */
  Generator(long seed, long rate, long first, long stride) {
    this.key = Tables.mixed(seed);
    this.rate = rate;
    this.number = first;
    this.stride = stride;
    // Time moves by additions: whole milliseconds and a remainder.
    this.step = stride * 1_000 / rate;
    this.stepRest = stride * 1_000 % rate;
    this.time = timeMs(first);
    this.rest = first % rate * 1_000 % rate;
  }

  /** The number of the event that next() makes. */
  long number() {
    return number;
  }

  /** Writes the next event over `event` and returns its time. */
  long next(Event event) {
    long n = number, now = time;
    long round = n / ROUND, offset = n - round * ROUND;
    if (offset == 0) {
      person(event, n, round, now);
    } else if (offset <= AUCTIONS_A_ROUND) {
      auction(event, n, round, round * AUCTIONS_A_ROUND + offset - 1, now);
    } else {
      bid(event, n, round, round * AUCTIONS_A_ROUND + AUCTIONS_A_ROUND - 1, now);
    }
    number = n + stride;
    time = now + step;
    rest += stepRest;
    if (rest >= rate) {
      rest -= rate;
      time++;
    }
    return now;
  }

  private void person(Event event, long n, long lastPerson, long now) {
    long w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2);
    Event.Person made = event.person;
    event.kind = Event.PERSON;
    made.id = FIRST_ID + lastPerson;
    made.name = oneOf(tables.names, w0);
    made.email = tables.emails[(int) (w2 >>> 16) & (Tables.PERSON_TEXTS - 1)];
    made.creditCard = tables.creditCards[(int) (w2 >>> 28) & (Tables.PERSON_TEXTS - 1)];
    made.city = oneOf(tables.cities, w0 >>> 32);
    made.state = oneOf(tables.states, w1);
    made.time = now;
    long texts = made.name.length() + made.email.length() + made.creditCard.length() + made.city.length() + made.state.length();
    made.extra = tables.text(w2, extraBytes(200, 16 + texts, w1 >>> 32));
  }

  private void auction(Event event, long n, long lastPerson, long lastAuction, long now) {
    long w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2), w3 = word(n, 3), w4 = word(n, 4), w5 = word(n, 5);
    Event.Auction made = event.auction;
    event.kind = Event.AUCTION;
    made.id = FIRST_ID + lastAuction;
    made.itemName = tables.text(w4, 3 + Tables.below(17, w3));
    made.description = tables.text(w4 >>> 16, 3 + Tables.below(97, w3 >>> 32));
    made.initialBid = price(w1 >>> 32);
    made.reserve = made.initialBid + price(w2);
    made.time = now;
    long span = timeMs(n + OPEN_AUCTIONS_SPAN) - now;
    made.expires = now + 1 + Tables.below(Math.max(2 * span, 1), w2 >>> 32);
    boolean hot = (w0 & 3) != 0;
    made.seller = FIRST_ID + (hot ? lastPerson / HOT_SPAN * HOT_SPAN : anyPerson(lastPerson, w0 >>> 32));
    made.category = 10 + Tables.below(5, w1);
    made.extra = tables.text(w5, extraBytes(500, 56 + made.itemName.length() + made.description.length(), w4 >>> 32));
  }

  private void bid(Event event, long n, long lastPerson, long lastAuction, long now) {
    long w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2);
    Event.Bid made = event.bid;
    event.kind = Event.BID;
    boolean hotAuction = (w0 & 1) != 0, hotBidder = (w0 & 6) != 0, hotChannel = (w0 & 8) != 0;
    made.auction = FIRST_ID + (hotAuction ? lastAuction / HOT_SPAN * HOT_SPAN : anyAuction(lastAuction, w1));
    made.bidder = FIRST_ID + (hotBidder ? lastPerson / HOT_SPAN * HOT_SPAN + 1 : anyPerson(lastPerson, w1 >>> 32));
    made.price = price(w0 >>> 32);
    if (hotChannel) {
      int channel = (int) (w0 >>> 4) & 3;
      made.channel = tables.hotChannels[channel];
      made.url = tables.hotUrls[channel];
    } else {
      int channel = (int) Tables.below(Tables.CHANNELS, w2);
      made.channel = tables.channels[channel];
      made.url = tables.urls[channel];
    }
    made.time = now;
    made.number = n;
    made.extra = tables.text(w2 >>> 32, extraBytes(100, 32, (w2 >>> 48) << 16));
  }

  private long word(long n, long draw) {
    return Tables.mixed(key + (n * DRAWS + draw) * 0x9e3779b97f4a7c15L);
  }

  private long timeMs(long n) {
    return BASE_TIME_MS + n / rate * 1_000 + n % rate * 1_000 / rate;
  }

  private long price(long random) {
    double[][] factor = tables.price;
    double exact = factor[0][(int) (random >>> 24) & 255] * factor[1][(int) (random >>> 16) & 255]
        * (factor[2][(int) (random >>> 8) & 255] * factor[3][(int) random & 255]);
    return (long) (exact + 0.5);
  }

  private static long anyPerson(long lastPerson, long random) {
    long active = Math.min(lastPerson + 1, ACTIVE_PERSONS);
    return lastPerson + 1 - active + Tables.below(active + IDS_AHEAD, random);
  }

  private static long anyAuction(long lastAuction, long random) {
    long oldest = Math.max(lastAuction - OPEN_AUCTIONS, 0);
    return oldest + Tables.below(lastAuction - oldest + 1 + IDS_AHEAD, random);
  }

  private static String oneOf(String[] texts, long random) {
    return texts[(int) Tables.below(texts.length, random)];
  }

  private static long extraBytes(long nominal, long bytes, long random) {
    long wanted = nominal - bytes, spread = wanted / 5;
    return wanted - spread + Tables.below(2 * spread + 1, random);
  }
}
