#include "testbed/emulator/virtual_paths.h"

#include <gtest/gtest.h>

namespace hawser::emulator {
namespace {

constexpr unsigned two = 2;

VirtualKind kind(const char* path, unsigned adapters = two) {
  return look_up_virtual_path(path, adapters).kind;
}

TEST(VirtualPaths, DevicesOfTheHostsAdapters) {
  EXPECT_EQ(kind("/dev/infiniband"), VirtualKind::directory);
  EXPECT_EQ(kind("/dev/infiniband/uverbs0"), VirtualKind::device);
  EXPECT_EQ(look_up_virtual_path("/dev/infiniband/uverbs1", two).minor, 193u);
  EXPECT_EQ(kind("/dev/infiniband/uverbs2"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infiniband/uverbs"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infiniband/uverbs-1"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infiniband/uverbs0x"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infiniband/uverbs99999999999999999999"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infiniband/rdma_cm"), VirtualKind::none);
}

TEST(VirtualPaths, TheSystemsDescription) {
  EXPECT_EQ(kind("/sys/class/infiniband"), VirtualKind::directory);
  EXPECT_EQ(kind("/sys/class/infiniband/hw1/ports/1"), VirtualKind::directory);
  EXPECT_EQ(kind("/sys/class/infiniband/hw2"), VirtualKind::none);
  EXPECT_STREQ(look_up_virtual_path("/sys/class/infiniband/hw0/device/vendor", two).content, "0x02c9\n");
  EXPECT_STREQ(look_up_virtual_path("/sys/class/infiniband_verbs/uverbs1/ibdev", two).content, "hw1\n");
  EXPECT_STREQ(look_up_virtual_path("/sys/class/infiniband_verbs/uverbs1/dev", two).content, "231:193\n");
  EXPECT_STREQ(look_up_virtual_path("/sys/class/infiniband_verbs/abi_version", two).content, "6\n");
}

TEST(VirtualPaths, EverythingElseIsTheMachines) {
  EXPECT_EQ(kind(nullptr), VirtualKind::none);
  EXPECT_EQ(kind(""), VirtualKind::none);
  EXPECT_EQ(kind("/sys/class/net"), VirtualKind::none);
  EXPECT_EQ(kind("/dev/infinibandit"), VirtualKind::none);
  EXPECT_EQ(kind("/sys/class/infiniband", 0), VirtualKind::none) << "a host without adapters";
}

}  // namespace
}  // namespace hawser::emulator
