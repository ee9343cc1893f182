import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple10;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.api.java.tuple.Tuple6;
import org.apache.flink.api.java.tuple.Tuple7;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/** Queries that join two kinds of events without a window: either side may come first. */
final class JoinQueries {
  private static final long CATEGORY = 10;

  private JoinQueries() {}

  /** id, name, city, state. */
  private static final TypeInformation<Tuple4<Long, String, String, String>> PERSON =
      Types.TUPLE(Types.LONG, Types.STRING, Types.STRING, Types.STRING);
  /** seller, id. */
  private static final TypeInformation<Tuple2<Long, Long>> SOLD = Types.TUPLE(Types.LONG, Types.LONG);
  /** id, item's name, description, initial bid, reserve, time, expiry, seller, category, extra. */
  private static final TypeInformation<Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String>> AUCTION =
      Types.TUPLE(Types.LONG, Types.STRING, Types.STRING, Types.LONG, Types.LONG, Types.LONG, Types.LONG, Types.LONG, Types.LONG,
          Types.STRING);
  /** auction, bidder, price, channel, url, time, extra. */
  private static final TypeInformation<Tuple7<Long, Long, Long, String, String, Long, String>> BID =
      Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.STRING, Types.STRING, Types.LONG, Types.STRING);

  private static Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> whole(Event.Auction a) {
    return Tuple10.of(a.id, a.itemName, a.description, a.initialBid, a.reserve, a.time, a.expires, a.seller, a.category, a.extra);
  }

  private static void add(Row row, Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> auction) {
    row.add(auction.f0).add(auction.f1).add(auction.f2).add(auction.f3).add(auction.f4).add(auction.f5).add(auction.f6).add(auction.f7)
        .add(auction.f8).add(auction.f9);
  }

  static DataStream<Row> q3(Streams streams) {
    DataStream<Tuple4<Long, String, String, String>> persons = streams.persons(p -> {
      boolean here = p.state.equals("OR") || p.state.equals("ID") || p.state.equals("CA");
      return here ? Tuple4.of(p.id, p.name, p.city, p.state) : null;
    }, PERSON);
    DataStream<Tuple2<Long, Long>> auctions =
        streams.auctions(a -> a.category == CATEGORY ? Tuple2.of(a.seller, a.id) : null, SOLD);
    return persons.keyBy(p -> p.f0, Streams.LONG).connect(auctions.keyBy(a -> a.f0, Streams.LONG)).process(new LocalItems())
        .returns(Streams.ROW);
  }

  private static final class LocalItems
      extends KeyedCoProcessFunction<Long, Tuple4<Long, String, String, String>, Tuple2<Long, Long>, Row> {
    private static final long serialVersionUID = 1;
    private final Row row = new Row();
    private transient ValueState<Tuple4<Long, String, String, String>> seller;
    private transient ListState<Long> waiting;

    @Override
    public void open(OpenContext context) {
      seller = getRuntimeContext().getState(new ValueStateDescriptor<>("seller", PERSON));
      waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", Types.LONG));
    }

    @Override
    public void processElement1(Tuple4<Long, String, String, String> person, Context context, Collector<Row> out) throws Exception {
      seller.update(person);
      for (long auction : waiting.get()) answer(person, auction, out);
      waiting.clear();
    }

    @Override
    public void processElement2(Tuple2<Long, Long> auction, Context context, Collector<Row> out) throws Exception {
      Tuple4<Long, String, String, String> person = seller.value();
      if (person == null) {
        waiting.add(auction.f1);
      } else {
        answer(person, auction.f1, out);
      }
    }

    private void answer(Tuple4<Long, String, String, String> person, long auction, Collector<Row> out) {
      out.collect(row.clear().add(person.f1).add(person.f2).add(person.f3).add(auction));
    }
  }

  /** Of an auction of another category only its id is sent: bids on it need not wait for it any longer. */
  static DataStream<Row> q20(Streams streams) {
    DataStream<Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String>> auctions = streams.auctions(
        a -> a.category == CATEGORY ? whole(a) : Tuple10.of(a.id, "", "", 0L, 0L, 0L, 0L, 0L, a.category, ""), AUCTION);
    DataStream<Tuple7<Long, Long, Long, String, String, Long, String>> bids =
        streams.bids(b -> Tuple7.of(b.auction, b.bidder, b.price, b.channel, b.url, b.time, b.extra), BID);
    return auctions.keyBy(a -> a.f0, Streams.LONG).connect(bids.keyBy(b -> b.f0, Streams.LONG)).process(new BidsOfCategory())
        .returns(Streams.ROW);
  }

  private static final class BidsOfCategory extends KeyedCoProcessFunction<Long,
      Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String>,
      Tuple7<Long, Long, Long, String, String, Long, String>, Row> {
    private static final long serialVersionUID = 1;
    private final Row row = new Row();
    private transient ValueState<Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String>> auction;
    private transient ListState<Tuple7<Long, Long, Long, String, String, Long, String>> waiting;

    @Override
    public void open(OpenContext context) {
      auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", AUCTION));
      waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", BID));
    }

    @Override
    public void processElement1(Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> opened, Context context,
        Collector<Row> out) throws Exception {
      auction.update(opened);
      if (opened.f8 == CATEGORY) {
        for (Tuple7<Long, Long, Long, String, String, Long, String> bid : waiting.get()) answer(bid, opened, out);
      }
      waiting.clear();
    }

    @Override
    public void processElement2(Tuple7<Long, Long, Long, String, String, Long, String> bid, Context context, Collector<Row> out)
        throws Exception {
      Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> opened = auction.value();
      if (opened == null) {
        waiting.add(bid);
      } else if (opened.f8 == CATEGORY) {
        answer(bid, opened, out);
      }
    }

    private void answer(Tuple7<Long, Long, Long, String, String, Long, String> bid,
        Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> opened, Collector<Row> out) {
      row.clear().add(bid.f0).add(bid.f1).add(bid.f2).add(bid.f3).add(bid.f4).add(bid.f5).add(bid.f6);
      // Without the id, which is the bid's auction.
      row.add(opened.f1).add(opened.f2).add(opened.f3).add(opened.f4).add(opened.f5).add(opened.f6).add(opened.f7).add(opened.f8)
          .add(opened.f9);
      out.collect(row);
    }
  }

  /** The winning prices of auctions by category, added up until the end. */
  static DataStream<Row> q4(Streams streams) {
    DataStream<Tuple4<Long, Long, Long, Long>> auctions =
        streams.auctions(a -> Tuple4.of(a.id, a.time, a.expires, a.category), FOUR);
    DataStream<Tuple4<Long, Long, Long, Long>> bids = streams.bids(b -> Tuple4.of(b.auction, b.time, b.price, b.number), FOUR);
    DataStream<Tuple2<Long, Long>> prices = auctions.keyBy(a -> a.f0, Streams.LONG).connect(bids.keyBy(b -> b.f0, Streams.LONG))
        .process(new WinningPrice()).returns(SOLD);
    return streams.by(prices, p -> p.f0, Streams.LONG).process(new AtEnd<Long, Tuple2<Long, Long>, Prices>(Prices.class) {
      @Override
      Prices add(Tuple2<Long, Long> price, Prices kept) {
        Prices prices = kept == null ? new Prices() : kept;
        prices.count++;
        prices.sum += price.f1;
        return prices;
      }

      @Override
      void answer(Long category, Prices prices, Row row, Collector<Row> out) {
        out.collect(row.clear().add(category).add(prices.count).add(prices.sum).add(prices.sum / prices.count));
      }
    }).returns(Streams.ROW);
  }

  private static final TypeInformation<Tuple4<Long, Long, Long, Long>> FOUR =
      Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG);

  private static final class Prices {
    private long count, sum;
  }

  private static final class WinningPrice
      extends WinningBids<Tuple4<Long, Long, Long, Long>, Tuple4<Long, Long, Long, Long>, Tuple2<Long, Long>> {
    private static final long serialVersionUID = 1;

    WinningPrice() {
      super(FOUR, FOUR);
    }

    @Override
    long opens(Tuple4<Long, Long, Long, Long> auction) {
      return auction.f1;
    }

    @Override
    long expires(Tuple4<Long, Long, Long, Long> auction) {
      return auction.f2;
    }

    @Override
    long time(Tuple4<Long, Long, Long, Long> bid) {
      return bid.f1;
    }

    @Override
    long price(Tuple4<Long, Long, Long, Long> bid) {
      return bid.f2;
    }

    @Override
    long number(Tuple4<Long, Long, Long, Long> bid) {
      return bid.f3;
    }

    @Override
    void answer(Tuple4<Long, Long, Long, Long> auction, Tuple4<Long, Long, Long, Long> bid, Collector<Tuple2<Long, Long>> out) {
      out.collect(Tuple2.of(auction.f3, bid.f2));
    }
  }

  /** auction, bidder, price, time, extra, number. */
  private static final TypeInformation<Tuple6<Long, Long, Long, Long, String, Long>> OFFER =
      Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG, Types.STRING, Types.LONG);

  static DataStream<Row> q9(Streams streams) {
    DataStream<Tuple6<Long, Long, Long, Long, String, Long>> bids =
        streams.bids(b -> Tuple6.of(b.auction, b.bidder, b.price, b.time, b.extra, b.number), OFFER);
    return streams.auctions(JoinQueries::whole, AUCTION).keyBy(a -> a.f0, Streams.LONG)
        .connect(bids.keyBy(b -> b.f0, Streams.LONG)).process(new WinningRow()).returns(Streams.ROW);
  }

  private static final class WinningRow extends WinningBids<Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String>,
      Tuple6<Long, Long, Long, Long, String, Long>, Row> {
    private static final long serialVersionUID = 1;
    private final Row row = new Row();

    WinningRow() {
      super(AUCTION, OFFER);
    }

    @Override
    long opens(Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> auction) {
      return auction.f5;
    }

    @Override
    long expires(Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> auction) {
      return auction.f6;
    }

    @Override
    long time(Tuple6<Long, Long, Long, Long, String, Long> bid) {
      return bid.f3;
    }

    @Override
    long price(Tuple6<Long, Long, Long, Long, String, Long> bid) {
      return bid.f2;
    }

    @Override
    long number(Tuple6<Long, Long, Long, Long, String, Long> bid) {
      return bid.f5;
    }

    @Override
    void answer(Tuple10<Long, String, String, Long, Long, Long, Long, Long, Long, String> auction,
        Tuple6<Long, Long, Long, Long, String, Long> bid, Collector<Row> out) {
      add(row.clear(), auction);
      out.collect(row.add(bid.f1).add(bid.f2).add(bid.f3).add(bid.f4));
    }
  }
}
