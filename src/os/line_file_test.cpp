#include "os/line_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hawser {
namespace {

TEST(LineFile, appends_whole_lines_to_the_file_that_the_pattern_names) {
  char folder[] = "/tmp/hawser_line_file_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string pattern = std::string(folder) + "/log.%j.%r.%p.%%";
  const std::string name = std::string(folder) + "/log.a_b.3." + std::to_string(getpid()) + ".%";
  for (int i = 0; i < 2; ++i) {
    auto sink = open_line_sink(pattern, 3, "a/b");
    ASSERT_TRUE(sink) << sink.error().text;
    sink.value()->write_line("line " + std::to_string(i));
  }
  std::ifstream file(name);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first, "line 0");
  EXPECT_EQ(second, "line 1");
  std::filesystem::remove_all(folder);
}

TEST(LineFile, says_what_is_wrong) {
  auto unknown = open_line_sink("/tmp/log.%x", 0, "");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("%x"), std::string::npos) << unknown.error().text;
  auto nowhere = open_line_sink("/nonexistent/folder/log", 0, "");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("/nonexistent/folder/log"), std::string::npos);
  EXPECT_TRUE(open_line_sink("stderr", 0, ""));
}

}  // namespace
}  // namespace hawser
