// Goal: a process dies at the named point, at the n-th time, by SIGKILL, and leaves the name in the log.
// Method: each case in a process of its own, as the setting is read once.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <sluice/io/base/kill_point.h>

#include "directory.h"

namespace sluice {
namespace {

void pass(const char* setting, const std::string& log) {
  if (setting != nullptr) ::setenv("SLUICE_KILL_AT", setting, 1);
  ::setenv("SLUICE_KILL_LOG", log.c_str(), 1);
  kill_point("other");
  kill_point("here");
  kill_point("here");
  ::_exit(3);
}

class KillPoint : public testing::Test {
 protected:
  std::string logged() {
    std::ifstream in(log);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  io::Directory directory;
  std::string log = (directory / "log").string();
};

TEST_F(KillPoint, WithoutASettingNothingHappens) {
  EXPECT_EXIT(pass(nullptr, log), testing::ExitedWithCode(3), "");
  EXPECT_EQ(logged(), "");
}
TEST_F(KillPoint, AnotherNameIsPassed) { EXPECT_EXIT(pass("nowhere", log), testing::ExitedWithCode(3), ""); }
TEST_F(KillPoint, TheFirstPassDiesAndIsLogged) {
  EXPECT_EXIT(pass("here", log), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(logged(), "here\n");
}
TEST_F(KillPoint, TheSecondPassDiesWhereAskedTo) {
  EXPECT_EXIT(pass("here:2", log), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(logged(), "here\n");
}
TEST_F(KillPoint, AThirdPassThatNeverComesDoesNotDie) {
  EXPECT_EXIT(pass("here:3", log), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace sluice
