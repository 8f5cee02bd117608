#include "launch/mpiexec/line_merger.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(LineMerger, LinesStayWhole) {
  LineMerger merger(2, false);
  merger.feed(0, "he", 0);
  merger.feed(1, "world\n", 0);
  merger.feed(0, "llo\nne", 0);
  EXPECT_EQ(merger.output(), "world\nhello\n");
  merger.finish(0);
  EXPECT_EQ(merger.output(), "world\nhello\nne");
  merger.feed(1, "x\n", 0);
  EXPECT_EQ(merger.output(), "world\nhello\nne\nx\n");
}

TEST(LineMerger, Labels) {
  LineMerger merger(2, true);
  merger.feed(1, "a\nb\nc", 0);
  merger.feed(0, "x\n", 0);
  merger.finish(1);
  EXPECT_EQ(merger.output(), "[1] a\n[1] b\n[0] x\n[1] c");
}

TEST(LineMerger, APromptGetsThrough) {
  LineMerger merger(2, true);
  merger.feed(0, "name? ", 5);
  EXPECT_EQ(merger.next_flush(), 5 + partial_line_patience);
  merger.flush_stale(4 + partial_line_patience);
  EXPECT_EQ(merger.output(), "");
  merger.flush_stale(5 + partial_line_patience);
  EXPECT_EQ(merger.output(), "[0] name? ");
  EXPECT_EQ(merger.next_flush(), never);
  merger.feed(0, "thanks\n", 0);
  EXPECT_EQ(merger.output(), "[0] name? thanks\n");
}

TEST(LineMerger, OneStreamGoesStraightThrough) {
  LineMerger merger(1, false);
  merger.feed(0, "no newline", 0);
  EXPECT_EQ(merger.output(), "no newline");
}

TEST(LineMerger, EndlessLinesAreNotKept) {
  LineMerger merger(2, false);
  merger.feed(0, std::string(longest_held_line + 1, 'x'), 0);
  EXPECT_EQ(merger.output().size(), longest_held_line + 1);
  merger.feed(0, "y\n", 0);
  EXPECT_EQ(merger.output().back(), '\n');
  EXPECT_EQ(merger.output()[longest_held_line + 1], 'y');
}

}  // namespace
}  // namespace hawser
