#include "launch/pmix_bootstrap.h"

#include <gtest/gtest.h>

#include "launch/connect_to_launcher.h"
#include "launch/fence_frame.h"

namespace hawser {
namespace {

TEST(PmixBootstrap, LowestPeer) {
  EXPECT_EQ(lowest_peer("0,1,4", 4), 0);
  EXPECT_EQ(lowest_peer("7,3", 7), 3);
  EXPECT_EQ(lowest_peer("5", 5), 5);
  EXPECT_EQ(lowest_peer("0,1", 2), -1);
  EXPECT_EQ(lowest_peer("", 0), -1);
  EXPECT_EQ(lowest_peer("x", 0), -1);
}

Launcher find(std::vector<std::string_view> environment) { return find_launcher(environment); }

TEST(ConnectToLauncher, Order) {
  EXPECT_EQ(find({"HOME=/"}), Launcher::none);
  EXPECT_EQ(find({"PMI_FD=5"}), Launcher::pmi);
  EXPECT_EQ(find({"PMI_PORT=h:1"}), Launcher::pmi);
  EXPECT_EQ(find({"PMI_FD=5", "PMIX_NAMESPACE=x"}), Launcher::pmix);
  EXPECT_EQ(find({"PMI_FD=5", "HAWSER_JOB_ID=x"}), Launcher::mpiexec);
  EXPECT_EQ(find({"HAWSER_JOB_ID=x"}), Launcher::none);
}

TEST(ConnectToLauncher, SeveralTasksWithoutPmiAreAnError) {
  const std::vector<std::string_view> environment = {"SLURM_STEP_NUM_TASKS=4"};
  const auto bootstrap = connect_to_launcher(environment);
  ASSERT_FALSE(bootstrap);
  EXPECT_NE(bootstrap.error().text.find("srun --mpi=pmi2"), std::string::npos);
}

TEST(ConnectToLauncher, Singleton) {
  const auto bootstrap = connect_to_launcher({});
  ASSERT_TRUE(bootstrap);
  EXPECT_EQ(bootstrap.value()->layout().size, 1);
  EXPECT_TRUE(bootstrap.value()->put("a", "b"));
  EXPECT_TRUE(bootstrap.value()->fence());
  EXPECT_EQ(bootstrap.value()->get(0, "a").value(), "b");
  EXPECT_FALSE(bootstrap.value()->get(0, "c"));
}

TEST(FenceFrame, EntriesComeBack) {
  std::string frame;
  append_entry(frame, {3, "key", std::string_view("a\0b", 3)});
  append_entry(frame, {0, "", ""});
  const auto entries = parse_entries(frame);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries.value().size(), 2u);
  EXPECT_EQ(entries.value()[0].rank, 3);
  EXPECT_EQ(entries.value()[0].key, "key");
  EXPECT_EQ(entries.value()[0].value, std::string_view("a\0b", 3));
  EXPECT_FALSE(parse_entries(std::string_view(frame).substr(0, frame.size() - 1)));
  EXPECT_FALSE(parse_entries(std::string_view(frame).substr(0, 18)));
}

}  // namespace
}  // namespace hawser
