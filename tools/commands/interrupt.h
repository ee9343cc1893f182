#pragma once

/// SIGINT and SIGTERM as a question that a loop asks: the first one asks for an orderly end, a
/// second one ends the process at once. One Interrupt a process, made before the command's threads
/// are.
namespace sluice::tools {

class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();
  [[nodiscard]] static bool asked() noexcept;
};

}  // namespace sluice::tools
