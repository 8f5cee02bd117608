#include "base/printable.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(Printable, KeepsTextAndReplacesWhatControlsATerminal) {
  EXPECT_EQ(printable("plain text ~"), "plain text ~");
  EXPECT_EQ(printable("Gr\xc3\xb6\xc3\x9f"
                      "e \xe2\x86\x92 \xf0\x9f\x9a\xa2"),
            "Gr\xc3\xb6\xc3\x9f"
            "e \xe2\x86\x92 \xf0\x9f\x9a\xa2");
  EXPECT_EQ(printable("\x1b[2J\x07 two\nlines\x7f"), "?[2J? two?lines?");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "??31m");  // CSI as one character
}

TEST(Printable, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("\xc3"), "?");                 // cut off
  EXPECT_EQ(printable("\xe2\x86"), "??");            // cut off
  EXPECT_EQ(printable("\xc0\x9b[2J"), "??[2J");      // overlong ESC
  EXPECT_EQ(printable("\xe0\x80\x9b"), "???");       // likewise
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // beyond Unicode
}

}  // namespace
}  // namespace hawser
