#include "os/ready_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace hawser {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) out = FileDescriptor(ends[0]), in = FileDescriptor(ends[1]);
  }
  FileDescriptor out, in;
};

TEST(ReadySet, TellsWhatIsReadyUntilItIsRead) {
  ReadySet set = ReadySet::make().value();
  Pipe pipe;
  ASSERT_TRUE(set.add(pipe.out, 7, true, false));
  EXPECT_TRUE(set.poll().empty());
  ASSERT_EQ(write(pipe.in.get(), "x", 1), 1);
  for (int turn = 0; turn < 2; ++turn) {
    const auto ready = set.wait(never);
    ASSERT_EQ(ready.size(), 1u);
    EXPECT_EQ(ready[0].key, 7u);
    EXPECT_TRUE(ready[0].readable && !ready[0].writable && !ready[0].failed);
  }
  char byte;
  ASSERT_EQ(read(pipe.out.get(), &byte, 1), 1);
  EXPECT_TRUE(set.poll().empty());
}

TEST(ReadySet, ClosedOtherEndFailsWhateverWasAskedFor) {
  ReadySet set = ReadySet::make().value();
  Pipe pipe;
  ASSERT_TRUE(set.add(pipe.out, 1, false, false));
  pipe.in = {};
  const auto ready = set.wait(never);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_TRUE(ready[0].readable && ready[0].writable && ready[0].failed);
}

TEST(ReadySet, ChangesAndForgets) {
  ReadySet set = ReadySet::make().value();
  Pipe pipe;
  ASSERT_TRUE(set.add(pipe.in, 1, false, false));
  EXPECT_TRUE(set.poll().empty());
  set.change(pipe.in, 2, false, true);
  ASSERT_EQ(set.poll().size(), 1u);
  EXPECT_EQ(set.poll()[0].key, 2u);
  set.remove(pipe.in);
  EXPECT_TRUE(set.poll().empty());
}

TEST(ReadySet, EdgesAreToldOnce) {
  ReadySet set = ReadySet::make().value();
  const FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ASSERT_TRUE(set.add_edges(event.get(), 3));
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(eventfd_write(event.get(), 1), 0);
    EXPECT_EQ(set.poll().size(), 1u);
    EXPECT_TRUE(set.poll().empty());
  }
}

TEST(ReadySet, WaitsNoLongerThanItIsTold) {
  ReadySet set = ReadySet::make().value();
  MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  EXPECT_TRUE(set.wait(3 * millisecond).empty());
  EXPECT_GE(clock.now() - begin, 3 * millisecond);
}

TEST(ReadySet, FilesAreRefused) {
  ReadySet set = ReadySet::make().value();
  const FileDescriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(set.add(file, 1, true, false));
}

}  // namespace
}  // namespace hawser
