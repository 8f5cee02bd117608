// Order where many receives or many messages wait: whoever finds them must find the one that a search in
// order would find.
#include "conformance.h"

namespace conformance {
namespace {

constexpr int deep = 600;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void say_ready(Conformance& t, int to) { OK(MPI_Send(nullptr, 0, MPI_INT, to, deep + 100, MPI_COMM_WORLD)); }
void wait_until_ready(Conformance& t, int from) {
  OK(MPI_Recv(nullptr, 0, MPI_INT, from, deep + 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

// Twice each tag, by name and from anyone. Messages come against the order of tags, those of one in order.
void posted_tags_are_met_in_any_order(Conformance& t) {
  if (t.rank == 1) {
    std::vector<int> got(2 * deep, -1);
    std::vector<MPI_Request> requests(2 * deep);
    for (int i = 0; i < 2 * deep; ++i)
      OK(MPI_Irecv(&got[at(i)], 1, MPI_INT, i % 3 == 0 ? 0 : MPI_ANY_SOURCE, i % deep, MPI_COMM_WORLD,
                   &requests[at(i)]));
    say_ready(t, 0);
    OK(MPI_Waitall(2 * deep, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * deep; ++i) CHECK_EQ(got[at(i)], i);
  } else {
    wait_until_ready(t, 1);
    for (int tag = deep - 1; tag >= 0; --tag) {
      for (const int value : {tag, tag + deep}) OK(MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD));
    }
  }
}

// Behind many receives stand pairs, one for any tag and one for tag 7, in either order.
void earlier_wildcard_wins_behind_many(Conformance& t) {
  if (t.rank == 1) {
    std::vector<int> behind(deep, -1);
    std::vector<MPI_Request> requests(deep);
    for (int i = 0; i < deep; ++i)
      OK(MPI_Irecv(&behind[at(i)], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 1000 + i, MPI_COMM_WORLD,
                   &requests[at(i)]));
    for (int turn = 0; turn < 8; ++turn) {
      int wild = -1, named = -1;
      MPI_Request pair[2];
      const int wild_source = turn & 2 ? 0 : MPI_ANY_SOURCE, source = turn & 4 ? 0 : MPI_ANY_SOURCE;
      for (int i = 0; i < 2; ++i) {
        if (i == turn % 2)
          OK(MPI_Irecv(&wild, 1, MPI_INT, wild_source, MPI_ANY_TAG, MPI_COMM_WORLD, &pair[i]));
        else
          OK(MPI_Irecv(&named, 1, MPI_INT, source, 7, MPI_COMM_WORLD, &pair[i]));
      }
      say_ready(t, 0);
      OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
      CHECK_EQ(turn % 2 == 0 ? wild : named, 1);
      CHECK_EQ(turn % 2 == 0 ? named : wild, 2);
    }
    say_ready(t, 0);
    OK(MPI_Waitall(deep, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < deep; ++i) CHECK_EQ(behind[at(i)], i);
  } else {
    for (int turn = 0; turn < 8; ++turn) {
      wait_until_ready(t, 1);
      for (const int value : {1, 2}) OK(MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD));
    }
    wait_until_ready(t, 1);
    for (int i = deep - 1; i >= 0; --i) OK(MPI_Send(&i, 1, MPI_INT, 1, 1000 + i, MPI_COMM_WORLD));
  }
}

// Of two receives for each tag, every third first one is cancelled.
void cancelled_receives_are_passed_over(Conformance& t) {
  if (t.rank == 1) {
    std::vector<int> first(deep, -1), second(deep, -1);
    std::vector<MPI_Request> requests(2 * deep);
    std::vector<MPI_Status> statuses(2 * deep);
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < deep; ++i)
        OK(MPI_Irecv(half == 0 ? &first[at(i)] : &second[at(i)], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i,
                     MPI_COMM_WORLD, &requests[at(half * deep + i)]));
    // The last one is met first, behind all the others.
    say_ready(t, 0);
    OK(MPI_Wait(&requests[deep - 1], MPI_STATUS_IGNORE));
    CHECK_EQ(first[deep - 1], deep - 1);
    for (int i = 0; i < deep - 1; i += 3) OK(MPI_Cancel(&requests[at(i)]));
    say_ready(t, 0);
    OK(MPI_Waitall(2 * deep, requests.data(), statuses.data()));
    for (int i = 0; i < deep - 1; ++i) {
      int cancelled = -1;
      OK(MPI_Test_cancelled(&statuses[at(i)], &cancelled));
      CHECK_EQ(cancelled, i % 3 == 0);
      CHECK_EQ(first[at(i)], i % 3 == 0 ? -1 : i);
      CHECK_EQ(second[at(i)], i % 3 == 0 ? i : i + deep);
    }
  } else {
    wait_until_ready(t, 1);
    int value = deep - 1;
    OK(MPI_Send(&value, 1, MPI_INT, 1, deep - 1, MPI_COMM_WORLD));
    wait_until_ready(t, 1);
    for (int i = deep - 1; i >= 0; --i) {
      if (i != deep - 1) OK(MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
      value = i + deep;
      if (i == deep - 1 || i % 3 != 0) OK(MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
    }
  }
}

// Many messages wait. Some are taken from behind by matched probes, some by receives from either kind of
// source, and any tag takes the rest in order.
void unexpected_messages_are_taken_from_anywhere(Conformance& t) {
  if (t.rank == 0) {
    for (int i = 0; i < 2 * deep; ++i) OK(MPI_Send(&i, 1, MPI_INT, 1, i % deep, MPI_COMM_WORLD));
    say_ready(t, 1);
    return;
  }
  wait_until_ready(t, 0);
  std::vector<MPI_Message> taken;
  int flag = 1;
  for (int tag = deep - 1; tag >= 0; --tag) {
    const int source = tag % 2 ? 0 : MPI_ANY_SOURCE;
    MPI_Status status;
    if (tag % 4 == 0) {
      taken.emplace_back();
      OK(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &taken.back(), &status));
      CHECK_EQ(status.MPI_TAG, tag);
    } else if (tag % 4 != 3) {
      int got = -1;
      OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
      CHECK_EQ(flag, 1);
      OK(MPI_Recv(&got, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(got, tag);
    }
  }
  OK(MPI_Iprobe(MPI_ANY_SOURCE, deep, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  for (int i = 0; i < 2 * deep; ++i) {
    if (i < deep && i % 4 != 3) continue;
    int got = -1;
    OK(MPI_Recv(&got, 1, MPI_INT, i % 3 ? 0 : MPI_ANY_SOURCE, i % 5 ? MPI_ANY_TAG : i % deep, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    CHECK_EQ(got, i);
  }
  for (int i = 0; i < static_cast<int>(taken.size()); ++i) {
    int got = -1;
    OK(MPI_Mrecv(&got, 1, MPI_INT, &taken[at(i)], MPI_STATUS_IGNORE));
    CHECK_EQ(got, deep - 4 - 4 * i);
  }
}

// Every rank sends each tag once; rank 0 meets the first of a tag by MPI_ANY_SOURCE, the others by name.
void many_senders_and_many_tags(Conformance& t) {
  constexpr int tags = 100;
  if (t.rank != 0) {
    for (int i = 0; i < tags; ++i) {
      const int data[2] = {t.rank, (i * 37 + t.rank) % tags};
      OK(MPI_Send(data, 2, MPI_INT, 0, data[1], MPI_COMM_WORLD));
    }
    return;
  }
  for (int tag = tags - 1; tag >= 0; --tag) {
    std::vector<bool> heard(at(t.size), false);
    for (int i = 1; i < t.size; ++i) {
      int source = MPI_ANY_SOURCE, data[2] = {-1, -1};
      if (i > 1) {
        source = 1;
        while (heard[at(source)]) ++source;
      }
      MPI_Status status;
      OK(MPI_Recv(data, 2, MPI_INT, source, tag, MPI_COMM_WORLD, &status));
      CHECK_EQ(data[0], status.MPI_SOURCE);
      CHECK_EQ(data[1], tag);
      CHECK(!heard[at(status.MPI_SOURCE)]);
      heard[at(status.MPI_SOURCE)] = true;
    }
  }
}

}  // namespace

CHAPTER(pt2pt_deep, CASE(posted_tags_are_met_in_any_order, .min_ranks = 2, .max_ranks = 2),
        CASE(earlier_wildcard_wins_behind_many, .min_ranks = 2, .max_ranks = 2),
        CASE(cancelled_receives_are_passed_over, .min_ranks = 2, .max_ranks = 2),
        CASE(unexpected_messages_are_taken_from_anywhere, .min_ranks = 2, .max_ranks = 2),
        CASE(many_senders_and_many_tags, .min_ranks = 2, .slow = true))

}  // namespace conformance
