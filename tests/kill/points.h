#pragma once

#include <array>
#include <string_view>

namespace sluice::testing {

/// Every named step at which the process can be made to kill itself (io/base/kill_point.h), in the order of the protocol.
/// The kill run fails when one of them never fires, or when the sources name one that is not here (ctest -R style.kill_points).
inline constexpr std::array kKillPoints = {
    // Recovery, steps 1 to 6.
    std::string_view("recovery.locked"), std::string_view("recovery.registers_read"),
    std::string_view("recovery.initialised"), std::string_view("recovery.claim_offsets"),
    std::string_view("recovery.claimed"), std::string_view("recovery.confirmed"), std::string_view("recovery.restored"),
    // Steps 1 and 2.
    std::string_view("begin.done"), std::string_view("barrier.passed"), std::string_view("barrier.acknowledged"),
    // Step 3.
    std::string_view("checkpoint.file_written"), std::string_view("checkpoint.file_synced"),
    std::string_view("manifest.written"), std::string_view("manifest.synced"), std::string_view("manifest.renamed"),
    std::string_view("checkpoint.durable"),
    // Steps 4 to 6.
    std::string_view("reports.in"), std::string_view("offsets.sent"), std::string_view("offsets.decision"),
    std::string_view("offsets.positions"), std::string_view("commit.before"), std::string_view("commit.sent"),
    std::string_view("commit.acknowledged"),
    // Steps 7 to 9.
    std::string_view("notify.sent"), std::string_view("taint.initialised"), std::string_view("taint.claimed"),
    std::string_view("taint.confirmed"), std::string_view("hold.released"), std::string_view("retention.deleted"),
};

}  // namespace sluice::testing
