// Measures the shared-memory channel alone, without matching and MPI, between two processes: latency, message
// rate and bandwidth in the manner of the OSU suite. For tuning; prints the best of several rounds, since
// on a shared machine only the best says something about the code. Arguments: knob=value ...
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/time.h"
#include "channel/shared_memory_channel.h"

namespace hawser {
namespace {

constexpr int rounds = 9;

// Receives into one buffer and counts.
class Counter final : public TransportEvents {
 public:
  struct Count final : Completion {
    void on_complete(Result<>) override { ++value; }
    std::int64_t value = 0;
  };
  explicit Counter(SharedMemoryChannel& c) : channel(c), buffer(8 << 20) {}
  void on_packet(ProcessIndex, const TransportHeader&, const std::byte* payload, std::int64_t size) override {
    std::memcpy(buffer.data(), payload, static_cast<std::size_t>(size));
    ++received;
  }
  void on_offer(ProcessIndex source, const TransportHeader&, const ExposeToken& token,
                std::int64_t size) override {
    channel.fetch(source, token, {buffer.data(), size, nullptr}, &count_received);
  }
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t size) override {
    return {{buffer.data(), size, nullptr}, &count_received};
  }
  void on_bad_packet(ProcessIndex, std::string) override { HAWSER_UNREACHABLE(); }

  SharedMemoryChannel& channel;
  std::vector<std::byte> buffer;
  Count count_received, count_done;
  std::int64_t& received = count_received.value;
  std::int64_t& done = count_done.value;
};

struct Bench {
  SharedMemoryChannel& channel;
  int self;
  Counter events{channel};
  MonotonicClock clock;
  std::vector<std::byte> source = std::vector<std::byte>(8 << 20, std::byte{1});
  std::int64_t expected = 0;
  std::int64_t exposed = 0;

  void send(std::int64_t size) {
    const TransportHeader header;
    const auto peer = static_cast<ProcessIndex>(1 - self);
    if (size <= Slot::inline_limit) {
      while (!channel.ring_to(peer)->try_send_inline(header, source.data(), static_cast<std::uint32_t>(size)))
        progress();
    } else if (size <= channel.eager_limit(peer)) {
      while (!channel.try_send(peer, header, {source.data(), size, nullptr})) progress();
    } else {
      ++exposed;
      while (!channel.try_expose(peer, header, {source.data(), size, nullptr}, &events.count_done))
        progress();
    }
  }
  void progress() { channel.progress_for(events); }
  void receive(std::int64_t messages) {
    expected += messages;
    while (events.received < expected) progress();
  }
  void finish_sends() {
    while (events.done < exposed) progress();
  }
  void meet() {
    send(0);
    receive(1);
  }

  double latency_ns(std::int64_t size, int repeats) {
    double best = 1e18;
    for (int round = 0; round < rounds; ++round) {
      meet();
      const Nanoseconds start = clock.now();
      for (int i = 0; i < repeats; ++i) {
        if (self == 0) send(size);
        receive(1);
        if (self == 1) send(size);
      }
      finish_sends();
      best = std::min(best, static_cast<double>(clock.now() - start) / (2.0 * repeats));
    }
    return best;
  }
  double one_way_ns(std::int64_t size, int window, int repeats) {
    double best = 1e18;
    for (int round = 0; round < rounds; ++round) {
      meet();
      const Nanoseconds start = clock.now();
      for (int i = 0; i < repeats; ++i) {
        if (self == 0) {
          for (int message = 0; message < window; ++message) send(size);
          finish_sends();
          receive(1);
        } else {
          receive(window);
          send(0);
        }
      }
      best = std::min(best, static_cast<double>(clock.now() - start) / (1.0 * repeats * window));
    }
    return best;
  }
  double both_ways_ns(std::int64_t size, int window, int repeats) {
    double best = 1e18;
    for (int round = 0; round < rounds; ++round) {
      meet();
      const Nanoseconds start = clock.now();
      for (int i = 0; i < repeats; ++i) {
        for (int message = 0; message < window; ++message) send(size);
        receive(window);
        finish_sends();
      }
      best = std::min(best, static_cast<double>(clock.now() - start) / (1.0 * repeats * window));
    }
    return best;
  }

  void run() {
    const auto print = [&](const char* what, std::int64_t size, double ns) {
      if (self == 0)
        std::printf("%-10s %9ld B %12.1f ns %9.2f GB/s\n", what, static_cast<long>(size), ns,
                    static_cast<double>(size) / ns);
      std::fflush(stdout);
    };
    for (std::int64_t size : {0, 8, 36, 64, 256, 1024, 2048, 4096, 8192, 16384, 65536, 262144, 1048576})
      print("latency", size, latency_ns(size, size > 100000 ? 100 : 2000));
    for (std::int64_t size : {8, 36, 64, 1024}) print("rate", size, one_way_ns(size, 64, 2000));
    for (std::int64_t size : {4096, 8192, 16384, 32768, 65536, 262144, 1048576, 4194304})
      print("one way", size, one_way_ns(size, 32, size > 100000 ? 10 : 100));
    for (std::int64_t size : {8, 8192, 65536, 1048576})
      print("both ways", size, both_ways_ns(size, 32, size > 100000 ? 10 : 100));
  }
};

bool set_knob(Knobs& knobs, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  const std::int64_t number = std::atoll(value.c_str());
  if (name == "shm_single_copy") {
    knobs.shm_single_copy = value;
    return true;
  }
  const std::pair<const char*, std::int64_t*> numbers[] = {
      {"shm_ring_slots", &knobs.shm_ring_slots},
      {"shm_ring_bytes", &knobs.shm_ring_bytes},
      {"shm_eager_limit", &knobs.shm_eager_limit},
      {"shm_piece", &knobs.shm_piece},
      {"shm_single_copy_chunk", &knobs.shm_single_copy_chunk},
      {"shm_patience", &knobs.shm_patience}};
  for (const auto& [known, knob] : numbers)
    if (name == known) return *knob = number, true;
  std::fprintf(stderr, "channel_benchmark: no setting '%s'; there are shm_single_copy", name.c_str());
  for (const auto& [known, knob] : numbers) std::fprintf(stderr, " %s", known);
  std::fprintf(stderr, "\n");
  return false;
}

int run(int count, char** arguments) {
  Knobs knobs;
  for (int i = 1; i < count; ++i)
    if (!set_knob(knobs, arguments[i])) return 2;
  auto file = make_memory_file("hawser-benchmark");
  if (!file) return 1;
  const pid_t child = fork();
  const int self = child == 0 ? 1 : 0;
  auto segment = SharedSegment::map(file.value().get(), SegmentLayout::plan(2, knobs));
  if (!segment) return 1;
  SharedMemoryChannel channel(std::move(segment).value(), self, {0, 1}, 2, knobs);
  // After the channel has counted the cores it may use.
  if (usable_cpus().count() > 1) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(self, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
  }
  Bench{channel, self}.run();
  if (child != 0) waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace hawser

int main(int count, char** arguments) { return hawser::run(count, arguments); }
