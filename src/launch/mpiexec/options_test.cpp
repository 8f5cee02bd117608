#include "launch/mpiexec/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/mpiexec/placement.h"

namespace hawser {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Result<JobOptions> parse(std::vector<std::string_view> words) { return parse_options(words); }
std::string error_of(std::vector<std::string_view> words) {
  const auto result = parse_options(words);
  return result ? "no error" : result.error().text;
}

TEST(Options, ProgramAndItsArgumentsAreLeftAlone) {
  const auto job = parse({"-n", "4", "prog", "-n", "7", "--help"});
  ASSERT_TRUE(job);
  ASSERT_EQ(job.value().programs.size(), 1u);
  EXPECT_EQ(job.value().programs[0].ranks, 4);
  EXPECT_THAT(job.value().programs[0].command, ElementsAre("prog", "-n", "7", "--help"));
}

TEST(Options, SpellingsOfOneOption) {
  for (const std::string_view word : {"-np", "--np", "-n", "--n"})
    EXPECT_EQ(parse({word, "3", "p"}).value().programs[0].ranks, 3);
  EXPECT_EQ(parse({"--np=3", "p"}).value().programs[0].ranks, 3);
  EXPECT_TRUE(parse({"--label", "p"}).value().label);
  EXPECT_TRUE(parse({"-l", "p"}).value().label);
  EXPECT_TRUE(parse({"--survive", "p"}).value().survive);
}

TEST(Options, SeveralPrograms) {
  const auto job = parse({"-n", "2", "-env", "A", "1", "a", "x", ":", "-n", "1", "-wdir", "/tmp", "b"});
  ASSERT_TRUE(job);
  ASSERT_EQ(job.value().programs.size(), 2u);
  EXPECT_THAT(job.value().programs[0].command, ElementsAre("a", "x"));
  EXPECT_THAT(job.value().programs[0].environment, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(job.value().programs[1].working_directory, "/tmp");
  EXPECT_TRUE(job.value().programs[1].environment.empty());
}

TEST(Options, Environment) {
  const auto job = parse({"-x", "A", "-x", "B=2=3", "-genv", "C", "", "p"});
  ASSERT_TRUE(job);
  EXPECT_THAT(job.value().exported, ElementsAre("A"));
  EXPECT_THAT(job.value().environment, ElementsAre(Pair("B", "2=3"), Pair("C", "")));
}

TEST(Options, HostsBindStdinTimeout) {
  const auto job = parse({"-hosts", "a:2,b", "--bind", "none", "--stdin", "none", "--timeout", "5", "p"});
  ASSERT_TRUE(job);
  ASSERT_EQ(job.value().hosts.size(), 2u);
  EXPECT_EQ(job.value().hosts[0].name, "a");
  EXPECT_EQ(job.value().hosts[0].slots, 2);
  EXPECT_EQ(job.value().hosts[1].slots, 0);
  EXPECT_EQ(job.value().bind, BindMode::none);
  EXPECT_EQ(job.value().stdin_rank, -1);
  EXPECT_EQ(job.value().timeout, 5 * second);
}

TEST(Options, MistakesAreExplained) {
  EXPECT_THAT(error_of({}), HasSubstr("no program"));
  EXPECT_THAT(error_of({"-n", "2"}), HasSubstr("no program"));
  EXPECT_THAT(error_of({"p", ":"}), HasSubstr("no program"));
  EXPECT_THAT(error_of({"-n"}), HasSubstr("-n needs N"));
  EXPECT_THAT(error_of({"-n", "0", "p"}), HasSubstr("-n 0"));
  EXPECT_THAT(error_of({"-n", "two", "p"}), HasSubstr("two"));
  EXPECT_THAT(error_of({"--lable", "p"}), HasSubstr("--label"));
  EXPECT_THAT(error_of({"--label=3", "p"}), HasSubstr("unknown option"));
  EXPECT_THAT(error_of({"-hosts", "a,,b", "p"}), HasSubstr("has no name"));
  EXPECT_THAT(error_of({"-hosts", "a,a", "p"}), HasSubstr("twice"));
  EXPECT_THAT(error_of({"--bind", "socket", "p"}), HasSubstr("core, none or auto"));
  EXPECT_THAT(error_of({"-genv", "A=1", "2", "p"}), HasSubstr("NAME VALUE"));
}

TEST(Options, HelpNamesEveryOptionAndNeedsNoProgram) {
  EXPECT_EQ(parse({"--help"}).value().action, JobOptions::Action::help);
  EXPECT_EQ(parse({"-V"}).value().action, JobOptions::Action::version);
  EXPECT_THAT(help_text(), HasSubstr("-n, -np N"));
  EXPECT_THAT(help_text(), HasSubstr("--wdir"));
}

TEST(Options, HostFile) {
  const auto hosts = parse_host_file("# nodes\na:2\n\nb slots=3 # big\nc\n");
  ASSERT_TRUE(hosts);
  ASSERT_EQ(hosts.value().size(), 3u);
  EXPECT_EQ(hosts.value()[1].name, "b");
  EXPECT_EQ(hosts.value()[1].slots, 3);
  EXPECT_FALSE(parse_host_file("# nothing\n"));
}

std::vector<std::int32_t> nodes(std::vector<std::string_view> words) {
  return place_ranks(parse_options(words).value(), "here").value().node_of_rank;
}

TEST(Placement, WithoutHostsAllShareOneNode) { EXPECT_THAT(nodes({"-n", "3", "p"}), ElementsAre(0, 0, 0)); }

TEST(Placement, HostsAreFilledEvenlyOrBySlots) {
  EXPECT_THAT(nodes({"-n", "4", "-hosts", "a,b", "p"}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(nodes({"-n", "5", "-hosts", "a,b", "p"}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(nodes({"-n", "3", "-hosts", "a:1,b:2", "p"}), ElementsAre(0, 1, 1));
  EXPECT_THAT(nodes({"-n", "5", "-ppn", "1", "-hosts", "a,b", "p"}), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(nodes({"-hosts", "a:1,b:2", "p"}), ElementsAre(0, 1, 1));
  EXPECT_THAT(nodes({"-n", "1", "-hosts", "a,b", "p"}), ElementsAre(0));
}

TEST(Placement, MoreRanksThanSlotsAreRefusedUnlessWanted) {
  const auto refused = place_ranks(parse({"-n", "4", "-hosts", "a:1,b:2", "p"}).value(), "here");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("4 ranks, but the hosts have only 3 slots"));
  EXPECT_THAT(nodes({"-n", "4", "--oversubscribe", "-hosts", "a:1,b:2", "p"}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(nodes({"-n", "4", "-ppn", "1", "-hosts", "a:1,b:2", "p"}), ElementsAre(0, 1, 0, 1));
}

TEST(Placement, ProgramsFollowEachOther) {
  const auto placement = place_ranks(parse({"-n", "2", "a", ":", "b"}).value(), "here").value();
  EXPECT_THAT(placement.program_of_rank, ElementsAre(0, 0, 1));
  EXPECT_THAT(placement.host_names, ElementsAre("here"));
  EXPECT_EQ(placement.universe_size, 3);
}

TEST(Placement, StdinRankMustExist) {
  EXPECT_FALSE(place_ranks(parse({"-n", "2", "--stdin", "2", "p"}).value(), "here"));
}

}  // namespace
}  // namespace hawser
