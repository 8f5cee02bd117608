#include "process/text_knobs.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

// What is said of `NAME=value`; nothing if it is good.
std::string complaint(std::string_view entry) {
  const std::string_view entries[] = {entry};
  const auto knobs = parse_knobs(entries);
  if (!knobs) return knobs.error().text;
  Result<> checked = check_text_knobs(knobs.value());
  if (checked) checked = check_machine_knobs(knobs.value());
  return checked ? "" : checked.error().text;
}

TEST(TextKnobs, EveryOneIsChecked) {
  for (const KnobInfo& knob : knob_infos()) {
    if (knob.kind != KnobKind::text) continue;
    int found = 0;
    for (const TextKnob& known : text_knobs()) found += known.variable == knob.variable ? 1 : 0;
    EXPECT_EQ(found, 1) << knob.variable;
  }
}

TEST(TextKnobs, DefaultsAndExamplesAreGood) {
  EXPECT_EQ(complaint("HAWSER_STATS=on"), "");
  EXPECT_EQ(complaint("HAWSER_RAIL_POLICY=bss(12,3)"), "");
  EXPECT_EQ(complaint("HAWSER_RAIL_MIGRATION=2/0,1/3"), "");
  EXPECT_EQ(complaint("HAWSER_COLLECTIVE_ALGORITHM=allreduce=ring,broadcast=binomial"), "");
  EXPECT_EQ(complaint("HAWSER_SOCKET_ADDRESS=127.0.0.1"), "");
  EXPECT_EQ(complaint("HAWSER_THREAD_LANES=3"), "");
  EXPECT_EQ(complaint("HAWSER_EVENT_LOG=events.%r"), "");
}

TEST(TextKnobs, ComplaintsNameTheVariableTheValueAndWhatThereIs) {
  const auto begins = [](std::string_view entry, std::string_view beginning) {
    const std::string text = complaint(entry);
    EXPECT_TRUE(text.starts_with(beginning)) << text;
  };
  begins("HAWSER_RAIL_POLICY=robin",
         "HAWSER_RAIL_POLICY=robin: no such policy; must be one of auto, binding,");
  begins("HAWSER_RAIL_POLICY=", "HAWSER_RAIL_POLICY=: no such policy; must be one of auto, ");
  begins("HAWSER_RAIL_POLICY=even(2)",
         "HAWSER_RAIL_POLICY=even(2): more numbers than it takes; must be one of");
  begins("HAWSER_RAIL_MIGRATION=sometimes", "HAWSER_RAIL_MIGRATION=sometimes: must be auto, off, or a list");
  begins("HAWSER_COLLECTIVE_ALGORITHM=allreduce=rng",
         "HAWSER_COLLECTIVE_ALGORITHM=allreduce=rng: 'allreduce=rng' must be allreduce= one of ");
  begins("HAWSER_COLLECTIVE_ALGORITHM=allreduce=ring,reduse=ring",
         "HAWSER_COLLECTIVE_ALGORITHM=allreduce=ring,reduse=ring: 'reduse=ring' must have the form "
         "operation=algorithm; "
         "operations are ");
  begins("HAWSER_THREAD_LANES=8", "HAWSER_THREAD_LANES=8: must be auto or a number from 0 to 7");
  begins("HAWSER_SOCKET_ADDRESS=node7", "HAWSER_SOCKET_ADDRESS=node7: must be an IPv4 address");
  begins("HAWSER_RAIL_ETHERNET=nowhere0",
         "HAWSER_RAIL_ETHERNET=nowhere0: the interface 'nowhere0' does not exist here; must be all, or some "
         "of ");
}

}  // namespace
}  // namespace hawser
