// Persistent collective operations (MPI-5.0 section 6.13): many at a time, started and freed in other orders
// by other ranks.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "conformance.h"
#include "owned.h"

namespace conformance {

#if MPI_VERSION >= 4
namespace {

// One operation on `count` integers, with its request. Initializing it is collective, in one order.
class Prepared {
 public:
  Prepared(Conformance& t, MPI_Comm comm, int kind, int count)
      : t_(t), kind_(kind % kinds), count_(count), root_(kind % t.size), in_(words()), out_(words()) {
    OK(MPI_Comm_rank(comm, &rank_));
    init(comm);
  }
  Prepared(Prepared&& other) = delete;
  ~Prepared() {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }

  static constexpr int kinds = 11;
  MPI_Request request = MPI_REQUEST_NULL;

  void fill(int round) {
    round_ = round;
    std::fill(out_.begin(), out_.end(), -1);
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(rank_, static_cast<int>(i));
    if (kind_ == 1 && rank_ != root_) std::fill(in_.begin(), in_.end(), -1);
  }

  void check() {
    Conformance& t = t_;
    for (int i = 0; i < count_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (kind_ == 1) CHECK_EQ(in_[at], value(root_, i));
      if ((kind_ == 2 && rank_ == root_) || kind_ == 3) CHECK_EQ(out_[at], sum(t.size, i));
      if (kind_ == 8) CHECK_EQ(out_[at], sum(t.size, rank_ * count_ + i));
      if (kind_ == 9) CHECK_EQ(out_[at], sum(rank_ + 1, i));
      if (kind_ == 6) CHECK_EQ(out_[at], value(root_, rank_ * count_ + i));
      for (int r = 0; r < t.size; ++r) {
        const auto there = static_cast<std::size_t>(r * count_ + i);
        if (kind_ == 4 || (kind_ == 5 && rank_ == root_)) CHECK_EQ(out_[there], value(r, i));
        if (kind_ == 7 || kind_ == 10) CHECK_EQ(out_[there], value(r, rank_ * count_ + i));
      }
    }
  }

 private:
  std::size_t words() const { return static_cast<std::size_t>(count_) * static_cast<std::size_t>(t_.size); }
  int value(int rank, int i) const { return (rank + 1) * 31 + i % 1000 + round_ * 7; }
  int sum(int ranks, int i) const {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += value(r, i);
    return all;
  }

  void init(MPI_Comm comm) {
    Conformance& t = t_;
    int *in = in_.data(), *out = out_.data();
    MPI_Info none = MPI_INFO_NULL;
    switch (kind_) {
      case 0:
        OK(MPI_Barrier_init(comm, none, &request));
        break;
      case 1:
        OK(MPI_Bcast_init(in, count_, MPI_INT, root_, comm, none, &request));
        break;
      case 2:
        OK(MPI_Reduce_init(in, out, count_, MPI_INT, MPI_SUM, root_, comm, none, &request));
        break;
      case 3:
        OK(MPI_Allreduce_init(in, out, count_, MPI_INT, MPI_SUM, comm, none, &request));
        break;
      case 4:
        OK(MPI_Allgather_init(in, count_, MPI_INT, out, count_, MPI_INT, comm, none, &request));
        break;
      case 5:
        OK(MPI_Gather_init(in, count_, MPI_INT, out, count_, MPI_INT, root_, comm, none, &request));
        break;
      case 6:
        OK(MPI_Scatter_init(in, count_, MPI_INT, out, count_, MPI_INT, root_, comm, none, &request));
        break;
      case 7:
        OK(MPI_Alltoall_init(in, count_, MPI_INT, out, count_, MPI_INT, comm, none, &request));
        break;
      case 8:
        OK(MPI_Reduce_scatter_block_init(in, out, count_, MPI_INT, MPI_SUM, comm, none, &request));
        break;
      case 9:
        OK(MPI_Scan_init(in, out, count_, MPI_INT, MPI_SUM, comm, none, &request));
        break;
      default:
        counts_.assign(static_cast<std::size_t>(t.size), count_);
        for (int r = 0; r < t.size; ++r) starts_.push_back(r * count_);
        OK(MPI_Alltoallv_init(in, counts_.data(), starts_.data(), MPI_INT, out, counts_.data(),
                              starts_.data(), MPI_INT, comm, none, &request));
        break;
    }
  }

  Conformance& t_;
  int kind_;
  int count_;
  int root_;
  int rank_ = 0;
  int round_ = 0;
  std::vector<int> in_, out_, counts_, starts_;
};

using All = std::vector<std::unique_ptr<Prepared>>;

// In MPI_COMM_WORLD's order, dealt out (so that nodes of consecutive ranks have every second one), or mixed.
enum class Order : unsigned char { as_world, dealt_out, mixed };

OwnedComm everyone(Conformance& t, Order order = Order::as_world) {
  const unsigned half = static_cast<unsigned>(t.size + 1) / 2, rank = static_cast<unsigned>(t.rank);
  const unsigned key = order == Order::as_world    ? rank
                       : order == Order::dealt_out ? 2 * (rank % half) + rank / half
                                                   : rank * 2654435761U % 1009;
  OwnedComm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, static_cast<int>(key), comm.out()));
  return comm;
}

All prepare(Conformance& t, MPI_Comm comm, const std::vector<int>& counts, int first = 0) {
  All all;
  for (int count : counts)
    for (int kind = 0; kind < Prepared::kinds; ++kind)
      all.push_back(std::make_unique<Prepared>(t, comm, first + kind, count));
  return all;
}

// A rank's own order, another one in every round.
std::vector<std::size_t> order(const Conformance& t, std::size_t n, int round) {
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::rotate(
      places.begin(),
      places.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t.rank * 5 + round * 3) % n),
      places.end());
  if ((t.rank + round) % 2 == 1) std::reverse(places.begin(), places.end());
  return places;
}

void run(Conformance& t, All& all, int round) {
  for (auto& each : all) each->fill(round);
  for (std::size_t i : order(t, all.size(), round)) OK(MPI_Start(&all[i]->request));
  for (std::size_t i : order(t, all.size(), round + 1)) OK(MPI_Wait(&all[i]->request, MPI_STATUS_IGNORE));
  for (auto& each : all) each->check();
}

void started_in_any_order(Conformance& t) {
  const OwnedComm comm = everyone(t);
  All all = prepare(t, comm, {1, 900, 9000});
  for (int round = 0; round < 4; ++round) run(t, all, round);
}

// Nodes have other ranks, leaders and roots than those of MPI_COMM_WORLD.
void ranks_in_other_orders(Conformance& t) {
  for (const Order order : {Order::dealt_out, Order::mixed}) {
    const OwnedComm comm = everyone(t, order);
    All all = prepare(t, comm, {2, 300, 5000}, t.size / 2);
    for (int round = 0; round < 3; ++round) run(t, all, round);
  }
}

// One after the other, with other operations of the communicator in between.
void among_others(Conformance& t) {
  const OwnedComm comm = everyone(t);
  All all = prepare(t, comm, {3, 5000});
  for (int round = 0; round < 6; ++round) {
    int sum = 0, later = 0;
    MPI_Request request;
    for (auto& each : all) {
      each->fill(round);
      OK(MPI_Start(&each->request));
      if (t.rank % 2 == round % 2) OK(MPI_Wait(&each->request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Iallreduce(&t.rank, &later, 1, MPI_INT, MPI_SUM, comm, &request));
    OK(MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(sum, t.size * (t.size - 1) / 2);
    CHECK_EQ(later, sum);
    for (auto& each : all) {
      OK(MPI_Wait(&each->request, MPI_STATUS_IGNORE));
      each->check();
    }
  }
}

void all_at_once(Conformance& t) {
  const OwnedComm comm = everyone(t);
  All all = prepare(t, comm, {20});
  for (int round = 0; round < 20; ++round) {
    std::vector<MPI_Request> requests;
    for (std::size_t i : order(t, all.size(), round)) {
      all[i]->fill(round);
      requests.push_back(all[i]->request);
    }
    OK(MPI_Startall(static_cast<int>(requests.size()), requests.data()));
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (auto& each : all) each->check();
  }
}

// A rank may be many starts ahead of others.
void one_many_times(Conformance& t) {
  const OwnedComm comm = everyone(t);
  for (int kind = 0; kind < Prepared::kinds; ++kind) {
    Prepared small(t, comm, kind, 2), large(t, comm, kind, 7000);
    for (int round = 0; round < 300; ++round) {
      Prepared& one = round % 50 == 49 ? large : small;
      one.fill(round);
      OK(MPI_Start(&one.request));
      OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
      one.check();
    }
  }
}

// Each rank keeps some of them for as long as it likes; the others must not take these places.
void freed_and_made_again(Conformance& t) {
  const OwnedComm comm = everyone(t);
  std::vector<All> kept;
  for (int round = 0; round < 24; ++round) {
    All all;
    for (int i = 0; i < 4; ++i)
      all.push_back(std::make_unique<Prepared>(t, comm, round + 3 * i, i % 2 == 0 ? 4 : 6000));
    run(t, all, round);
    for (std::size_t i : order(t, all.size(), round))
      if ((static_cast<int>(i) + t.rank + round) % 3 != 0) all[i] = nullptr;
    kept.push_back(std::move(all));
    const auto most = static_cast<std::size_t>(1 + t.rank % 3);
    if (kept.size() > most) kept.erase(kept.begin());
  }
}

void never_started(Conformance& t) {
  const OwnedComm comm = everyone(t);
  for (int round = 0; round < 5; ++round) prepare(t, comm, {1, 3000});
  All all = prepare(t, comm, {1, 3000});
  run(t, all, 0);
}

// Requests hold what they need of a communicator that the program has freed, for as long as each rank likes.
void communicators_freed_first(Conformance& t) {
  std::vector<All> kept;
  for (int round = 0; round < 40; ++round) {
    OwnedComm comm = everyone(t);
    All all;
    for (int kind : {0, 1, 3, 4, 7})
      all.push_back(std::make_unique<Prepared>(t, comm, kind, kind == 4 ? 9000 : 3));
    run(t, all, round);
    comm = OwnedComm();
    run(t, all, round + 1);
    kept.push_back(std::move(all));
    if (t.rank % 2 == round % 2 && kept.size() > 3) kept.erase(kept.begin(), kept.begin() + 2);
  }
}

// And what another rank keeps delays nobody who makes a communicator, however many there are.
void kept_until_a_message(Conformance& t) {
  if (t.size < 2) return;
  std::vector<std::unique_ptr<Prepared>> kept;
  for (int i = 0; i < 40; ++i) {
    OwnedComm comm = everyone(t);
    kept.push_back(std::make_unique<Prepared>(t, comm, 3, 3));
    if (t.rank == 0) kept.clear();
  }
  int word = 0;
  if (t.rank == 0) {
    for (int r = 1; r < t.size; ++r) OK(MPI_Send(&word, 1, MPI_INT, r, 5, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

}  // namespace

CHAPTER(coll_persistent, CASE(started_in_any_order), CASE(ranks_in_other_orders), CASE(among_others),
        CASE(all_at_once), CASE(one_many_times), CASE(freed_and_made_again), CASE(never_started),
        CASE(communicators_freed_first), CASE(kept_until_a_message))

#else
std::span<const Case> coll_persistent() { return {}; }
#endif

}  // namespace conformance
