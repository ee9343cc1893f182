import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/**
 * An auction's highest bid between its opening and its expiry, both included; of two as high the one that came first. Answered when the
 * watermark passes the expiry; then nothing is kept. A bid that comes before its auction waits for it until the watermark passes the bid,
 * for an auction that opens later is not its own.
 */
abstract class WinningBids<Auction, Bid, Out> extends KeyedCoProcessFunction<Long, Auction, Bid, Out> {
  private static final long serialVersionUID = 1;
  private final TypeInformation<Auction> auctionType;
  private final TypeInformation<Bid> bidType;
  private transient ValueState<Auction> auction;
  private transient ValueState<Bid> best;
  private transient ListState<Bid> waiting;

  WinningBids(TypeInformation<Auction> auctionType, TypeInformation<Bid> bidType) {
    this.auctionType = auctionType;
    this.bidType = bidType;
  }

  abstract long opens(Auction auction);

  abstract long expires(Auction auction);

  abstract long time(Bid bid);

  abstract long price(Bid bid);

  abstract long number(Bid bid);

  abstract void answer(Auction auction, Bid bid, Collector<Out> out);

  @Override
  public void open(OpenContext context) {
    auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", auctionType));
    best = getRuntimeContext().getState(new ValueStateDescriptor<>("best", bidType));
    waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", bidType));
  }

  @Override
  public void processElement1(Auction opened, Context context, Collector<Out> out) throws Exception {
    auction.update(opened);
    context.timerService().registerEventTimeTimer(expires(opened));
    for (Bid bid : waiting.get()) consider(opened, bid);
    waiting.clear();
  }

  @Override
  public void processElement2(Bid bid, Context context, Collector<Out> out) throws Exception {
    Auction opened = auction.value();
    if (opened == null) {
      waiting.add(bid);
      context.timerService().registerEventTimeTimer(time(bid));
    } else {
      consider(opened, bid);
    }
  }

  private void consider(Auction opened, Bid bid) throws Exception {
    if (time(bid) < opens(opened) || time(bid) > expires(opened)) return;
    Bid before = best.value();
    if (before != null) {
      long less = price(before) - price(bid);
      if (less > 0 || less == 0 && number(before) < number(bid)) return;
    }
    best.update(bid);
  }

  @Override
  public void onTimer(long time, OnTimerContext context, Collector<Out> out) throws Exception {
    Auction opened = auction.value();
    if (opened == null) {
      // Bids that waited, all of them of this time or earlier but for those with a timer of their own to come.
      drop(time);
    } else if (time == expires(opened)) {
      Bid winner = best.value();
      if (winner != null) answer(opened, winner, out);
      auction.clear();
      best.clear();
    }
  }

  private void drop(long time) throws Exception {
    java.util.List<Bid> later = new java.util.ArrayList<>();
    for (Bid bid : waiting.get()) {
      if (time(bid) > time) later.add(bid);
    }
    waiting.update(later);
  }
}
