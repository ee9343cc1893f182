#include "commands/wire.h"
#include "commands/wire_client.h"

// The layouts of the answers, version by version as in the protocol guide of Apache Kafka.
namespace sluice::tools {

bool read_coordinator(std::string_view body,
                      Coordinator& coordinator) {  // FindCoordinator, version 3
  WireReader in(body);
  in.i32();  // throttle time
  coordinator.error = in.i16();
  coordinator.error_message = in.compact_string();
  in.i32();  // node
  coordinator.host = in.compact_string();
  coordinator.port = in.i32();
  in.skip_tags();
  return in.ok();
}

bool read_transactions(std::string_view body,
                       std::vector<TransactionState>& states) {  // DescribeTransactions, 0
  WireReader in(body);
  in.i32();  // throttle time
  for (std::size_t count = in.array(); count > 0 && in.ok(); --count) {
    TransactionState& state = states.emplace_back();
    state.error = in.i16();
    state.transactional_id = in.compact_string();
    state.state = in.compact_string();
    state.timeout_ms = in.i32();
    state.start_ms = in.i64();
    state.producer_id = in.i64();
    state.producer_epoch = in.i16();
    for (std::size_t topics = in.array(); topics > 0 && in.ok(); --topics) {
      TransactionState::Topic& topic = state.topics.emplace_back();
      topic.name = in.compact_string();
      for (std::size_t partitions = in.array(); partitions > 0 && in.ok(); --partitions) {
        topic.partitions.push_back(in.i32());
      }
      in.skip_tags();
    }
    in.skip_tags();
  }
  in.skip_tags();
  return in.ok();
}

bool read_listed(std::string_view body, std::int16_t& error,
                 std::vector<ListedTransaction>& listed) {  // ListTransactions, 0
  WireReader in(body);
  in.i32();  // throttle time
  error = in.i16();
  for (std::size_t count = in.array(); count > 0 && in.ok(); --count)
    in.compact_string();  // unknown filters
  for (std::size_t count = in.array(); count > 0 && in.ok(); --count) {
    ListedTransaction& transaction = listed.emplace_back();
    transaction.transactional_id = in.compact_string();
    transaction.producer_id = in.i64();
    transaction.state = in.compact_string();
    in.skip_tags();
  }
  in.skip_tags();
  return in.ok();
}

bool read_producers(std::string_view body,
                    std::vector<PartitionProducers>& partitions) {  // DescribeProducers, 0
  WireReader in(body);
  in.i32();  // throttle time
  for (std::size_t topics = in.array(); topics > 0 && in.ok(); --topics) {
    in.compact_string();  // the topic: one was asked for
    for (std::size_t count = in.array(); count > 0 && in.ok(); --count) {
      PartitionProducers& partition = partitions.emplace_back();
      partition.partition = in.i32();
      partition.error = in.i16();
      in.compact_string();  // message
      for (std::size_t producers = in.array(); producers > 0 && in.ok(); --producers) {
        ActiveProducer& producer = partition.producers.emplace_back();
        producer.producer_id = in.i64();
        producer.producer_epoch = in.i32();
        in.i32();  // last sequence
        producer.last_timestamp_ms = in.i64();
        in.i32();  // coordinator epoch
        producer.transaction_start_offset = in.i64();
        in.skip_tags();
      }
      in.skip_tags();
    }
    in.skip_tags();
  }
  in.skip_tags();
  return in.ok();
}

}  // namespace sluice::tools
