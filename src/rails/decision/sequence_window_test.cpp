#include "rails/decision/sequence_window.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

using Arrival = SequenceWindow::Arrival;
using Acknowledgement = SequenceWindow::Acknowledgement;

TEST(SequenceWindow, IsClosedWhenThePeerLacksAWindow) {
  SequenceWindow window;
  for (std::uint32_t i = 0; i < packet_window; ++i) {
    ASSERT_TRUE(window.open());
    EXPECT_EQ(window.take(), i);
  }
  EXPECT_FALSE(window.open());
  EXPECT_EQ(window.acknowledge(1), Acknowledgement::news);
  EXPECT_TRUE(window.open());
  EXPECT_EQ(window.under_way(), packet_window - 1);
  EXPECT_TRUE(window.acknowledged(0));
  EXPECT_FALSE(window.acknowledged(1));
}

TEST(SequenceWindow, RefusesAnAcknowledgementOfWhatWasNotSent) {
  SequenceWindow window;
  window.take();
  EXPECT_EQ(window.acknowledge(2), Acknowledgement::refused);
  EXPECT_EQ(window.under_way(), 1u);
  EXPECT_EQ(window.acknowledge(1), Acknowledgement::news);
  EXPECT_EQ(window.acknowledge(1), Acknowledgement::known);
  EXPECT_EQ(window.acknowledge(0), Acknowledgement::known) << "a late one";
}

TEST(SequenceWindow, SaysWhatAnArrivalIs) {
  SequenceWindow window;
  window.deliver();
  EXPECT_EQ(window.judge(0), Arrival::duplicate);
  EXPECT_EQ(window.judge(1), Arrival::next);
  EXPECT_EQ(window.judge(2), Arrival::early);
  EXPECT_EQ(window.judge(packet_window), Arrival::early);
  EXPECT_EQ(window.judge(packet_window + 1), Arrival::outside);
}

TEST(SequenceWindow, OwesACreditAfterHalfAWindow) {
  SequenceWindow window;
  for (std::uint32_t i = 1; i < packet_window / 2; ++i) window.deliver();
  EXPECT_FALSE(window.owes_much());
  window.deliver();
  EXPECT_TRUE(window.owes_much());
  window.set_credit_due(true);
  window.note_acknowledged_to_peer();
  EXPECT_FALSE(window.owes_much());
  EXPECT_FALSE(window.credit_due());
  EXPECT_EQ(window.acknowledged_to_peer(), packet_window / 2);
}

TEST(SequenceWindow, OwesForLongOnlyWhatWasNotToldBetweenTwoQuestions) {
  SequenceWindow window;
  EXPECT_FALSE(window.owes_for_long());
  window.deliver();
  EXPECT_TRUE(window.owes_for_long());
  window.note_acknowledged_to_peer();
  window.deliver();
  EXPECT_FALSE(window.owes_for_long()) << "it was told in between";
  EXPECT_TRUE(window.owes_for_long());
}

}  // namespace
}  // namespace hawser
