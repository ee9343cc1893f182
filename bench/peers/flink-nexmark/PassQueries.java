import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.util.Collector;

/** Queries that look at one bid at a time, and the stream itself. All of them are one chain with the source. */
final class PassQueries {
  private PassQueries() {}

  static DataStream<Row> events(Streams streams) {
    Row row = new Row();
    return streams.events.flatMap((Event event, Collector<Row> out) -> {
      row.clear();
      switch (event.kind) {
        case Event.PERSON -> {
          Event.Person p = event.person;
          row.add(p.id).add(p.name).add(p.email).add(p.creditCard).add(p.city).add(p.state).add(p.time).add(p.extra);
        }
        case Event.AUCTION -> {
          Event.Auction a = event.auction;
          row.add(a.id).add(a.itemName).add(a.description).add(a.initialBid).add(a.reserve).add(a.time).add(a.expires).add(a.seller)
              .add(a.category).add(a.extra);
        }
        default -> {
          Event.Bid b = event.bid;
          row.add(b.auction).add(b.bidder).add(b.price).add(b.channel).add(b.url).add(b.time).add(b.extra);
        }
      }
      out.collect(row);
    }).returns(Streams.ROW);
  }

  static DataStream<Row> q0(Streams streams) {
    return streams.bidRows((bid, row) -> {
      row.add(bid.auction).add(bid.bidder).add(bid.price).add(bid.time).add(bid.extra);
      return true;
    });
  }

  static DataStream<Row> q1(Streams streams) {
    return streams.bidRows((bid, row) -> {
      row.add(bid.auction).add(bid.bidder).add(bid.price * 908).add(bid.time).add(bid.extra);
      return true;
    });
  }

  static DataStream<Row> q2(Streams streams) {
    return streams.bidRows((bid, row) -> {
      if (bid.auction % 123 != 0) return false;
      row.add(bid.auction).add(bid.price);
      return true;
    });
  }

  /** The side table is small and does not change: each task has it whole. */
  static DataStream<Row> q13(Streams streams) {
    return streams.events.flatMap(new SideTable()).returns(Streams.ROW);
  }

  private static final class SideTable extends RichFlatMapFunction<Event, Row> {
    private static final long serialVersionUID = 1;
    private final Row row = new Row();
    private transient Map<Long, String> values;

    @Override
    public void open(OpenContext context) {
      values = new HashMap<>();
      for (int key = 0; key < Tables.CHANNELS; key++) values.put((long) key, Tables.INSTANCE.urls[key]);
    }

    @Override
    public void flatMap(Event event, Collector<Row> out) {
      if (event.kind != Event.BID) return;
      Event.Bid bid = event.bid;
      String value = values.get(bid.auction % 10_000);
      if (value != null) out.collect(row.clear().add(bid.auction).add(bid.bidder).add(bid.price).add(bid.time).add(value));
    }
  }

  static DataStream<Row> q14(Streams streams) {
    return streams.bidRows((bid, row) -> {
      long price = bid.price * 908;  // In thousandths.
      if (price <= 1_000_000_000L || price >= 50_000_000_000L) return false;
      long hour = bid.time / 3_600_000 % 24;
      String part = hour >= 8 && hour <= 18 ? "dayTime" : hour <= 6 || hour >= 20 ? "nightTime" : "otherTime";
      long count = 0;
      for (int at = 0; at < bid.extra.length(); at++) {
        if (bid.extra.charAt(at) == 'c') count++;
      }
      row.add(bid.auction).add(bid.bidder).add(price).add(part).add(bid.time).add(bid.extra).add(count);
      return true;
    });
  }

  static DataStream<Row> q21(Streams streams) {
    return streams.bidRows((bid, row) -> {
      String id = channelId(bid.channel, bid.url);
      if (id == null) return false;
      row.add(bid.auction).add(bid.bidder).add(bid.price).add(bid.channel).add(id);
      return true;
    });
  }

  private static final Pattern CHANNEL_ID = Pattern.compile("(&|^)channel_id=([^&]*)");

  private static String channelId(String channel, String url) {
    switch (channel.toLowerCase(java.util.Locale.ROOT)) {
      case "apple": return "0";
      case "google": return "1";
      case "facebook": return "2";
      case "baidu": return "3";
      default:
        Matcher matcher = CHANNEL_ID.matcher(url);
        return matcher.find() ? matcher.group(2) : null;
    }
  }

  static DataStream<Row> q22(Streams streams) {
    return streams.bidRows((bid, row) -> {
      row.add(bid.auction).add(bid.bidder).add(bid.price).add(bid.channel);
      // The parts 3 to 5 of the address between '/'.
      String url = bid.url;
      int from = 0;
      for (int part = 0; part < 3; part++) from = url.indexOf('/', from) + 1;
      for (int part = 0; part < 3; part++) {
        int to = url.indexOf('/', from);
        row.add(url.substring(from, to));
        from = to + 1;
      }
      return true;
    });
  }
}
