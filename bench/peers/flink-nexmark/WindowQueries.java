import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Queries over windows and sessions. Each window is aggregated as its records come, none keeps them. */
final class WindowQueries {
  private static final Duration WINDOW = Duration.ofSeconds(10), HOP = Duration.ofSeconds(2);

  private WindowQueries() {}

  static DataStream<Row> q5(Streams streams) {
    TypeInformation<Tuple3<Long, Long, Long>> counted = Types.TUPLE(Types.LONG, Types.LONG, Types.LONG);
    WindowFunction<Counter, Tuple3<Long, Long, Long>, Long, TimeWindow> named =
        (auction, window, counts, out) -> out.collect(Tuple3.of(window.getEnd(), auction, counts.iterator().next().count));
    DataStream<Long> auctions = streams.bids(bid -> bid.auction, Streams.LONG);
    DataStream<Tuple3<Long, Long, Long>> counts = streams.by(auctions, auction -> auction, Streams.LONG)
        .window(SlidingEventTimeWindows.of(WINDOW, HOP))
        .aggregate(new Count(), named, TypeInformation.of(Counter.class), counted);
    // The counts of a window have the time of its last millisecond, so those of one window meet in one hop.
    Row row = new Row();
    WindowFunction<Hottest, Row, Long, TimeWindow> answer = (end, window, hottest, out) -> {
      Hottest found = hottest.iterator().next();
      for (long auction : found.auctions) out.collect(row.clear().add(end).add(auction).add(found.bids));
    };
    return streams.by(counts, count -> count.f0, Streams.LONG)
        .window(TumblingEventTimeWindows.of(HOP))
        .aggregate(new FindHottest(), answer, TypeInformation.of(Hottest.class), Streams.ROW);
  }

  static DataStream<Row> q7(Streams streams) {
    TypeInformation<Tuple5<Long, Long, Long, Long, String>> bid =
        Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG, Types.STRING);
    Row row = new Row();
    WindowFunction<Highest, Row, Integer, TimeWindow> answer = (key, window, highest, out) -> {
      for (Tuple5<Long, Long, Long, Long, String> b : highest.iterator().next().bids) {
        out.collect(row.clear().add(window.getEnd()).add(b.f0).add(b.f1).add(b.f2).add(b.f3).add(b.f4));
      }
    };
    return streams.by(streams.bids(b -> Tuple5.of(b.auction, b.price, b.bidder, b.time, b.extra), bid), b -> 0, Types.INT)
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(new FindHighest(), answer, TypeInformation.of(Highest.class), Streams.ROW);
  }

  /** Persons (id, name) and sellers (id, "") in one stream: less to keep than a join of two, which buffers both. */
  static DataStream<Row> q8(Streams streams) {
    TypeInformation<Tuple2<Long, String>> party = Types.TUPLE(Types.LONG, Types.STRING);
    FlatMapFunction<Event, Tuple2<Long, String>> parties = (event, out) -> {
      if (event.kind == Event.PERSON) out.collect(Tuple2.of(event.person.id, event.person.name));
      if (event.kind == Event.AUCTION) out.collect(Tuple2.of(event.auction.seller, ""));
    };
    Row row = new Row();
    WindowFunction<Newcomer, Row, Long, TimeWindow> answer = (person, window, newcomers, out) -> {
      Newcomer newcomer = newcomers.iterator().next();
      if (newcomer.name != null && newcomer.sells) out.collect(row.clear().add(window.getEnd()).add(person).add(newcomer.name));
    };
    return streams.by(streams.events.flatMap(parties).returns(party), p -> p.f0, Streams.LONG)
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(new FindNewcomers(), answer, TypeInformation.of(Newcomer.class), Streams.ROW);
  }

  /** Flink joins sessions that touch, so the gap is a millisecond less and the end one more. */
  static DataStream<Row> q11(Streams streams) {
    Row row = new Row();
    WindowFunction<Counter, Row, Long, TimeWindow> answer = (bidder, window, counts, out) ->
        out.collect(row.clear().add(bidder).add(counts.iterator().next().count).add(window.getStart()).add(window.getEnd() + 1));
    return streams.by(streams.bids(bid -> bid.bidder, Streams.LONG), bidder -> bidder, Streams.LONG)
        .window(EventTimeSessionWindows.withGap(WINDOW.minusMillis(1)))
        .aggregate(new Count(), answer, TypeInformation.of(Counter.class), Streams.ROW);
  }

  static DataStream<Row> q12(Streams streams) {
    Row row = new Row();
    WindowFunction<Counter, Row, Long, TimeWindow> answer = (bidder, window, counts, out) ->
        out.collect(row.clear().add(window.getEnd()).add(bidder).add(counts.iterator().next().count));
    return streams.by(streams.bids(bid -> bid.bidder, Streams.LONG), bidder -> bidder, Streams.LONG)
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(new Count(), answer, TypeInformation.of(Counter.class), Streams.ROW);
  }

  // What windows keep. The heap backend keeps the object itself, so it is changed in place.

  private static final class Counter {
    long count;
  }

  private static final class Count implements AggregateFunction<Long, Counter, Counter> {
    @Override
    public Counter createAccumulator() {
      return new Counter();
    }

    @Override
    public Counter add(Long key, Counter counter) {
      counter.count++;
      return counter;
    }

    @Override
    public Counter getResult(Counter counter) {
      return counter;
    }

    @Override
    public Counter merge(Counter into, Counter other) {
      into.count += other.count;
      return into;
    }
  }

  private static final class Hottest {
    long bids;
    final List<Long> auctions = new ArrayList<>();
  }

  private static final class FindHottest implements AggregateFunction<Tuple3<Long, Long, Long>, Hottest, Hottest> {
    @Override
    public Hottest createAccumulator() {
      return new Hottest();
    }

    @Override
    public Hottest add(Tuple3<Long, Long, Long> count, Hottest hottest) {
      if (count.f2 < hottest.bids) return hottest;
      if (count.f2 > hottest.bids) hottest.auctions.clear();
      hottest.bids = count.f2;
      hottest.auctions.add(count.f1);
      return hottest;
    }

    @Override
    public Hottest getResult(Hottest hottest) {
      return hottest;
    }

    @Override
    public Hottest merge(Hottest into, Hottest other) {
      throw new UnsupportedOperationException("hops do not merge");
    }
  }

  private static final class Highest {
    long price;
    final List<Tuple5<Long, Long, Long, Long, String>> bids = new ArrayList<>();
  }

  private static final class FindHighest implements AggregateFunction<Tuple5<Long, Long, Long, Long, String>, Highest, Highest> {
    @Override
    public Highest createAccumulator() {
      return new Highest();
    }

    @Override
    public Highest add(Tuple5<Long, Long, Long, Long, String> bid, Highest highest) {
      if (bid.f1 < highest.price) return highest;
      if (bid.f1 > highest.price) highest.bids.clear();
      highest.price = bid.f1;
      highest.bids.add(bid);
      return highest;
    }

    @Override
    public Highest getResult(Highest highest) {
      return highest;
    }

    @Override
    public Highest merge(Highest into, Highest other) {
      throw new UnsupportedOperationException("windows of one size do not merge");
    }
  }

  private static final class Newcomer {
    String name;
    boolean sells;
  }

  private static final class FindNewcomers implements AggregateFunction<Tuple2<Long, String>, Newcomer, Newcomer> {
    @Override
    public Newcomer createAccumulator() {
      return new Newcomer();
    }

    @Override
    public Newcomer add(Tuple2<Long, String> party, Newcomer newcomer) {
      if (party.f1.isEmpty()) {
        newcomer.sells = true;
      } else {
        newcomer.name = party.f1;
      }
      return newcomer;
    }

    @Override
    public Newcomer getResult(Newcomer newcomer) {
      return newcomer;
    }

    @Override
    public Newcomer merge(Newcomer into, Newcomer other) {
      throw new UnsupportedOperationException("windows of one size do not merge");
    }
  }
}
