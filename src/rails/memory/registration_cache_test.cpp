#include "rails/memory/registration_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/failure.h"
#include "base/random.h"

namespace hawser {
namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::uintptr_t base = 0x10000000;

const void* at(std::uintptr_t pages, std::uintptr_t bytes = 0) {
  return reinterpret_cast<const void*>(base + pages * page + bytes);
}

// A device that keeps counters: what is registered, how much, and what the system refuses.
class BookDevice final : public rdma::Device {
 public:
  struct Region final : rdma::MemoryRegion {
    Region(BookDevice& device, std::uintptr_t start, std::size_t bytes, bool read_only)
        : device_(device), start_(start), bytes_(bytes), read_only_(read_only), key_(++device.keys) {
      device_.regions.insert(this);
      device_.bytes += bytes;
    }
    ~Region() override {
      device_.regions.erase(this);
      device_.bytes -= bytes_;
    }
    std::uint32_t local_key() const override { return key_; }
    std::uint32_t remote_key() const override { return key_ + 1'000'000; }
    bool read_only() const override { return read_only_; }
    BookDevice& device_;
    std::uintptr_t start_;
    std::size_t bytes_;
    bool read_only_;
    std::uint32_t key_;
  };

  const rdma::DeviceAttributes& attributes() const override { return attributes_; }
  Result<rdma::PortAttributes> query_port(std::uint8_t) override { return rdma::PortAttributes{}; }
  Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(void* address, std::size_t size,
                                                              rdma::Access) override {
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    registered_bytes += size;
    if (bytes + size > limit) return failure(ErrorKind::no_memory, "limit");
    if (refused_page != 0 && start <= refused_page && refused_page < start + size)
      return failure(ErrorKind::other, "not mapped");
    const bool constants = constant_page != 0 && start <= constant_page && constant_page < start + size;
    return std::unique_ptr<rdma::MemoryRegion>(std::make_unique<Region>(*this, start, size, constants));
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

  // What a key covers; null: no such key.
  const Region* region_of(std::uint32_t key) const {
    for (const auto* region : regions)
      if (region->key_ == key) return region;
    return nullptr;
  }

  std::set<Region*, std::less<>> regions;
  std::size_t bytes = 0;
  std::size_t registered_bytes = 0;
  std::size_t limit = SIZE_MAX;
  std::uintptr_t refused_page = 0;
  std::uintptr_t constant_page = 0;
  std::uint32_t keys = 0;

 private:
  static Error no() { return failure(ErrorKind::unsupported, "not here"); }
  rdma::DeviceAttributes attributes_;
};

class RegistrationCacheTest : public testing::Test {
 protected:
  std::unique_ptr<RegistrationCache> make(RegistrationSettings settings = {}, MemoryWatch* watch = nullptr) {
    return std::make_unique<RegistrationCache>(std::vector<rdma::Device*>{&first, &second}, watch, settings);
  }
  RegisteredRegion* acquire(RegistrationCache& cache, const void* address, std::int64_t bytes,
                            DeviceMask devices = 1, bool writable = true) {
    auto region = cache.acquire(address, bytes, writable, devices);
    EXPECT_TRUE(region);
    cache.check_invariants();
    return region ? region.value() : nullptr;
  }
  void use(RegistrationCache& cache, const void* address, std::int64_t bytes, DeviceMask devices = 1) {
    cache.release(acquire(cache, address, bytes, devices));
    cache.check_invariants();
  }
  void expect_covered(const RegisteredRegion* region, const void* address, std::int64_t bytes) {
    const auto* found = first.region_of(region->local_key(0));
    ASSERT_NE(found, nullptr);
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    EXPECT_LE(found->start_, start);
    EXPECT_GE(found->start_ + found->bytes_, start + static_cast<std::uintptr_t>(bytes));
  }

  BookDevice first, second;
};

TEST_F(RegistrationCacheTest, keeps_what_was_used) {
  auto cache = make();
  RegisteredRegion* region = acquire(*cache, at(1, 100), 10000);
  expect_covered(region, at(1, 100), 10000);
  cache->release(region);
  use(*cache, at(1, 100), 10000);
  use(*cache, at(2), 10);  // a part of it
  EXPECT_EQ(cache->counters().hits, 2u);
  EXPECT_EQ(cache->counters().registrations, 1u);
  EXPECT_EQ(cache->kept_bytes(), 3 * 4096);
  EXPECT_TRUE(cache->idle());
}

TEST_F(RegistrationCacheTest, registers_with_the_devices_that_are_asked_for) {
  auto cache = make();
  RegisteredRegion* region = acquire(*cache, at(1), 4096, 1);
  EXPECT_EQ(second.regions.size(), 0u);
  EXPECT_TRUE(cache->add_devices(*region, 2));
  EXPECT_NE(second.region_of(region->local_key(1)), nullptr);
  EXPECT_EQ(cache->kept_bytes(), 2 * 4096);
  cache->release(region);
  use(*cache, at(1), 4096, 3);
  EXPECT_EQ(cache->counters().registrations, 2u);
}

TEST_F(RegistrationCacheTest, limits_push_out_the_least_recently_used_but_nothing_in_use) {
  RegistrationSettings settings;
  settings.most_bytes = 4 * 4096;
  auto cache = make(settings);
  RegisteredRegion* held = acquire(*cache, at(0), 4096);
  for (std::uintptr_t i = 1; i < 5; ++i) use(*cache, at(i * 10), 4096);
  EXPECT_EQ(cache->regions(), 4u);
  use(*cache, at(20), 4096);  // younger than 30 now
  EXPECT_EQ(cache->counters().hits, 1u);
  use(*cache, at(50), 4096);
  use(*cache, at(20), 4096);
  EXPECT_EQ(cache->counters().hits, 2u);
  use(*cache, at(30), 4096);
  EXPECT_EQ(cache->counters().hits, 2u);
  use(*cache, at(0), 4096);
  EXPECT_EQ(cache->counters().hits, 3u);
  cache->release(held);
  EXPECT_LE(cache->kept_bytes(), settings.most_bytes);

  settings.most_bytes = 1 << 30;
  settings.most_regions = 2;
  cache = make(settings);
  for (std::uintptr_t i = 1; i < 5; ++i) use(*cache, at(i * 10), 4096);
  EXPECT_EQ(cache->regions(), 2u);
}

TEST_F(RegistrationCacheTest, keeps_nothing_when_told_so) {
  RegistrationSettings settings;
  settings.most_bytes = 0;
  auto cache = make(settings);
  use(*cache, at(0), 4096);
  EXPECT_EQ(first.regions.size(), 0u);
}

TEST_F(RegistrationCacheTest, neighbours_and_overlaps_become_one) {
  auto cache = make();
  use(*cache, at(0), 4096);
  use(*cache, at(1), 4096);  // touches
  EXPECT_EQ(cache->regions(), 1u);
  use(*cache, at(0), 8192);
  EXPECT_EQ(cache->counters().hits, 1u);
  use(*cache, at(1), 4 * 4096);  // overlaps
  EXPECT_EQ(cache->regions(), 1u);
  EXPECT_EQ(cache->kept_bytes(), 5 * 4096);
  // One in use is left alone.
  RegisteredRegion* held = acquire(*cache, at(0), 4096);
  use(*cache, at(4), 20 * 4096);
  EXPECT_EQ(cache->regions(), 2u);
  cache->release(held);
}

// A large array walked through in pieces, touching or overlapping: the work stays within n log n.
TEST_F(RegistrationCacheTest, walking_through_an_array_costs_little) {
  for (const std::uintptr_t step : {16u, 8u}) {
    auto cache = make();
    first.registered_bytes = 0;
    for (std::uintptr_t i = 0; i < 1024; ++i) use(*cache, at(i * step), 16 * 4096);
    const std::size_t array = 1024 * step * page;
    EXPECT_LE(first.registered_bytes, 14 * array) << step;
    EXPECT_LE(cache->regions(), 16u) << step;
  }
}

TEST_F(RegistrationCacheTest, memory_that_went_away_is_not_found_again) {
  auto cache = make();
  use(*cache, at(0), 4 * 4096);
  use(*cache, at(10), 4096);
  cache->invalidate(at(3, 5), 1);
  EXPECT_EQ(first.regions.size(), 1u);
  use(*cache, at(0), 4 * 4096);
  EXPECT_EQ(cache->counters().hits, 0u);
  // In use: goes on, is not found, and goes when released.
  RegisteredRegion* held = acquire(*cache, at(0), 4096);
  const std::uint32_t key = held->local_key(0);
  cache->invalidate(at(0), 4096);
  cache->check_invariants();
  RegisteredRegion* again = acquire(*cache, at(0), 4096);
  EXPECT_NE(again->local_key(0), key);
  EXPECT_NE(first.region_of(key), nullptr);
  cache->release(held);
  EXPECT_EQ(first.region_of(key), nullptr);
  cache->release(again);
  cache->invalidate(nullptr, SIZE_MAX);
  EXPECT_EQ(cache->regions(), 0u);
  EXPECT_EQ(first.bytes, 0u);
}

TEST_F(RegistrationCacheTest, gives_up_idle_memory_when_the_system_is_short) {
  auto cache = make();
  first.limit = 10 * 4096;
  for (std::uintptr_t i = 0; i < 10; ++i) use(*cache, at(i * 10), 4096);
  use(*cache, at(500), 8 * 4096);
  EXPECT_LE(first.bytes, first.limit);
  RegisteredRegion* held = acquire(*cache, at(500), 8 * 4096);
  auto refused = cache->acquire(at(900), 3 * 4096, true, 1);
  EXPECT_FALSE(refused);
  cache->check_invariants();
  cache->release(held);
  use(*cache, at(900), 3 * 4096);
}

TEST_F(RegistrationCacheTest, a_neighbour_that_is_not_mapped_any_more_does_no_harm) {
  auto cache = make();
  use(*cache, at(0), 4096);
  first.refused_page = base;  // gone, and nobody said so
  RegisteredRegion* region = acquire(*cache, at(1), 2 * 4096);
  expect_covered(region, at(1), 2 * 4096);
  cache->release(region);
}

TEST_F(RegistrationCacheTest, constants_can_be_sent_but_not_received_into) {
  auto cache = make();
  first.constant_page = base + 4 * page;
  cache->release(acquire(*cache, at(4), 4096, 1, false));
  EXPECT_FALSE(cache->acquire(at(4), 4096, true, 1));
  cache->check_invariants();
  cache->release(acquire(*cache, at(4), 4096, 1, false));
  // What may be written beside them stays so.
  for (int i = 0; i < 3; ++i) {
    cache->release(acquire(*cache, at(5), 3 * 4096, 1, true));
    cache->release(acquire(*cache, at(4), 4096, 1, false));
  }
  EXPECT_GE(cache->counters().hits, 5u);
}

TEST_F(RegistrationCacheTest, a_lost_device_is_forgotten) {
  auto cache = make();
  use(*cache, at(0), 4096, 3);
  RegisteredRegion* held = acquire(*cache, at(10), 4096, 3);
  RegisteredRegion* gone = acquire(*cache, at(20), 4096, 3);
  cache->invalidate(at(20), 1);
  cache->forget_device(1);
  cache->check_invariants();
  EXPECT_EQ(second.regions.size(), 0u);
  EXPECT_EQ(held->devices(), 1u);
  cache->release(held);
  cache->release(gone);
}

// What the watch tells, as the calls of the program would.
struct ToldWatch final : MemoryWatch {
  bool reliable() const override { return reliable_; }
  bool may_keep(const void*) const override { return reliable_; }
  void watch(const MemoryRange&) override {}
  std::size_t take(std::span<MemoryRange> into) override {
    const std::size_t count = std::min(into.size(), told.size());
    std::copy_n(told.begin(), count, into.begin());
    told.erase(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  std::vector<MemoryRange> told;
  bool reliable_ = true;
};

TEST_F(RegistrationCacheTest, listens_to_the_watch) {
  ToldWatch watch;
  auto cache = make({}, &watch);
  for (std::uintptr_t i = 0; i < 100; ++i) use(*cache, at(i * 10), 4096);
  for (std::uintptr_t i = 0; i < 50; ++i) watch.told.push_back({base + i * 10 * page, 1});
  use(*cache, at(5000), 4096);
  EXPECT_EQ(cache->regions(), 51u);
  EXPECT_TRUE(watch.told.empty());
  EXPECT_FALSE(cache->take_changes());

  watch.reliable_ = false;
  auto careful = make({}, &watch);
  use(*careful, at(0), 4096);
  EXPECT_EQ(careful->regions(), 0u);
}

// Random acquires, releases and unmappings: every handed-out region covers what was asked for with live keys,
// nothing that went away is handed out again, nothing leaks.
TEST_F(RegistrationCacheTest, random_use) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    RegistrationSettings settings;
    settings.most_bytes = static_cast<std::int64_t>(random.below(400)) * 4096;
    settings.most_regions = 1 + static_cast<std::int64_t>(random.below(40));
    first.limit = (200 + random.below(1000)) * page;
    auto cache = make(settings);
    struct Held {
      RegisteredRegion* region;
      std::uintptr_t start;
      std::int64_t bytes;
    };
    std::vector<Held> held;
    std::map<std::uintptr_t, std::uint32_t> newest_key_when_unmapped;  // by page
    for (int i = 0; i < 600; ++i) {
      const std::uint64_t dice = random.below(10);
      if (dice < 5 && held.size() < 8) {
        const std::uintptr_t start = base + random.below(500 * page);
        const auto bytes = static_cast<std::int64_t>(1 + random.below(random.below(30) * page + 1));
        auto region =
            cache->acquire(reinterpret_cast<void*>(start), bytes, random.chance(0.5), 1 + random.below(3));
        cache->check_invariants();
        if (!region) continue;
        if ((region.value()->devices() & 1) != 0) {
          const std::uint32_t key = region.value()->local_key(0);
          expect_covered(region.value(), reinterpret_cast<void*>(start), bytes);
          for (std::uintptr_t p = start / page; p <= (start + static_cast<std::uintptr_t>(bytes) - 1) / page;
               ++p) {
            ASSERT_GT(key, newest_key_when_unmapped[p]) << "seed " << seed;
          }
        }
        held.push_back({region.value(), start, bytes});
      } else if (dice < 8 && !held.empty()) {
        const std::size_t which = random.below(held.size());
        cache->release(held[which].region);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      } else if (dice == 9) {
        const std::uintptr_t start = base + random.below(500) * page;
        const std::uintptr_t pages = 1 + random.below(20);
        cache->invalidate(reinterpret_cast<void*>(start), pages * page);
        for (std::uintptr_t p = 0; p < pages; ++p) newest_key_when_unmapped[start / page + p] = first.keys;
      }
      cache->check_invariants();
      for (const Held& h : held) {
        if ((h.region->devices() & 1) != 0)
          expect_covered(h.region, reinterpret_cast<void*>(h.start), h.bytes);
      }
      if (HasFatalFailure()) return;
    }
    for (const Held& h : held) cache->release(h.region);
    EXPECT_TRUE(cache->idle());
    EXPECT_LE(cache->kept_bytes(), settings.most_bytes);
    cache.reset();
    EXPECT_EQ(first.bytes, 0u);
    EXPECT_EQ(second.bytes, 0u);
  }
}

}  // namespace
}  // namespace hawser
