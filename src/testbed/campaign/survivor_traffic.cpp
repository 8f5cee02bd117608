#include "testbed/campaign/survivor_traffic.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/random.h"

namespace hawser {
namespace {

constexpr int small = 8, medium = 3000;

class Survivor {
 public:
  Survivor(SimulatedRank& rank, const SurvivorPlan& plan, Buffers& buffers, std::uint64_t seed)
      : process_(rank), plan_(plan), buffers_(buffers), seed_(seed), own_(seed + 1 + rank.rank()) {}

  int run() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    comm_ = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    look();
    const Nanoseconds until = process_.now() + plan_.last_kill;
    for (round_ = 0, trial_ = 0;; ++trial_) {
      Random drawn(seed_ + 7919 * static_cast<std::uint64_t>(round_));
      const bool well = one_round(drawn);
      if (!well) MPIX_Comm_revoke(comm_);
      // Two words: whether it went well, and whether all want to end.
      const bool enough = round_ >= plan_.rounds && process_.now() > until;
      int words = (well ? 1 : 0) | (enough ? 2 : 0);
      const bool whole = good(MPIX_Comm_agree(comm_, &words), "MPIX_Comm_agree");
      if (!whole || (words & 1) == 0) {
        shrink();
        continue;
      }
      ++round_;
      if ((words & 2) != 0) break;
    }
    const int left = size_;
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
    check(MPI_Finalize(), "MPI_Finalize");
    return left;
  }

 private:
  [[noreturn]] void complain(const std::string& what) const {
    throw std::runtime_error(fmt::format("round {}, rank {} of {}: {}", round_, rank_, size_, what));
  }
  void check(int code, const char* function) const {
    if (code != MPI_SUCCESS) complain(fmt::format("{} returned {}", function, code));
  }
  // A call may fail, but only for what happened.
  bool good(int code, const char* function) const {
    if (code == MPI_SUCCESS) return true;
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    if (error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING ||
        error_class == MPIX_ERR_REVOKED || error_class == MPI_ERR_IN_STATUS)
      return false;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    complain(fmt::format("{} failed with {}", function, text));
  }
  void look() {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  void shrink() {
    MPI_Comm smaller = MPI_COMM_NULL;
    MPIX_Comm_revoke(comm_);
    check(MPIX_Comm_shrink(comm_, &smaller), "MPIX_Comm_shrink");
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
    const int before = size_;
    comm_ = smaller;
    look();
    if (size_ > before) complain(fmt::format("{} ranks are left of {}", size_, before));
  }

  std::uint64_t key_of(int source) const {
    return seed_ * 1000003 + static_cast<std::uint64_t>(round_) * 4099 + static_cast<std::uint64_t>(source);
  }
  void expect(const Buffers::Buffer& buffer, int source, const char* what) const {
    const std::ptrdiff_t at = find_payload_error(buffer.data, buffer.size, key_of(source));
    if (at >= 0) complain(fmt::format("byte {} of {} from rank {} is wrong", at, what, source));
  }
  Buffers::Buffer take(int bytes) { return buffers_.take(static_cast<std::size_t>(bytes), true); }
  Buffers::Buffer filled(int bytes) {
    const Buffers::Buffer buffer = take(bytes);
    fill_payload(buffer.data, buffer.size, key_of(rank_));
    return buffer;
  }

  bool one_round(Random& drawn) {
    if (plan_.computing > 0 && own_.chance(0.3))
      process_.compute(static_cast<Nanoseconds>(own_.below(static_cast<std::uint64_t>(plan_.computing))));
    const auto kind = drawn.below(plan_.windows ? 11 : 10);
    const int size = drawn.chance(0.4) ? small : drawn.chance(0.5) ? medium : plan_.largest;
    const int root = static_cast<int>(drawn.below(static_cast<std::uint64_t>(size_)));
    if (plan_.late_every > 0 && drawn.chance(0.5)) return broadcasts_with_late_ranks(root, size);
    switch (kind) {
      case 0:
      case 1:
        return exchange(size);
      case 2:
        return all_to_all(size);
      case 3:
        return gather_by_any_source(root);
      case 4:
        return broadcast(root, size, drawn.chance(0.5));
      case 5:
      case 6:
        return reduce_all(std::max(1, size / 16), drawn.chance(0.3));
      case 7:
        return good(MPI_Barrier(comm_), "MPI_Barrier");
      case 8:
        return split(drawn.chance(0.5));
      case 9:
        return all_gather(std::max(1, size / 16));
      default:
        return epoch(size);
    }
  }

  // Their buffers are needed again, so all must end.
  bool finish(std::vector<MPI_Request>& requests, const char* what) {
    if (good(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), what))
      return true;
    MPIX_Comm_revoke(comm_);
    for (MPI_Request& request : requests)
      while (request != MPI_REQUEST_NULL) good(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    return false;
  }

  bool exchange(int bytes) {
    const int to = (rank_ + 1) % size_, from = (rank_ + size_ - 1) % size_;
    const Buffers::Buffer out = filled(bytes), in = take(bytes);
    std::vector<MPI_Request> requests(2);
    MPI_Irecv(in.data, bytes, MPI_BYTE, from, round_, comm_, &requests[0]);
    MPI_Isend(out.data, bytes, MPI_BYTE, to, round_, comm_, &requests[1]);
    const bool well = finish(requests, "the exchange");
    if (well) expect(in, from, "an exchanged message");
    buffers_.give_back(out);
    buffers_.give_back(in);
    return well;
  }

  bool all_to_all(int bytes) {
    const Buffers::Buffer out = filled(bytes);
    std::vector<Buffers::Buffer> in;
    std::vector<MPI_Request> requests;
    for (int other = 0; other < size_; ++other) {
      in.push_back(take(bytes));
      MPI_Irecv(in.back().data, bytes, MPI_BYTE, other, round_, comm_, &requests.emplace_back());
    }
    for (int i = 0; i < size_; ++i) {
      MPI_Request& request = requests.emplace_back();
      const int to = (rank_ + i) % size_;
      if (own_.chance(0.5))
        MPI_Issend(out.data, bytes, MPI_BYTE, to, round_, comm_, &request);
      else
        MPI_Isend(out.data, bytes, MPI_BYTE, to, round_, comm_, &request);
    }
    const bool well = finish(requests, "all to all");
    for (int other = 0; other < size_; ++other) {
      const Buffers::Buffer& buffer = in[static_cast<std::size_t>(other)];
      if (well) expect(buffer, other, "all to all");
      buffers_.give_back(buffer);
    }
    buffers_.give_back(out);
    return well;
  }

  bool gather_by_any_source(int root) {
    if (rank_ != root) return good(MPI_Ssend(&rank_, 1, MPI_INT, root, 2, comm_), "MPI_Ssend");
    long sum = 0;
    for (int i = 1; i < size_; ++i) {
      int got = -1;
      MPI_Status status;
      if (!good(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm_, &status), "MPI_Recv")) return false;
      if (got != status.MPI_SOURCE) complain(fmt::format("{} came from rank {}", got, status.MPI_SOURCE));
      sum += got;
    }
    if (sum != static_cast<long>(size_) * (size_ - 1) / 2 - root) complain("a wrong sum from any source");
    return true;
  }

  bool broadcast(int root, int bytes, bool in_background) {
    const Buffers::Buffer buffer = rank_ == root ? filled(bytes) : take(bytes);
    bool well = true;
    if (in_background) {
      MPI_Request request = MPI_REQUEST_NULL;
      well = good(MPI_Ibcast(buffer.data, bytes, MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
      for (int done = 0; well && done == 0;) {
        process_.compute(static_cast<Nanoseconds>(own_.below(2000)));
        well = good(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      }
    } else {
      well = good(MPI_Bcast(buffer.data, bytes, MPI_BYTE, root, comm_), "MPI_Bcast");
    }
    if (well) expect(buffer, root, "a broadcast");
    buffers_.give_back(buffer);
    return well;
  }

  // So many that the others of their hosts attach to multicast groups.
  bool broadcasts_with_late_ranks(int root, int bytes) {
    bool well = true;
    for (int left = 24; well && left > 0; --left) {
      if (process_.rank() % plan_.late_every == 0) process_.compute(200 * microsecond);
      well = broadcast(root, bytes, false);
    }
    return well;
  }

  bool reduce_all(int count, bool in_background) {
    const Buffers::Buffer out = take(count * 4), in = take(count * 4);
    auto* const ours = reinterpret_cast<std::int32_t*>(out.data);
    auto* const sums = reinterpret_cast<std::int32_t*>(in.data);
    for (int i = 0; i < count; ++i) ours[i] = i + rank_;
    bool well = true;
    if (in_background) {
      std::vector<MPI_Request> request(1);
      well = good(MPI_Iallreduce(ours, sums, count, MPI_INT32_T, MPI_SUM, comm_, &request[0]),
                  "MPI_Iallreduce") &&
             finish(request, "MPI_Iallreduce");
    } else {
      well = good(MPI_Allreduce(ours, sums, count, MPI_INT32_T, MPI_SUM, comm_), "MPI_Allreduce");
    }
    for (int i = 0; well && i < count; ++i)
      if (sums[i] != i * size_ + size_ * (size_ - 1) / 2)
        complain(fmt::format("element {} of {} of a sum is {}", i, count, sums[i]));
    buffers_.give_back(out);
    buffers_.give_back(in);
    return well;
  }

  bool all_gather(int bytes) {
    const Buffers::Buffer out = filled(bytes), in = take(bytes * size_);
    const bool well =
        good(MPI_Allgather(out.data, bytes, MPI_BYTE, in.data, bytes, MPI_BYTE, comm_), "MPI_Allgather");
    for (int source = 0; well && source < size_; ++source) {
      const auto size = static_cast<std::size_t>(bytes);
      if (find_payload_error(in.data + size * static_cast<std::size_t>(source), size, key_of(source)) >= 0)
        complain(fmt::format("what was gathered from rank {} is wrong", source));
    }
    buffers_.give_back(out);
    buffers_.give_back(in);
    return well;
  }

  // A communicator of every other rank, or the same ranks again. All agree that they have it before they use
  // it: nobody fails in a half without the rank that failed.
  bool split(bool halves) {
    MPI_Comm part = MPI_COMM_NULL;
    int made =
        good(halves ? MPI_Comm_split(comm_, rank_ % 2, 0, &part) : MPI_Comm_dup(comm_, &part), "a split");
    if (made == 0) MPIX_Comm_revoke(comm_);
    if (!good(MPIX_Comm_agree(comm_, &made), "MPIX_Comm_agree") || made == 0) {
      if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
      return false;
    }
    int sum = 0, expected = 0, in_part = 0;
    MPI_Comm_size(part, &in_part);
    for (int other = 0; other < size_; ++other)
      if (!halves || other % 2 == rank_ % 2) expected += other;
    const bool well = good(MPI_Allreduce(&rank_, &sum, 1, MPI_INT, MPI_SUM, part), "MPI_Allreduce of a part");
    if (well && sum != expected) complain(fmt::format("a sum of a part is {}", sum));
    if (!well) MPIX_Comm_revoke(part);
    MPI_Comm_free(&part);
    return well;
  }

  // Everyone puts into its neighbour's window. One that fails is left behind.
  bool epoch(int bytes) {
    const int to = (rank_ + 1) % size_, from = (rank_ + size_ - 1) % size_;
    void* memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    if (!good(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm_, &memory, &window), "MPI_Win_allocate"))
      return false;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    const Buffers::Buffer out = filled(bytes);
    bool well = good(MPI_Win_fence(0, window), "MPI_Win_fence");
    well = well && good(MPI_Put(out.data, bytes, MPI_BYTE, to, 0, bytes, MPI_BYTE, window), "MPI_Put");
    well = well && good(MPI_Win_fence(0, window), "MPI_Win_fence");
    if (well && find_payload_error(static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes),
                                   key_of(from)) >= 0)
      complain("what was put into the window is wrong");
    if (!well) return false;
    buffers_.give_back(out);
    return good(MPI_Win_free(&window), "MPI_Win_free");
  }

  SimulatedRank& process_;
  const SurvivorPlan& plan_;
  Buffers& buffers_;
  const std::uint64_t seed_;
  Random own_;  // of what this rank decides by itself
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0, round_ = 0, trial_ = 0;
};

}  // namespace

int run_survivors(SimulatedRank& rank, const SurvivorPlan& plan, Buffers& buffers, std::uint64_t seed) {
  return Survivor(rank, plan, buffers, seed).run();
}

}  // namespace hawser
