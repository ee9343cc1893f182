#pragma once

#include "commands/cluster.h"
#include "commands/job_registers.h"
#include "commands/wire_client.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Everything that explain-commit finds out, before it is printed.
namespace sluice::tools {

struct ExplainOptions {
  Connection connection;
  Output output;
  std::string job, group, topic, transactional_id;
  std::vector<std::string>
      topics;  ///< whose last stable offset is in question; empty: those of the open transaction
};

/// One who keeps the last stable offset of a partition from moving.
struct Holder {
  ActiveProducer producer;
  std::string transactional_id;  ///< empty: no coordinator knows the producer
};
struct HeldPartition {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t last_stable = 0, high_watermark = 0;
  std::vector<Holder> holders;
  std::string problem;  ///< why there is nothing to say; empty: none
};
struct Explanation {
  JobRegisters registers;
  std::string transactional_id;
  std::string coordinator;                      ///< host:port
  std::optional<TransactionState> transaction;  ///< none: the broker does not know the id
  std::string
      transactions_unknown;  ///< why the broker was not asked about transactions; empty: it was
  std::vector<HeldPartition> partitions;
  std::int64_t now_ms = 0;  ///< ages are counted to here
};

/// Asks the brokers. Works with the job down and its directory gone.
Result<Explanation> explain(const ExplainOptions& options);

}  // namespace sluice::tools
