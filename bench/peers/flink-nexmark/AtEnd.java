import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** One value a key, answered when the stream has ended: the last watermark fires the timer that the key's first record has set. */
abstract class AtEnd<K, In, Kept> extends KeyedProcessFunction<K, In, Row> {
  private static final long serialVersionUID = 1;
  private final Class<Kept> type;
  private final Row row = new Row();
  private transient ValueState<Kept> state;

  AtEnd(Class<Kept> type) {
    this.type = type;
  }

  /** What is kept once `in` has come; `kept` (null at first) may be changed in place. */
  abstract Kept add(In in, Kept kept);

  abstract void answer(K key, Kept kept, Row row, Collector<Row> out);

  @Override
  public void open(OpenContext context) {
    state = getRuntimeContext().getState(new ValueStateDescriptor<>("kept", TypeInformation.of(type)));
  }

  @Override
  public void processElement(In in, Context context, Collector<Row> out) throws Exception {
    Kept kept = state.value();
    Kept now = add(in, kept);
    if (kept == null) context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
    if (now != kept) state.update(now);
  }

  @Override
  public void onTimer(long time, OnTimerContext context, Collector<Row> out) throws Exception {
    answer(context.getCurrentKey(), state.value(), row, out);
    state.clear();
  }
}
