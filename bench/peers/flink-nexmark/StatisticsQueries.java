import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.tuple.Tuple8;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.util.Collector;

/** Queries that keep something for each key until the stream ends: statistics of days, last and highest bids. */
final class StatisticsQueries {
  private static final long DAY_MS = 86_400_000;
  private static final int TOP = 10;

  private StatisticsQueries() {}

  static DataStream<Row> q15(Streams streams) {
    TypeInformation<Tuple4<Long, Long, Long, Long>> type = Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG);
    DataStream<Tuple4<Long, Long, Long, Long>> bids = streams.bids(b -> Tuple4.of(b.time / DAY_MS, b.auction, b.bidder, b.price), type);
    return streams.by(bids, b -> b.f0, Streams.LONG)
        .process(new AtEnd<Long, Tuple4<Long, Long, Long, Long>, Counts>(Counts.class) {
          @Override
          Counts add(Tuple4<Long, Long, Long, Long> bid, Counts kept) {
            Counts counts = kept == null ? new Counts() : kept;
            counts.add(bid.f1, bid.f2, bid.f3);
            return counts;
          }

          @Override
          void answer(Long day, Counts counts, Row row, Collector<Row> out) {
            counts.write(row.clear().add(LocalDate.ofEpochDay(day).toString()));
            out.collect(row);
          }
        }).returns(Streams.ROW);
  }

  static DataStream<Row> q16(Streams streams) {
    TypeInformation<Tuple5<String, Long, Long, Long, Long>> type =
        Types.TUPLE(Types.STRING, Types.LONG, Types.LONG, Types.LONG, Types.LONG);
    DataStream<Tuple5<String, Long, Long, Long, Long>> bids =
        streams.bids(b -> Tuple5.of(b.channel, b.time, b.auction, b.bidder, b.price), type);
    return streams.by(bids, b -> Tuple2.of(b.f0, b.f1 / DAY_MS), Types.TUPLE(Types.STRING, Types.LONG))
        .process(new AtEnd<Tuple2<String, Long>, Tuple5<String, Long, Long, Long, Long>, Counts>(Counts.class) {
          @Override
          Counts add(Tuple5<String, Long, Long, Long, Long> bid, Counts kept) {
            Counts counts = kept == null ? new Counts() : kept;
            counts.add(bid.f2, bid.f3, bid.f4);
            counts.last = Math.max(counts.last, bid.f1);
            return counts;
          }

          @Override
          void answer(Tuple2<String, Long> key, Counts counts, Row row, Collector<Row> out) {
            long minute = counts.last / 60_000 % 1_440;
            String text = String.format("%02d:%02d", minute / 60, minute % 60);
            counts.write(row.clear().add(key.f0).add(LocalDate.ofEpochDay(key.f1).toString()).add(text));
            out.collect(row);
          }
        }).returns(Streams.ROW);
  }

  static DataStream<Row> q17(Streams streams) {
    TypeInformation<Tuple3<Long, Long, Long>> type = Types.TUPLE(Types.LONG, Types.LONG, Types.LONG);
    DataStream<Tuple3<Long, Long, Long>> bids = streams.bids(b -> Tuple3.of(b.auction, b.time / DAY_MS, b.price), type);
    return streams.by(bids, b -> Tuple2.of(b.f0, b.f1), Types.TUPLE(Types.LONG, Types.LONG))
        .process(new AtEnd<Tuple2<Long, Long>, Tuple3<Long, Long, Long>, Prices>(Prices.class) {
          @Override
          Prices add(Tuple3<Long, Long, Long> bid, Prices kept) {
            Prices prices = kept == null ? new Prices() : kept;
            long price = bid.f2;
            prices.bids[0]++;
            prices.bids[rank(price)]++;
            prices.lowest = Math.min(prices.lowest, price);
            prices.highest = Math.max(prices.highest, price);
            prices.sum += price;
            return prices;
          }

          @Override
          void answer(Tuple2<Long, Long> key, Prices prices, Row row, Collector<Row> out) {
            row.clear().add(key.f0).add(LocalDate.ofEpochDay(key.f1).toString());
            for (long bids : prices.bids) row.add(bids);
            out.collect(row.add(prices.lowest).add(prices.highest).add(prices.sum / prices.bids[0]).add(prices.sum));
          }
        }).returns(Streams.ROW);
  }

  /** auction, bidder, price, channel, url, time, extra, number. */
  private static final TypeInformation<Tuple8<Long, Long, Long, String, String, Long, String, Long>> WHOLE_BID = Types.TUPLE(
      Types.LONG, Types.LONG, Types.LONG, Types.STRING, Types.STRING, Types.LONG, Types.STRING, Types.LONG);

  private static DataStream<Tuple8<Long, Long, Long, String, String, Long, String, Long>> wholeBids(Streams streams) {
    return streams.bids(b -> Tuple8.of(b.auction, b.bidder, b.price, b.channel, b.url, b.time, b.extra, b.number), WHOLE_BID);
  }

  private static void write(Row row, Tuple8<Long, Long, Long, String, String, Long, String, Long> bid) {
    row.clear().add(bid.f0).add(bid.f1).add(bid.f2).add(bid.f3).add(bid.f4).add(bid.f5).add(bid.f6);
  }

  static DataStream<Row> q18(Streams streams) {
    return streams.by(wholeBids(streams), b -> Tuple2.of(b.f1, b.f0), Types.TUPLE(Types.LONG, Types.LONG))
        .process(new AtEnd<Tuple2<Long, Long>, Tuple8<Long, Long, Long, String, String, Long, String, Long>, LastBid>(LastBid.class) {
          @Override
          LastBid add(Tuple8<Long, Long, Long, String, String, Long, String, Long> bid, LastBid kept) {
            LastBid last = kept == null ? new LastBid() : kept;
            if (last.bid == null || bid.f7 > last.bid.f7) last.bid = bid;
            return last;
          }

          @Override
          void answer(Tuple2<Long, Long> key, LastBid last, Row row, Collector<Row> out) {
            write(row, last.bid);
            out.collect(row);
          }
        }).returns(Streams.ROW);
  }

  static DataStream<Row> q19(Streams streams) {
    return streams.by(wholeBids(streams), b -> b.f0, Streams.LONG)
        .process(new AtEnd<Long, Tuple8<Long, Long, Long, String, String, Long, String, Long>, TopBids>(TopBids.class) {
          @Override
          TopBids add(Tuple8<Long, Long, Long, String, String, Long, String, Long> bid, TopBids kept) {
            TopBids top = kept == null ? new TopBids() : kept;
            top.add(bid);
            return top;
          }

          @Override
          void answer(Long auction, TopBids top, Row row, Collector<Row> out) {
            for (int at = 0; at < top.bids.size(); at++) {
              write(row, top.bids.get(at));
              out.collect(row.add(at + 1));
            }
          }
        }).returns(Streams.ROW);
  }

  private static int rank(long price) {
    return price < 10_000 ? 1 : price < 1_000_000 ? 2 : 3;
  }

  /** Bids, bidders and auctions of a day: of all prices and of each rank. */
  private static final class Counts {
    private final long[] bids = new long[4];
    private final Distinct bidders = new Distinct(), auctions = new Distinct();
    private long last;

    void add(long auction, long bidder, long price) {
      int rank = rank(price);
      bids[0]++;
      bids[rank]++;
      bidders.add(bidder, rank);
      auctions.add(auction, rank);
    }

    void write(Row row) {
      for (long count : bids) row.add(count);
      for (long count : bidders.counts) row.add(count);
      for (long count : auctions.counts) row.add(count);
    }
  }

  /** How many ids there are, in all and in each rank: a bit for each rank in which an id was seen. */
  private static final class Distinct {
    private final Map<Long, Integer> seen = new HashMap<>();
    private final long[] counts = new long[4];

    void add(long id, int rank) {
      Integer before = seen.get(id);
      if (before == null) counts[0]++;
      int ranks = before == null ? 0 : before;
      if ((ranks >> rank & 1) != 0) return;
      counts[rank]++;
      seen.put(id, ranks | 1 << rank);
    }
  }

  private static final class Prices {
    private final long[] bids = new long[4];
    private long lowest = Long.MAX_VALUE, highest, sum;
  }

  private static final class LastBid {
    private Tuple8<Long, Long, Long, String, String, Long, String, Long> bid;
  }

  /** The highest ten, highest first; of two as high the one that came first. */
  private static final class TopBids {
    private final List<Tuple8<Long, Long, Long, String, String, Long, String, Long>> bids = new ArrayList<>(TOP + 1);

    void add(Tuple8<Long, Long, Long, String, String, Long, String, Long> bid) {
      int at = bids.size();
      while (at > 0 && before(bid, bids.get(at - 1))) at--;
      if (at == TOP) return;
      bids.add(at, bid);
      if (bids.size() > TOP) bids.remove(TOP);
    }

    private static boolean before(Tuple8<Long, Long, Long, String, String, Long, String, Long> one,
        Tuple8<Long, Long, Long, String, String, Long, String, Long> other) {
      return one.f2 > other.f2 || one.f2.longValue() == other.f2.longValue() && one.f7 < other.f7;
    }
  }
}
