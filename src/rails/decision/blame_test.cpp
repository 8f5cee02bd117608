#include "rails/decision/blame.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hawser {
namespace {

// Adapters of two ports: rails 0 and 1 are one's, 2 and 3 the other's, at both ends.
Witness of(std::uint16_t rail, ProcessIndex peer, Testimony says, std::uint16_t path = 0) {
  return {rail, static_cast<std::uint16_t>(rail / 2), peer, rail, static_cast<std::uint16_t>(rail / 2), path,
          says};
}
constexpr Testimony none = Testimony::none, well = Testimony::well, silent = Testimony::silent,
                    failed = Testimony::failed;

Verdict verdict_on(const Witness& witness, const std::vector<Witness>& others) {
  return judge(witness, others);
}

TEST(Blame, nobody_to_compare_with_decides_nothing) {
  EXPECT_EQ(verdict_on(of(0, 1, failed), {}), Verdict::undecided);
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 2, none), of(1, 1, well), of(2, 2, failed)}),
            Verdict::undecided);
}

TEST(Blame, several_peers_on_one_port_are_the_port) {
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 2, failed), of(1, 2, well)}), Verdict::local_port);
  // The others' retries have not run out yet.
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 2, silent), of(0, 3, none)}), Verdict::local_port);
}

TEST(Blame, several_ports_of_an_adapter_are_the_adapter) {
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 2, failed), of(1, 2, silent), of(2, 1, well)}),
            Verdict::local_adapter);
}

TEST(Blame, one_peer_while_others_get_through_is_the_remote_end) {
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 5, well)}), Verdict::remote_port);
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 5, well), of(1, 1, well), of(2, 1, failed)}),
            Verdict::remote_port);
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 5, well), of(1, 1, failed)}), Verdict::remote_adapter);
}

TEST(Blame, several_peers_are_not_the_local_port_if_one_gets_through) {
  EXPECT_EQ(verdict_on(of(0, 1, failed), {of(0, 2, failed), of(0, 3, failed), of(0, 77, well)}),
            Verdict::remote_port);
}

TEST(Blame, one_path_while_another_works_is_the_path) {
  EXPECT_EQ(verdict_on(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, none, 2)}), Verdict::path);
  EXPECT_EQ(verdict_on(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, well, 2), of(0, 3, failed, 2)}),
            Verdict::path);
}

TEST(Blame, one_path_to_several_peers_is_a_switch_on_it) {
  EXPECT_EQ(verdict_on(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, failed, 2), of(0, 2, well, 0)}),
            Verdict::network);
}

TEST(Blame, implicates_what_goes_through_the_same) {
  const Witness f = of(0, 1, failed, 2);
  const Witness all[] = {of(0, 1, none, 2), of(0, 1, none, 3), of(0, 2, none, 2), of(0, 2, none, 3),
                         of(1, 1, none, 2), of(1, 2, none, 2), of(2, 1, none, 2)};
  const auto implicates = [&](Verdict verdict) {
    std::string text;
    for (const Witness& w : all) text += implicated(verdict, f, w) ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(implicates(Verdict::undecided), "xx.....");
  EXPECT_EQ(implicates(Verdict::path), "x......");
  EXPECT_EQ(implicates(Verdict::network), "x.x....");
  EXPECT_EQ(implicates(Verdict::remote_port), "xx.....");
  EXPECT_EQ(implicates(Verdict::remote_adapter), "xx..x..");
  EXPECT_EQ(implicates(Verdict::local_port), "xxxx...");
  EXPECT_EQ(implicates(Verdict::local_adapter), "xxxxxx.");
}

TEST(Blame, has_a_name_for_each_verdict) {
  std::set<std::string> names;
  for (int i = 0; i < verdicts; ++i) names.insert(verdict_name(static_cast<Verdict>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(verdicts));
}

}  // namespace
}  // namespace hawser
