#include "commands/explanation.h"
#include "commands/json_output.h"
#include "commands/units.h"
#include <fmt/chrono.h>

#include <algorithm>

namespace sluice::tools {

namespace {

std::string age(std::int64_t now_ms, std::int64_t then_ms) {
  return fmt::format("{:.1f} s ago ({:%Y-%m-%dT%H:%M:%SZ})",
                     static_cast<double>(now_ms - then_ms) / 1e3,
                     fmt::gmtime(static_cast<std::time_t>(then_ms / 1000)));
}

bool is_open(const TransactionState& state) { return state.start_ms >= 0; }

std::string partitions_of(const TransactionState& state) {
  std::string text;
  for (const auto& topic : state.topics) {
    auto partitions = topic.partitions;
    std::sort(partitions.begin(), partitions.end());
    text +=
        fmt::format("{}{}[{}]", text.empty() ? "" : ", ", topic.name, fmt::join(partitions, ","));
  }
  return text.empty() ? "none yet" : text;
}

void print_registers(const Explanation& found) {
  const JobRegisters& registers = found.registers;
  fmt::print("registers    group {}, topic {}\n", registers.place.group, registers.place.topic);
  if (!registers.damage.ok()) {
    for (std::size_t at = 0; at < kafka::RegisterPlace::kPartitions; ++at) {
      const auto& commit = registers.committed[at];
      fmt::print("{:<13}offset {}, metadata \"{}\"\n", at == 0 ? "decision" : "owner",
                 commit.offset, commit.metadata);
    }
    fmt::print("damaged      {}\n", registers.damage.message());
    return;
  }
  const auto& [decision, owner, decided] = registers.decoded;
  if (!decision) {
    fmt::print("decision     none: no checkpoint of this job was decided\n");
  } else if (decision->reset) {
    fmt::print("decision     reset by --reset-decision, claim {}\n", decision->writer.to_string());
  } else {
    fmt::print("decision     checkpoint {} of job {}, written under claim {}\n", decision->epoch,
               decision->job_id, decision->writer.to_string());
    fmt::print("             digest {}; {}\n", decision->digest,
               decision->positions
                   ? fmt::format("its {} positions are in the group, there is no other state",
                                 *decision->positions)
                   : std::string("its state is in the job's checkpoint directory"));
  }
  if (decision) {
    fmt::print("             committed {}\n", registers.decided_ms
                                                  ? age(found.now_ms, *registers.decided_ms)
                                                  : std::string("at a time that is not known"));
  }
  if (owner) {
    const bool same = decision && decision->writer == owner->claim;
    fmt::print("owner        claim {}, which knew of checkpoint {}; {}\n", owner->claim.to_string(),
               owner->known, same ? "it wrote the decision" : "it has not decided anything yet");
    fmt::print("checksums    fit\n");
  } else {
    fmt::print("owner        none: no instance has claimed this job\n");
  }
}

void print_transaction(const Explanation& found) {
  fmt::print("transaction  id {}: ", found.transactional_id);
  if (!found.transactions_unknown.empty()) {
    fmt::print("not asked, {}\n", found.transactions_unknown);
  } else if (!found.transaction) {
    fmt::print("not known to the broker ({})\n", found.coordinator);
  } else {
    const TransactionState& state = *found.transaction;
    fmt::print("{}, producer {} epoch {}, coordinator {}\n", state.state, state.producer_id,
               state.producer_epoch, found.coordinator);
    if (!is_open(state)) return;
    if (state.state.starts_with("Prepare")) {
      fmt::print(
          "             its end is decided; the broker is writing that into the partitions\n");
      return;
    }
    fmt::print(
        "             open; began {}; aborted by the broker in {:.1f} s (timeout {:.1f} s)\n",
        age(found.now_ms, state.start_ms),
        static_cast<double>(state.start_ms + state.timeout_ms - found.now_ms) / 1e3,
        state.timeout_ms / 1e3);
    fmt::print("             partitions {}\n", partitions_of(state));
    fmt::print(
        "             a restart of the job ends it at once and goes on from the decision above\n");
  }
}

void print_partitions(const Explanation& found) {
  if (found.partitions.empty()) {
    fmt::print(
        "last stable  no partition to look at: no transaction is open; --topics names some\n");
    return;
  }
  for (const HeldPartition& held : found.partitions) {
    fmt::print("last stable  {}[{}] ", held.topic, held.partition);
    if (!held.problem.empty()) {
      fmt::print("not known: {}\n", held.problem);
      continue;
    }
    const std::int64_t behind = held.high_watermark - held.last_stable;
    if (behind <= 0) {
      fmt::print("{} = high watermark: nothing is held back\n", held.last_stable);
    } else {
      fmt::print("{}, high watermark {}: {} offsets held back\n", held.last_stable,
                 held.high_watermark, with_commas(static_cast<std::uint64_t>(behind)));
    }
    for (const Holder& holder : held.holders) {
      fmt::print("             by producer {} epoch {}, {}, since offset {}, last wrote {}\n",
                 holder.producer.producer_id, holder.producer.producer_epoch,
                 holder.transactional_id.empty()
                     ? std::string("of no known transactional id (hanging)")
                     : "transactional id " + holder.transactional_id,
                 holder.producer.transaction_start_offset,
                 age(found.now_ms, holder.producer.last_timestamp_ms));
    }
  }
}

void json_registers(JsonOutput& out, const Explanation& found) {
  const JobRegisters& registers = found.registers;
  const auto raw = [&](const kafka::OffsetAndMetadata& commit) {
    out.field("topic", commit.partition.topic);
    out.field("partition", commit.partition.partition);
    out.field("offset", commit.offset);
    out.field("metadata", commit.metadata);
  };
  out.field("group", registers.place.group);
  out.field("checksums", registers.absent() ? "absent" : registers.damage.ok() ? "fit" : "damaged");
  if (registers.damage.ok())
    out.null_field("damage");
  else
    out.field("damage", registers.damage.message());
  out.object("decision", [&] {
    raw(registers.committed[0]);
    if (const auto& decision = registers.decoded.decision; decision && registers.damage.ok()) {
      out.field("job", decision->job_id);
      out.field("checkpoint", std::uint64_t{decision->epoch.value()});
      out.field("writer", decision->writer.to_string());
      out.field("digest", decision->digest);
      out.field("reset", decision->reset);
      if (decision->positions)
        out.field("positions", static_cast<std::uint64_t>(*decision->positions));
      else
        out.null_field("positions");
    }
    if (registers.decided_ms)
      out.field("committed_ms", *registers.decided_ms);
    else
      out.null_field("committed_ms");
  });
  out.object("owner", [&] {
    raw(registers.committed[1]);
    if (const auto& owner = registers.decoded.owner; owner && registers.damage.ok()) {
      out.field("job", owner->job_id);
      out.field("claim", owner->claim.to_string());
      out.field("known_checkpoint", std::uint64_t{owner->known.value()});
    }
  });
}

void json_transaction(JsonOutput& out, const Explanation& found) {
  out.field("id", found.transactional_id);
  out.field("known", found.transaction.has_value());
  if (found.transactions_unknown.empty())
    out.null_field("not_asked");
  else
    out.field("not_asked", found.transactions_unknown);
  if (!found.transaction) return;
  const TransactionState& state = *found.transaction;
  out.field("coordinator", found.coordinator);
  out.field("state", state.state);
  out.field("open", is_open(state));
  out.field("producer_id", state.producer_id);
  out.field("producer_epoch", static_cast<int>(state.producer_epoch));
  out.field("timeout_ms", state.timeout_ms);
  if (is_open(state)) {
    out.field("start_ms", state.start_ms);
    out.field("age_ms", found.now_ms - state.start_ms);
  }
  out.array("topics", [&] {
    for (const auto& topic : state.topics) {
      out.object([&] {
        out.field("topic", topic.name);
        out.array("partitions", [&] {
          for (const std::int32_t partition : topic.partitions) out.value(partition);
        });
      });
    }
  });
}

void print_json(const ExplainOptions& options, const Explanation& found) {
  JsonOutput out("explain-commit");
  out.field("job", options.job);
  out.field("now_ms", found.now_ms);
  out.object("registers", [&] { json_registers(out, found); });
  out.object("transaction", [&] { json_transaction(out, found); });
  out.array("partitions", [&] {
    for (const HeldPartition& held : found.partitions) {
      out.object([&] {
        out.field("topic", held.topic);
        out.field("partition", held.partition);
        if (!held.problem.empty()) return out.field("problem", held.problem);
        out.field("last_stable", held.last_stable);
        out.field("high_watermark", held.high_watermark);
        out.array("held_by", [&] {
          for (const Holder& holder : held.holders) {
            out.object([&] {
              out.field("producer_id", holder.producer.producer_id);
              out.field("producer_epoch", holder.producer.producer_epoch);
              if (holder.transactional_id.empty())
                out.null_field("transactional_id");
              else
                out.field("transactional_id", holder.transactional_id);
              out.field("since_offset", holder.producer.transaction_start_offset);
              out.field("last_timestamp_ms", holder.producer.last_timestamp_ms);
            });
          }
        });
      });
    }
  });
  out.print();
}

Result<ExitStatus> explain_commit(const ExplainOptions& options) {
  const auto found = explain(options);
  if (!found.ok()) return found.status();
  if (found->registers.absent() && !found->transaction &&
      found->registers.committed.size() == kafka::RegisterPlace::kPartitions) {
    return Status(Code::kInvalid,
                  fmt::format("the broker knows no job \"{}\": group {} has no registers{}; "
                              "correct --job, --group or "
                              "--transactional-id",
                              options.job, found->registers.place.group,
                              found->transactions_unknown.empty()
                                  ? fmt::format(", and there is no transactional id {}",
                                                found->transactional_id)
                                  : std::string()));
  }
  if (options.output.json) {
    print_json(options, *found);
  } else {
    fmt::print("job          {}\n", options.job);
    print_registers(*found);
    print_transaction(*found);
    print_partitions(*found);
  }
  return found->registers.damage.ok() ? ExitStatus::kDone : ExitStatus::kData;
}

}  // namespace

Command add_explain_commit(CLI::App& root) {
  CLI::App& app = *root.add_subcommand(
      "explain-commit",
      "Say what a job has decided, what it left open, and what holds readers back");
  const auto options = std::make_shared<ExplainOptions>();
  add_connection_options(app, options->connection);
  app.add_option("--job", options->job, "Name of the job")->required();
  app.add_option("--group", options->group, "Its private group (default: sluice-<job>)");
  app.add_option("--topic", options->topic,
                 "Topic of its registers (default: sluice-<job>-decisions)");
  app.add_option("--transactional-id", options->transactional_id,
                 "Of its sink (default: sluice-<job>)")
      ->type_name("ID");
  app.add_option("--topics", options->topics,
                 "Topics whose last stable offset is in question (default: those of the job's open "
                 "transaction)")
      ->delimiter(',');
  app.add_flag("--json", options->output.json, "Print the result as one JSON object on stdout");
  app.footer(
      R"(Asks the brokers alone: works with the job down and its directory gone, and changes nothing. Questions about
transactions need Kafka 3.0 or later and a plaintext listener; with TLS or SASL the registers are still explained.

Examples:
  sluice explain-commit --brokers 127.0.0.1:9092 --job identity-rewrite
  sluice explain-commit --brokers 127.0.0.1:9092 --job identity-rewrite --topics events-clean,events-dead --json

Exit status: 0 explained · 1 an answer made no sense · 2 usage · 65 a register is damaged · 69 brokers unreachable ·
77 refused by the broker's authorisation · 78 no such job or topic, or a wrong property)");
  return {&app, [options] { return explain_commit(*options); }};
}

}  // namespace sluice::tools
