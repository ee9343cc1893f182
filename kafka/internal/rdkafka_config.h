#pragma once

#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::kafka::internal {

/// The configuration of one handle, in three layers: what the engine prefers, what the user says,
/// what the engine must have.
///
/// Errors     kInvalid, exit status 78: a property that the library does not know, a value that it
/// refuses, or a property
///            that belongs to the engine or would break what it guarantees, with the reason. A
///            value never appears in a message when the property's name says that it is a secret.
class RdConfig {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  /// Checks the user's properties: those of the cluster first, those of the handle on top.
  static Result<RdConfig> make(const ClientOptions& client, const Properties& handle);

  /// Set unless the user did. A property that this version of the library does not have is left
  /// out.
  void prefer(std::string_view name, std::string_view value);
  /// Set whatever the user said; make() has refused a contradiction.
  void require(std::string_view name, std::string_view value);
  /// What the user said; null when nothing.
  [[nodiscard]] const std::string* said(std::string_view name) const;
  /// Milliseconds, bytes and the like: the user's number, or `otherwise`.
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] RdConf take() && { return std::move(conf_); }

  [[nodiscard]] static bool known(std::string_view name);

 private:
  RdConf conf_;
  Properties said_;
};

[[nodiscard]] Result<RdConfig> consumer_config(const ClientOptions& client,
                                               const ConsumerOptions& options);
[[nodiscard]] Result<RdConfig> producer_config(const ClientOptions& client,
                                               const ProducerOptions& options);
[[nodiscard]] Result<RdConfig> admin_config(const ClientOptions& client, bool read_committed);

}  // namespace sluice::kafka::internal
