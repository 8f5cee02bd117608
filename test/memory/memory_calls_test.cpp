// Memory goes away in every way that a program has, and comes back at the same address; no registration of
// what was there before may be found. One test in one process: the watch changes how malloc works.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/failure.h"
#include "os/memory_watch.h"
#include "rails/memory/registration_cache.h"

namespace hawser {
namespace {

constexpr std::size_t megabyte = 1 << 20;

class NumberingDevice final : public rdma::Device {
 public:
  struct Region final : rdma::MemoryRegion {
    explicit Region(std::uint32_t key) : key_(key) {}
    std::uint32_t local_key() const override { return key_; }
    std::uint32_t remote_key() const override { return key_; }
    std::uint32_t key_;
  };
  const rdma::DeviceAttributes& attributes() const override { return attributes_; }
  Result<rdma::PortAttributes> query_port(std::uint8_t) override { return rdma::PortAttributes{}; }
  Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(void*, std::size_t, rdma::Access) override {
    return std::unique_ptr<rdma::MemoryRegion>(std::make_unique<Region>(++keys_));
  }
  Result<std::unique_ptr<rdma::CompletionQueue>> make_completion_queue(std::int32_t) override { return no(); }
  Result<std::unique_ptr<rdma::SharedReceiveQueue>> make_shared_receive_queue(std::int32_t) override {
    return no();
  }
  Result<std::unique_ptr<rdma::QueuePair>> make_queue_pair(const rdma::QueuePairInitAttributes&) override {
    return no();
  }
  Result<std::unique_ptr<rdma::DatagramQueuePair>> make_datagram_queue_pair(std::uint8_t, std::uint32_t,
                                                                            std::uint32_t) override {
    return no();
  }
  bool next_event(rdma::DeviceEvent&) override { return false; }
  int descriptor() const override { return -1; }
  Result<> arm_datagrams() override { return {}; }

 private:
  static Error no() { return failure(ErrorKind::unsupported, "not here"); }
  rdma::DeviceAttributes attributes_;
  std::uint32_t keys_ = 0;
};

class MemoryCalls : public testing::Test {
 protected:
  MemoryCalls() : watch(watch_own_memory()), cache({&device}, watch.get()) {}

  std::uint32_t key_of(const void* address, std::size_t bytes) {
    auto region = cache.acquire(address, static_cast<std::int64_t>(bytes), true, 1);
    EXPECT_TRUE(region);
    const std::uint32_t key = region.value()->local_key(0);
    cache.release(region.value());
    cache.check_invariants();
    return key;
  }
  // The same memory is registered once as long as nothing happens.
  std::uint32_t settled_key_of(const void* address, std::size_t bytes) {
    const std::uint32_t key = key_of(address, bytes);
    EXPECT_EQ(key_of(address, bytes), key);
    return key;
  }
  static void* fresh(std::size_t bytes, void* where = nullptr) {
    void* memory = mmap(where, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return memory;
  }
  // Whether all pages but the outermost are mapped and there, so the same that they were when written to.
  static bool intact(void* address, std::size_t bytes) {
    const auto start = (reinterpret_cast<std::uintptr_t>(address) + 8191) & ~std::uintptr_t{4095};
    std::vector<unsigned char> pages(bytes / 4096 - 4);
    if (mincore(reinterpret_cast<void*>(start), pages.size() * 4096, pages.data()) != 0) return false;
    return std::all_of(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  }

  NumberingDevice device;
  std::unique_ptr<MemoryWatch> watch;
  RegistrationCache cache;
};

TEST_F(MemoryCalls, unmapped_and_mapped_again_at_the_same_address) {
  ASSERT_TRUE(watch->reliable());
  void* memory = fresh(megabyte);
  const std::uint32_t before = settled_key_of(memory, megabyte);
  ASSERT_EQ(munmap(memory, megabyte), 0);
  EXPECT_EQ(fresh(megabyte, memory), memory);
  const std::uint32_t after = settled_key_of(memory, megabyte);
  EXPECT_NE(after, before);
  // A part of it.
  ASSERT_EQ(munmap(static_cast<char*>(memory) + 8192, 4096), 0);
  fresh(4096, static_cast<char*>(memory) + 8192);
  EXPECT_NE(settled_key_of(memory, megabyte), after);
  ASSERT_EQ(munmap(memory, megabyte), 0);
}

TEST_F(MemoryCalls, mapped_over) {
  void* memory = fresh(megabyte);
  const std::uint32_t before = settled_key_of(memory, megabyte);
  fresh(4096, memory);
  EXPECT_NE(settled_key_of(memory, megabyte), before);
  munmap(memory, megabyte);
}

TEST_F(MemoryCalls, moved_and_shrunk) {
  void* memory = fresh(megabyte);
  void* target = fresh(megabyte);
  const std::uint32_t before = settled_key_of(memory, megabyte);
  const std::uint32_t covered = settled_key_of(target, megabyte);
  ASSERT_EQ(mremap(memory, megabyte, megabyte, MREMAP_MAYMOVE | MREMAP_FIXED, target), target);
  EXPECT_NE(settled_key_of(target, megabyte), covered);
  fresh(megabyte, memory);
  EXPECT_NE(settled_key_of(memory, megabyte), before);
  const std::uint32_t whole = settled_key_of(target, megabyte);
  ASSERT_NE(mremap(target, megabyte, 4096, 0), MAP_FAILED);
  EXPECT_NE(settled_key_of(target, 4096), whole);
  munmap(memory, megabyte);
  munmap(target, 4096);
}

TEST_F(MemoryCalls, pages_thrown_away) {
  void* memory = fresh(megabyte);
  std::uint32_t before = settled_key_of(memory, megabyte);
  ASSERT_EQ(madvise(memory, megabyte, MADV_SEQUENTIAL), 0);
  EXPECT_EQ(settled_key_of(memory, megabyte), before);
  for (const int advice : {MADV_DONTNEED, MADV_FREE}) {
    ASSERT_EQ(madvise(memory, 4096, advice), 0);
    const std::uint32_t after = settled_key_of(memory, megabyte);
    EXPECT_NE(after, before);
    before = after;
  }
  munmap(memory, megabyte);
}

TEST_F(MemoryCalls, shared_memory_segments) {
  const int id = shmget(IPC_PRIVATE, megabyte, IPC_CREAT | 0600);
  ASSERT_GE(id, 0);
  void* memory = shmat(id, nullptr, 0);
  const std::uint32_t before = settled_key_of(memory, megabyte);
  ASSERT_EQ(shmdt(memory), 0);
  EXPECT_EQ(shmat(id, memory, 0), memory);
  EXPECT_NE(settled_key_of(memory, megabyte), before);
  shmdt(memory);
  shmctl(id, IPC_RMID, nullptr);
}

TEST_F(MemoryCalls, the_heaps_end) {
  void* memory = sbrk(megabyte);
  ASSERT_NE(memory, reinterpret_cast<void*>(-1));
  const std::uint32_t before = settled_key_of(memory, megabyte);
  if (static_cast<char*>(sbrk(0)) == static_cast<char*>(memory) + megabyte) {
    sbrk(-static_cast<std::intptr_t>(megabyte));
    sbrk(megabyte);
    EXPECT_NE(settled_key_of(memory, megabyte), before);
  }
  const std::uint32_t trimmed = settled_key_of(memory, megabyte);
  malloc_trim(0);
  EXPECT_NE(settled_key_of(memory, megabyte), trimmed);
}

#ifndef HAWSER_SANITIZE_address_undefined
#ifndef HAWSER_SANITIZE_thread
// The C library's own malloc: what is freed stays mapped, so its registration may stay.
TEST_F(MemoryCalls, free_does_not_unmap) {
  void* memory = malloc(64 * megabyte);
  std::memset(memory, 1, 64 * megabyte);
  settled_key_of(memory, 64 * megabyte);
  free(memory);
  EXPECT_TRUE(intact(memory, 64 * megabyte));
  EXPECT_EQ(malloc(64 * megabyte), memory);
  free(memory);
  // In a thread's heaps too.
  std::vector<void*> blocks;
  std::thread([&blocks] {
    for (int i = 0; i < 300; ++i) {
      blocks.push_back(malloc(megabyte));
      std::memset(blocks.back(), 1, megabyte);
    }
    for (std::size_t i = blocks.size(); i-- > 0;) free(blocks[i]);
  }).join();
  for (void* block : blocks) EXPECT_TRUE(intact(block, megabyte));
}
#endif
#endif

TEST_F(MemoryCalls, a_threads_stack_is_not_kept) {
  settled_key_of(&device, sizeof(device));  // the first thread's is
  std::thread([this] {
    char buffer[16384];
    std::memset(buffer, 1, sizeof(buffer));
    EXPECT_NE(key_of(buffer, sizeof(buffer)), key_of(buffer, sizeof(buffer)));
  }).join();
}

// Other threads map and unmap as fast as they can while registrations are made: whatever address is used was
// not registered before it was unmapped last.
TEST_F(MemoryCalls, many_threads) {
  std::atomic<bool> stop = false;
  char* area = static_cast<char*>(fresh(16 * megabyte));
  key_of(area, 16 * megabyte);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([area, t, &stop] {
      char* mine = area + static_cast<std::size_t>(t) * 4 * megabyte;
      while (!stop.load()) {
        munmap(mine, megabyte);
        fresh(megabyte, mine);
      }
    });
  char* own = area + 12 * megabyte;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t before = key_of(own, megabyte);
    munmap(own, 4096);
    fresh(4096, own);
    ASSERT_NE(key_of(own, megabyte), before);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  MemoryRange range;
  while (watch->take({&range, 1}) > 0) {
  }
  // More reports than there is room for.
  for (int i = 0; i < 5000; ++i) {
    munmap(own, 4096);
    fresh(4096, own);
  }
  bool all = false;
  while (watch->take({&range, 1}) > 0) all = all || range.bytes == SIZE_MAX;
  EXPECT_TRUE(all);
  munmap(area, 16 * megabyte);
}

TEST_F(MemoryCalls, there_is_one_watch_at_a_time) {
  EXPECT_FALSE(watch_own_memory()->reliable());
  EXPECT_TRUE(watch->reliable());
}

TEST_F(MemoryCalls, nothing_is_reported_that_nobody_watches) {
  void* memory = fresh(megabyte);
  munmap(memory, megabyte);
  MemoryRange range;
  EXPECT_EQ(watch->take({&range, 1}), 0u);
}

}  // namespace
}  // namespace hawser
