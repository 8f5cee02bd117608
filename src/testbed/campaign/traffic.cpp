#include "testbed/campaign/traffic.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "testbed/campaign/epoch_traffic.h"
#include "testbed/campaign/placed_data.h"
#include "testbed/campaign/window_traffic.h"

namespace hawser {
namespace {

using Collective = PlannedCollective::Kind;
using Receive = PlannedMessage::Receive;
using Send = PlannedMessage::Send;

class RankTraffic {
 public:
  RankTraffic(SimulatedRank& rank, const TrafficPlan& plan, Buffers& buffers, PostedReceives& posted,
              std::uint64_t seed)
      : rank_(rank), plan_(plan), buffers_(buffers), posted_(posted), random_(seed), aside_(~seed) {}

  void run() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &me_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::optional<WindowTraffic> windows;
    if (plan_.windows.any()) windows.emplace(rank_, plan_.windows, buffers_).open();
    std::optional<EpochTraffic> epochs;
    const auto compute = [this](Nanoseconds time) { rank_.compute(time); };
    if (plan_.epochs.any()) epochs.emplace(plan_.epochs, buffers_, compute).open();
    for (phase_ = 0; phase_ < plan_.phases.size(); ++phase_) {
      if (windows) windows->begin(phase_);
      if (epochs) epochs->begin(phase_);
      run(plan_.phases[phase_]);
      if (epochs) epochs->end(phase_);
      if (windows) windows->end(phase_);
    }
    if (epochs) epochs->close();
    if (windows) windows->close();
    check(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  // A message under way. `request` is null once it is complete.
  struct Active {
    const PlannedMessage* message = nullptr;
    std::unique_ptr<PlacedData> data;
    MPI_Request request = MPI_REQUEST_NULL;
    bool receives = false;
  };
  // A collective operation under way.
  struct ActiveCollective {
    const PlannedCollective* planned = nullptr;
    Buffers::Buffer in, out;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void check(int code, const char* function) const {
    if (code != MPI_SUCCESS) throw std::runtime_error(fmt::format("{} returned {}", function, code));
  }
  [[noreturn]] void complain(const std::string& what, const std::string& error) const {
    throw std::runtime_error(fmt::format("phase {}: {}: {}", phase_, what, error));
  }

  void run(const PlannedPhase& phase) {
    if (phase.most_computing > 0)
      rank_.compute(
          static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(phase.most_computing))));
    if (phase.stopped == me_) rank_.compute(phase.stop);
    std::vector<ActiveCollective> collectives;
    for (const PlannedCollective& each : phase.collectives)
      if (is_immediate(each.kind)) collectives.push_back(start(each, phase.reuse_buffers));
    std::vector<Active> active;
    for (const PlannedMessage& message : phase.messages)
      if (message.destination == me_ && message.receive == Receive::posted)
        post_receive(message, phase, active);
    posted_.note(me_, phase_, rank_.local_time());
    compute_aside(phase);
    for (const PlannedMessage& message : phase.messages)
      if (message.source == me_) send(message, phase, active);
    compute_aside(phase);
    for (const PlannedMessage& message : phase.messages)
      if (message.destination == me_ && message.receive != Receive::posted) receive_late(message, phase);
    compute_aside(phase);
    complete(phase, active);
    for (ActiveCollective& each : collectives) {
      check(MPI_Wait(&each.request, MPI_STATUS_IGNORE), "MPI_Wait");
      finish(each);
    }
    for (const PlannedCollective& each : phase.collectives) {
      if (is_immediate(each.kind)) continue;
      if (phase.late_every > 0 && me_ % phase.late_every == 0) rank_.compute(phase.late);
      ActiveCollective started = start(each, phase.reuse_buffers);
      finish(started);
    }
  }

  void compute_aside(const PlannedPhase& phase) {
    if (phase.most_aside > 0 && aside_.chance(0.5))
      rank_.compute(static_cast<Nanoseconds>(aside_.below(static_cast<std::uint64_t>(phase.most_aside))));
  }

  // ---- messages ----

  void post_receive(const PlannedMessage& message, const PlannedPhase& phase, std::vector<Active>& active) {
    Active each{&message, make_data(message, message.receive_layout, phase), MPI_REQUEST_NULL, true};
    check(MPI_Irecv(each.data->address(), each.data->count(), each.data->type(), source_of(message),
                    message.tag, MPI_COMM_WORLD, &each.request),
          "MPI_Irecv");
    active.push_back(std::move(each));
  }

  void send(const PlannedMessage& message, const PlannedPhase& phase, std::vector<Active>& active) {
    Active each{&message, make_data(message, message.send_layout, phase), MPI_REQUEST_NULL, false};
    PlacedData& data = *each.data;
    data.fill(message.key);
    const int to = message.destination;
    const Nanoseconds begin = rank_.local_time();
    switch (message.send) {
      case Send::send:
        check(MPI_Send(data.address(), data.count(), data.type(), to, message.tag, MPI_COMM_WORLD),
              "MPI_Send");
        break;
      case Send::synchronous:
        check(MPI_Ssend(data.address(), data.count(), data.type(), to, message.tag, MPI_COMM_WORLD),
              "MPI_Ssend");
        break;
      case Send::immediate:
        check(MPI_Isend(data.address(), data.count(), data.type(), to, message.tag, MPI_COMM_WORLD,
                        &each.request),
              "MPI_Isend");
        break;
      case Send::immediate_synchronous:
        check(MPI_Issend(data.address(), data.count(), data.type(), to, message.tag, MPI_COMM_WORLD,
                         &each.request),
              "MPI_Issend");
        break;
    }
    if (each.request != MPI_REQUEST_NULL) return active.push_back(std::move(each));
    data.finish();
    judge_time(message, begin);
  }

  // The receiver is in a call of MPI or is interrupted.
  void judge_time(const PlannedMessage& message, Nanoseconds begin) const {
    if (plan_.longest_send == 0 || message.receive != Receive::posted || message.bytes <= plan_.rendezvous)
      return;
    const Nanoseconds posted = posted_.find(message.destination, phase_);
    const Nanoseconds took = rank_.local_time() - std::max(begin, posted);
    if (posted >= 0 && took > plan_.longest_send)
      complain(describe(message), fmt::format("took {} ns after its receive was posted", took));
  }

  void receive_late(const PlannedMessage& message, const PlannedPhase& phase) {
    Active each{&message, make_data(message, message.receive_layout, phase), MPI_REQUEST_NULL, true};
    PlacedData& data = *each.data;
    const int from = source_of(message);
    MPI_Status status{};
    switch (message.receive) {
      case Receive::posted:
      case Receive::late:
        check(MPI_Recv(data.address(), data.count(), data.type(), from, message.tag, MPI_COMM_WORLD, &status),
              "MPI_Recv");
        break;
      case Receive::matched_probe: {
        MPI_Message matched = MPI_MESSAGE_NULL;
        check(MPI_Mprobe(from, message.tag, MPI_COMM_WORLD, &matched, &status), "MPI_Mprobe");
        check(MPI_Mrecv(data.address(), data.count(), data.type(), &matched, &status), "MPI_Mrecv");
        break;
      }
      case Receive::polled:
      case Receive::probed:
        if (message.receive == Receive::probed) {
          check(MPI_Probe(from, message.tag, MPI_COMM_WORLD, &status), "MPI_Probe");
        } else {
          poll([&] {
            int there = 0;
            check(MPI_Iprobe(from, message.tag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
            return there != 0;
          });
        }
        judge(message, status, "the probe's");
        check(MPI_Recv(data.address(), data.count(), data.type(), status.MPI_SOURCE, message.tag,
                       MPI_COMM_WORLD, &status),
              "MPI_Recv");
        break;
    }
    finish(each, status);
  }

  std::unique_ptr<PlacedData> make_data(const PlannedMessage& message, PlannedMessage::Layout layout,
                                        const PlannedPhase& phase) {
    return std::make_unique<PlacedData>(buffers_, message.bytes, layout, phase.reuse_buffers, random_);
  }
  static int source_of(const PlannedMessage& message) {
    return message.any_source ? MPI_ANY_SOURCE : message.source;
  }

  // Between two looks the program computes, longer each time: it has better things to do than to poll.
  template <class Condition>
  void poll(Condition&& condition) {
    Nanoseconds pause = microsecond;
    while (!condition()) {
      rank_.compute(pause);
      pause = std::min(pause * 2, 2 * millisecond);
    }
  }

  void complete(const PlannedPhase& phase, std::vector<Active>& active) {
    std::vector<MPI_Request> requests;
    for (const Active& each : active) requests.push_back(each.request);
    std::vector<MPI_Status> statuses(active.size());
    const int count = static_cast<int>(requests.size());
    switch (phase.completion) {
      case PlannedPhase::Completion::wait_all:
        check(MPI_Waitall(count, requests.data(), statuses.data()), "MPI_Waitall");
        for (std::size_t i = 0; i < active.size(); ++i) finish(active[i], statuses[i]);
        break;
      case PlannedPhase::Completion::wait_any:
        for (std::size_t done = 0; done < active.size(); ++done) {
          int index = MPI_UNDEFINED;
          check(MPI_Waitany(count, requests.data(), &index, &statuses[0]), "MPI_Waitany");
          finish(active[static_cast<std::size_t>(index)], statuses[0]);
        }
        break;
      case PlannedPhase::Completion::test_some: {
        std::vector<int> indices(active.size());
        std::size_t done = 0;
        poll([&] {
          int some = 0;
          check(MPI_Testsome(count, requests.data(), &some, indices.data(), statuses.data()), "MPI_Testsome");
          for (int i = 0; i < std::max(some, 0); ++i) {
            const auto at = static_cast<std::size_t>(i);
            finish(active[static_cast<std::size_t>(indices[at])], statuses[at]);
            ++done;
          }
          return done == active.size();
        });
        break;
      }
    }
  }

  void finish(Active& each, const MPI_Status& status) {
    if (each.receives) {
      judge(*each.message, status, "the receive's");
      if (std::string error = each.data->find_error(each.message->key); !error.empty())
        complain(describe(*each.message), error);
    }
    each.data->finish();
  }

  void judge(const PlannedMessage& message, const MPI_Status& status, const char* whose) const {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (status.MPI_SOURCE != message.source || status.MPI_TAG != message.tag || bytes != message.bytes) {
      complain(describe(message), fmt::format("{} status says {} bytes from {}, tag {}", whose, bytes,
                                              status.MPI_SOURCE, status.MPI_TAG));
    }
  }

  static std::string describe(const PlannedMessage& message) {
    return fmt::format("message of {} bytes from {} to {}, tag {}", message.bytes, message.source,
                       message.destination, message.tag);
  }

  // ---- collectives ----

  static bool is_immediate(Collective kind) {
    return kind == Collective::immediate_broadcast || kind == Collective::immediate_allreduce ||
           kind == Collective::immediate_barrier;
  }
  static std::uint64_t key_of(const PlannedCollective& planned, int rank, int to = 0) {
    return planned.key + static_cast<std::uint64_t>(rank) * 1'000'003 + static_cast<std::uint64_t>(to) * 7919;
  }

  std::size_t in_bytes(const PlannedCollective& planned) const {
    const auto count = static_cast<std::size_t>(planned.count), ranks = static_cast<std::size_t>(size_);
    switch (planned.kind) {
      case Collective::barrier:
      case Collective::immediate_barrier:
        return 0;
      case Collective::broadcast:
      case Collective::immediate_broadcast:
      case Collective::allgather:
        return count;
      case Collective::alltoall:
        return count * ranks;
      case Collective::allreduce:
      case Collective::immediate_allreduce:
      case Collective::reduce:
        return count * sizeof(std::uint64_t);
    }
    return 0;
  }

  // Starts it, and carries it out unless it is immediate.
  ActiveCollective start(const PlannedCollective& planned, bool reuse) {
    ActiveCollective each;
    each.planned = &planned;
    const std::size_t bytes = in_bytes(planned);
    const int count = planned.count, root = planned.root;
    const bool broadcast =
        planned.kind == Collective::broadcast || planned.kind == Collective::immediate_broadcast;
    each.in = buffers_.take(bytes, reuse);
    each.out = buffers_.take(planned.kind == Collective::allgather ? bytes * static_cast<std::size_t>(size_)
                             : broadcast                           ? 0
                                                                   : bytes,
                             reuse);
    void *in = each.in.data, *out = each.out.data;
    MPI_Comm world = MPI_COMM_WORLD;
    if (planned.kind == Collective::alltoall) {
      for (int to = 0; to < size_; ++to)
        fill_payload(each.in.data + to * count, static_cast<std::size_t>(count), key_of(planned, me_, to));
    } else if (!broadcast || me_ == root) {
      fill_payload(each.in.data, bytes, key_of(planned, broadcast ? root : me_));
    }
    switch (planned.kind) {
      case Collective::barrier:
        check(MPI_Barrier(world), "MPI_Barrier");
        break;
      case Collective::immediate_barrier:
        check(MPI_Ibarrier(world, &each.request), "MPI_Ibarrier");
        break;
      case Collective::broadcast:
        check(MPI_Bcast(in, count, MPI_BYTE, root, world), "MPI_Bcast");
        break;
      case Collective::immediate_broadcast:
        check(MPI_Ibcast(in, count, MPI_BYTE, root, world, &each.request), "MPI_Ibcast");
        break;
      case Collective::allreduce:
        check(MPI_Allreduce(in, out, count, MPI_UINT64_T, MPI_SUM, world), "MPI_Allreduce");
        break;
      case Collective::immediate_allreduce:
        check(MPI_Iallreduce(in, out, count, MPI_UINT64_T, MPI_SUM, world, &each.request), "MPI_Iallreduce");
        break;
      case Collective::reduce:
        check(MPI_Reduce(in, out, count, MPI_UINT64_T, MPI_SUM, root, world), "MPI_Reduce");
        break;
      case Collective::alltoall:
        check(MPI_Alltoall(in, count, MPI_BYTE, out, count, MPI_BYTE, world), "MPI_Alltoall");
        break;
      case Collective::allgather:
        check(MPI_Allgather(in, count, MPI_BYTE, out, count, MPI_BYTE, world), "MPI_Allgather");
        break;
    }
    return each;
  }

  void finish(ActiveCollective& each) {
    const PlannedCollective& planned = *each.planned;
    const auto count = static_cast<std::size_t>(planned.count);
    switch (planned.kind) {
      case Collective::barrier:
      case Collective::immediate_barrier:
        break;
      case Collective::broadcast:
      case Collective::immediate_broadcast:
        expect(each.in.data, count, key_of(planned, planned.root), "the broadcast");
        break;
      case Collective::allreduce:
      case Collective::immediate_allreduce:
        expect_sum(each);
        break;
      case Collective::reduce:
        if (me_ == planned.root) expect_sum(each);
        break;
      case Collective::alltoall:
        for (int from = 0; from < size_; ++from)
          expect(each.out.data + static_cast<std::size_t>(from) * count, count, key_of(planned, from, me_),
                 "the all-to-all");
        break;
      case Collective::allgather:
        for (int from = 0; from < size_; ++from)
          expect(each.out.data + static_cast<std::size_t>(from) * count, count, key_of(planned, from),
                 "the all-gather");
        break;
    }
    buffers_.give_back(each.in);
    buffers_.give_back(each.out);
  }

  void expect(const std::byte* bytes, std::size_t size, std::uint64_t key, const char* what) const {
    const auto at = find_payload_error(bytes, size, key);
    if (at >= 0) complain(what, fmt::format("byte {} of {} is wrong", at, size));
  }

  void expect_sum(const ActiveCollective& each) const {
    const auto count = static_cast<std::size_t>(each.planned->count);
    std::vector<std::uint64_t> sum(count), part(count);
    for (int from = 0; from < size_; ++from) {
      fill_payload(reinterpret_cast<std::byte*>(part.data()), count * sizeof(std::uint64_t),
                   key_of(*each.planned, from));
      for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
    }
    if (std::memcmp(sum.data(), each.out.data, count * sizeof(std::uint64_t)) != 0)
      complain("the reduction", fmt::format("a sum of {} is wrong", count));
  }

  SimulatedRank& rank_;
  const TrafficPlan& plan_;
  Buffers& buffers_;
  PostedReceives& posted_;
  Random random_;
  Random aside_;  // drawn apart, so that older seeds stay what they were
  int me_ = 0;
  int size_ = 1;
  std::size_t phase_ = 0;
};

}  // namespace

void run_traffic(SimulatedRank& rank, const TrafficPlan& plan, Buffers& buffers, PostedReceives& posted,
                 std::uint64_t seed) {
  RankTraffic(rank, plan, buffers, posted, seed + static_cast<std::uint64_t>(rank.rank()) * 7'777'777).run();
}

}  // namespace hawser
