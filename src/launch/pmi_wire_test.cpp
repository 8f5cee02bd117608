#include "launch/pmi_wire.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(PmiMessage, WordsAreFoundByKey) {
  const auto message = PmiMessage::parse("cmd=get_result rc=0 msg=success value=a=b");
  ASSERT_TRUE(message);
  EXPECT_EQ(message.value().command(), "get_result");
  EXPECT_EQ(message.value().number("rc"), 0);
  EXPECT_EQ(message.value().find("value"), "a=b");
  EXPECT_FALSE(message.value().find("key"));
  EXPECT_FALSE(message.value().number("msg"));
}

TEST(PmiMessage, OrderDoesNotMatter) {
  const auto message = PmiMessage::parse("rc=-1 cmd=put_result");
  ASSERT_TRUE(message);
  EXPECT_EQ(message.value().command(), "put_result");
  EXPECT_EQ(message.value().number("rc"), -1);
}

TEST(PmiMessage, MultilineAndBareWords) {
  EXPECT_TRUE(PmiMessage::parse("mcmd=spawn").value().multiline());
  EXPECT_TRUE(PmiMessage::parse("endcmd").value().find("endcmd"));
  EXPECT_EQ(PmiMessage::parse("").value().command(), "");
  EXPECT_FALSE(PmiMessage::parse("=x"));
}

TEST(PmiStream, LinesAndBytesAcrossPieces) {
  PmiStream stream;
  stream.append("cmd=a\ncmd");
  EXPECT_EQ(stream.take_line(), "cmd=a");
  EXPECT_FALSE(stream.take_line());
  stream.append("=b\nxyz");
  EXPECT_EQ(stream.take_line(), "cmd=b");
  EXPECT_FALSE(stream.take_bytes(4));
  stream.append("\n");
  EXPECT_EQ(stream.take_bytes(4), "xyz\n");
  EXPECT_EQ(stream.waiting(), 0u);
}

}  // namespace
}  // namespace hawser
