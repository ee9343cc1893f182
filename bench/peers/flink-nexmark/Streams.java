import java.io.Serializable;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.util.Collector;

/**
 * What the queries have in common: from the source's event to a tuple with only the fields that a query needs, chained to the source; and
 * by key. Tuples and not POJOs because their serialisers are faster, and new ones because the receiver keeps them.
 */
final class Streams {
  static final TypeInformation<Long> LONG = Types.LONG;
  static final TypeInformation<String> STRING = Types.STRING;
  static final TypeInformation<Row> ROW = TypeInformation.of(Row.class);

  final DataStream<Event> events;
  private final boolean chained;

  /** chained: keyed operators run in the source's task (reinterpretAsKeyedStream), which only parallelism 1 allows. */
  Streams(DataStream<Event> events, boolean chained) {
    this.events = events;
    this.chained = chained;
  }

  interface Of<In, Out> extends Serializable {
    Out of(In in);
  }

  /** False: there is no row for it. */
  interface RowOf<In> extends Serializable {
    boolean of(In in, Row row);
  }

  DataStream<Row> bidRows(RowOf<Event.Bid> row) {
    return events.flatMap(new BidRows(row)).returns(ROW);
  }

  <T> DataStream<T> bids(Of<Event.Bid, T> fields, TypeInformation<T> type) {
    FlatMapFunction<Event, T> bids = (event, out) -> {
      if (event.kind == Event.BID) out.collect(fields.of(event.bid));
    };
    return events.flatMap(bids).returns(type);
  }

  /** Those for which `fields` gives a tuple, not null. */
  <T> DataStream<T> auctions(Of<Event.Auction, T> fields, TypeInformation<T> type) {
    FlatMapFunction<Event, T> auctions = (event, out) -> {
      if (event.kind != Event.AUCTION) return;
      T tuple = fields.of(event.auction);
      if (tuple != null) out.collect(tuple);
    };
    return events.flatMap(auctions).returns(type);
  }

  /** Those for which `fields` gives a tuple, not null. */
  <T> DataStream<T> persons(Of<Event.Person, T> fields, TypeInformation<T> type) {
    FlatMapFunction<Event, T> persons = (event, out) -> {
      if (event.kind != Event.PERSON) return;
      T tuple = fields.of(event.person);
      if (tuple != null) out.collect(tuple);
    };
    return events.flatMap(persons).returns(type);
  }

  <T, K> KeyedStream<T, K> by(DataStream<T> stream, KeySelector<T, K> key, TypeInformation<K> type) {
    return chained ? DataStreamUtils.reinterpretAsKeyedStream(stream, key, type) : stream.keyBy(key, type);
  }

  private static final class BidRows implements FlatMapFunction<Event, Row> {
    private static final long serialVersionUID = 1;
    private final RowOf<Event.Bid> rowOf;
    private final Row row = new Row();

    BidRows(RowOf<Event.Bid> rowOf) {
      this.rowOf = rowOf;
    }

    @Override
    public void flatMap(Event event, Collector<Row> out) {
      if (event.kind == Event.BID && rowOf.of(event.bid, row.clear())) out.collect(row);
    }
  }
}
