#include "os/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/file_descriptor.h"

namespace hawser {
namespace {

std::string all_of(const FileDescriptor& from) {
  std::string text;
  char byte;
  while (read(from.get(), &byte, 1) == 1) text += byte;
  return text;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) out = FileDescriptor(ends[0]), in = FileDescriptor(ends[1]);
  }
  FileDescriptor out, in;
};

std::string output_of(Program program) {
  Pipe pipe;
  program.output = pipe.in.get();
  auto child = ChildProcess::start(program);
  EXPECT_TRUE(child) << (child ? "" : child.error().text);
  pipe.in = {};
  const std::string text = all_of(pipe.out);
  EXPECT_EQ(child.value().await().exit_code(), 0);
  return text;
}

TEST(ChildProcess, EndsWithItsExitCode) {
  auto child = ChildProcess::start({.words = {"/bin/sh", "-c", "exit 3"}});
  ASSERT_TRUE(child);
  const ChildEnd end = child.value().await();
  EXPECT_FALSE(end.signaled);
  EXPECT_EQ(end.exit_code(), 3);
  EXPECT_TRUE(child.value().ended());
}

TEST(ChildProcess, EndsByASignal) {
  auto child = ChildProcess::start({.words = {"/bin/sh", "-c", "kill -TERM $$"}});
  ASSERT_TRUE(child);
  const ChildEnd end = child.value().await();
  EXPECT_TRUE(end.signaled);
  EXPECT_EQ(end.exit_code(), 128 + SIGTERM);
}

TEST(ChildProcess, SaysAtOnceWhatCannotBeRun) {
  const auto nothing = ChildProcess::start({.words = {"/nowhere/program"}});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().text, "cannot run /nowhere/program: No such file or directory");
  const auto nowhere = ChildProcess::start({.words = {"/bin/true"}, .folder = "/nowhere"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().text, "cannot run /bin/true: /nowhere: No such file or directory");
}

TEST(ChildProcess, HasWhatItIsGiven) {
  EXPECT_EQ(output_of({.words = {"/bin/sh", "-c", "pwd; echo $GIVEN $HOME"},
                       .environment = {{"GIVEN", "a b"}, {"HOME", "/else"}},
                       .folder = "/"}),
            "/\na b /else\n");
}

TEST(ChildProcess, KeepsOnlyTheDescriptorsThatItInherits) {
  Pipe kept, other;
  const int inherited[] = {kept.in.get()};
  const std::string test = "test -e /proc/self/fd/" + std::to_string(kept.in.get()) +
                           " && ! test -e /proc/self/fd/" + std::to_string(other.in.get()) + " && echo right";
  EXPECT_EQ(output_of({.words = {"/bin/sh", "-c", test}, .inherited = inherited}), "right\n");
}

TEST(ChildProcess, IsKilledWhenNobodyWaitsForIt) {
  Pipe pipe;
  const int inherited[] = {pipe.in.get()};
  {
    auto child =
        ChildProcess::start({.words = {"/bin/sleep", "1000"}, .inherited = inherited, .dependent = true});
    ASSERT_TRUE(child);
    EXPECT_FALSE(child.value().ended());
  }
  pipe.in = {};
  EXPECT_EQ(all_of(pipe.out), "");  // comes to an end when nobody can write any more
}

TEST(ChildProcess, WritesToAFile) {
  char name[] = "/tmp/hawser-child-XXXXXX";
  const FileDescriptor file(mkstemp(name));
  auto child =
      ChildProcess::start({.words = {"/bin/sh", "-c", "cat; echo out; echo err >&2"}, .output_file = name});
  ASSERT_TRUE(child);
  EXPECT_EQ(child.value().await().exit_code(), 0);
  EXPECT_EQ(all_of(file), "out\nerr\n");
  unlink(name);
}

}  // namespace
}  // namespace hawser
