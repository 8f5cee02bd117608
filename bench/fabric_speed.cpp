// How fast the fabric's model runs: an all-to-all over the papers' 144-port switch in virtual time, packet by
// packet, and small messages without rates.  Usage: fabric_speed [adapters 64] [bytes 65536] [chunk 0]
//
// The aim for 64 adapters and 64 KiB in packets of 2 KiB: below 2 s.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/topology/makers.h"

namespace hawser::fabric {
namespace {

// A client that only counts its completions.
class Rank final : public ContextPort, public CompletionPort {
 public:
  Rank(Adapter& adapter, std::size_t bytes) : context_(adapter.open(0, *this)), memory_(bytes) {
    domain_ = context_.create_domain();
    queue_ = context_.create_completion_queue(*this, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::uint32_t access = access_local_write | access_remote_write;
    if (!context_.register_memory(*domain_, address, bytes, address, access, &region_).ok()) std::abort();
  }
  void asynchronous_event(const AsyncEvent&) override {}
  bool deliver(const Completion& completion) override {
    ++completions;
    last = context_.adapter().now();
    failures += completion.status == CompletionStatus::success ? 0 : 1;
    return true;
  }
  QueuePair* create() {
    QueuePair* queue_pair = nullptr;
    const QueuePair::Configuration configuration{.type = QpType::rc,
                                                 .domain = domain_,
                                                 .send_queue = queue_,
                                                 .receive_queue = queue_,
                                                 .capabilities = {64, 1, 1, 1, 0}};
    if (!context_.create_queue_pair(configuration, &queue_pair).ok()) std::abort();
    return queue_pair;
  }
  void write(QueuePair& queue_pair, const Rank& to, std::uint32_t bytes) {
    const Segment segment{reinterpret_cast<std::uintptr_t>(memory_.data()), bytes, region_->key};
    SendRequest request{
        .segments = &segment, .segment_count = 1, .opcode = Opcode::rdma_write, .flags = send_signaled};
    request.remote_address = reinterpret_cast<std::uintptr_t>(to.memory_.data());
    request.rkey = to.region_->key;
    if (!queue_pair.post_send(request).ok()) std::abort();
  }
  std::uint64_t completions = 0, failures = 0;
  Nanoseconds last = 0;

 private:
  Context& context_;
  std::vector<std::byte> memory_;
  ProtectionDomain* domain_;
  CompletionQueue* queue_;
  MemoryRegion* region_ = nullptr;
};

void connect_one_way(QueuePair& queue_pair, QueuePair& peer) {
  QpAttributes a;
  a.port = 1;
  a.access_flags = access_local_write | access_remote_write;
  a.path.destination_lid = peer.adapter().port(1).lid();
  a.path_mtu = 2048;
  a.destination_qp = peer.number();
  a.timeout = 18;
  a.retry_count = 7;
  a.rnr_retry = 7;
  a.state = QpState::init;
  bool ok = queue_pair.modify(a, mask_state | mask_pkey_index | mask_port | mask_access_flags).ok();
  a.state = QpState::rtr;
  ok = ok && queue_pair
                 .modify(a, mask_state | mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn |
                                mask_max_dest_rd_atomic | mask_min_rnr_timer)
                 .ok();
  a.state = QpState::rts;
  ok = ok && queue_pair
                 .modify(a, mask_state | mask_timeout | mask_retry_count | mask_rnr_retry | mask_sq_psn |
                                mask_max_rd_atomic)
                 .ok();
  if (!ok) std::abort();
}

// Wall time, and the process's own, which tells more on a machine that others use.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t cpu_start = std::clock();
  double wall() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double cpu() const { return static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC; }
};

void all_to_all(std::size_t count, std::uint32_t bytes, std::uint32_t chunk) {
  EventQueue events;
  LocalDmaPort dma;
  Topology topology = make_fat_tree_144(144).value();
  RoutingTables tables = build_routes(topology, 0).value();
  Fabric fabric(events, dma, std::move(topology), std::move(tables),
                {.link_rate = 1e9, .link_latency = 100, .switch_latency = 140, .chunk = chunk});
  std::vector<std::unique_ptr<Rank>> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    ranks.push_back(
        std::make_unique<Rank>(*fabric.adapter(static_cast<std::int32_t>(i * 144 / count), 0), bytes));
  }
  std::vector<std::vector<QueuePair*>> qp(count, std::vector<QueuePair*>(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i != j) qp[i][j] = ranks[i]->create();
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i != j) connect_one_way(*qp[i][j], *qp[j][i]);
    }
  }
  const Stopwatch watch;
  for (std::size_t step = 1; step < count; ++step) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t j = (i + step) % count;
      ranks[i]->write(*qp[i][j], *ranks[j], bytes);
    }
  }
  const std::uint64_t before = events.fired();
  while (events.fire_next()) {
  }
  const double wall = watch.wall(), cpu = watch.cpu();
  std::uint64_t completed = 0, failed = 0;
  Nanoseconds finished = 0;
  for (const auto& rank : ranks) {
    completed += rank->completions;
    failed += rank->failures;
    finished = std::max(finished, rank->last);
  }
  const auto fired = static_cast<double>(events.fired() - before);
  std::printf(
      "all-to-all %zu x %u bytes, chunk %u: %.3f s (%.3f s of processor) for %.3f ms of virtual time; %.0f "
      "events, "
      "%.2f M per second of processor; %.1f MB/s per adapter; %llu of %llu completed, %llu failed\n",
      count, bytes, chunk, wall, cpu, static_cast<double>(finished) / 1e6, fired, fired / cpu / 1e6,
      static_cast<double>(bytes) * static_cast<double>(count - 1) / (static_cast<double>(finished) / 1e3),
      static_cast<unsigned long long>(completed), static_cast<unsigned long long>(count * (count - 1)),
      static_cast<unsigned long long>(failed));
  fabric.check_invariants();
}

void small_messages() {
  EventQueue events;
  LocalDmaPort dma;
  Topology topology = make_single_switch({.hosts = 2, .rails = 1}).value();
  RoutingTables tables = build_routes(topology, 0).value();
  Fabric fabric(events, dma, std::move(topology), std::move(tables), {});
  Rank a(*fabric.adapter(0, 0), 4096), b(*fabric.adapter(1, 0), 4096);
  QueuePair *qa = a.create(), *qb = b.create();
  connect_one_way(*qa, *qb);
  connect_one_way(*qb, *qa);
  constexpr int messages = 1'000'000;
  const Stopwatch watch;
  for (int i = 0; i < messages; ++i) {
    a.write(*qa, b, 8);
    while (events.fire_next() && a.completions <= static_cast<std::uint64_t>(i)) {
    }
  }
  std::printf("8-byte writes without rates, one at a time: %.0f ns each of processor, %.2f M events/s\n",
              watch.cpu() / messages * 1e9, static_cast<double>(events.fired()) / watch.cpu() / 1e6);
}

}  // namespace
}  // namespace hawser::fabric

int main(int argc, char** argv) {
  const auto argument = [&](int i, unsigned long fallback) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : fallback;
  };
  hawser::fabric::all_to_all(argument(1, 64), static_cast<std::uint32_t>(argument(2, 65536)),
                             static_cast<std::uint32_t>(argument(3, 0)));
  hawser::fabric::small_messages();
}
