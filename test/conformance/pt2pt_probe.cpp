// Probes: looking at messages, and taking them out of matching.
#include "conformance.h"

namespace conformance {
namespace {

const int probe_sizes[] = {0, 1, 100, 9000, 300'000};

void probe_tells_source_tag_and_length(Conformance& t) {
  if (t.rank == 0) {
    for (int peer = 1; peer < t.size; ++peer) {
      for (int i = 0; i < 5; ++i) {
        MPI_Status status;
        if (i % 2) {
          OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        } else {
          int flag = 0;
          while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
        }
        int count = -1;
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_EQ(count, probe_sizes[status.MPI_TAG]);
        std::vector<unsigned char> data(static_cast<std::size_t>(count));
        MPI_Status received;
        OK(MPI_Recv(data.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                    &received));
        CHECK_EQ(received.MPI_SOURCE, status.MPI_SOURCE);
        CHECK_EQ(received.MPI_TAG, status.MPI_TAG);
        CHECK(data == bytes(count, status.MPI_SOURCE));
      }
    }
  } else {
    for (int i = 0; i < 5; ++i) {
      const auto data = bytes(probe_sizes[i], t.rank);
      OK(MPI_Send(data.data(), probe_sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD));
    }
  }
}

void iprobe_finds_nothing(Conformance& t) {
  int flag = 1;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  MPI_Message message = MPI_MESSAGE_NULL;
  OK(MPI_Improbe(MPI_ANY_SOURCE, 4711, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}

// Probing again and again finds the same message, the first that fits.
void probe_takes_nothing(Conformance& t) {
  if (t.rank == 0) {
    int first = 1;
    double second[3] = {1, 2, 3};
    OK(MPI_Send(&first, 1, MPI_INT, 1, 8, MPI_COMM_WORLD));
    OK(MPI_Send(second, 3, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD));
  } else {
    MPI_Status status;
    for (int i = 0; i < 3; ++i) {
      OK(MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_EQ(status.MPI_TAG, 8);
      OK(MPI_Probe(0, 9, MPI_COMM_WORLD, &status));
      int count = 0;
      OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
      CHECK_EQ(count, 3);
    }
    int value = 0;
    double values[3] = {};
    OK(MPI_Recv(values, 3, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 1);
    CHECK_EQ(values[2], 3.0);
  }
}

// A probe sees nothing that a posted receive has a right to.
void probe_passes_over_what_is_matched(Conformance& t) {
  for (int size : probe_sizes) {
    const auto one = bytes(size, 1), two = bytes(size, 2);
    if (t.rank == 0) {
      OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Send(one.data(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
      OK(MPI_Send(two.data(), size, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
    } else {
      std::vector<unsigned char> data(static_cast<std::size_t>(size)), other(static_cast<std::size_t>(size));
      MPI_Request request;
      OK(MPI_Irecv(data.data(), size, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
      OK(MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
      MPI_Status status;
      OK(MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_EQ(status.MPI_TAG, 2);
      OK(MPI_Recv(other.data(), size, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(data == one);
      CHECK(other == two);
    }
  }
}

// What a matched probe took out nobody else gets, and it is received later, in any order.
void matched_probe_takes_the_message(Conformance& t) {
  for (int size : probe_sizes) {
    if (t.rank == 0) {
      std::vector<unsigned char> data[4];
      MPI_Request requests[4];
      for (int i = 0; i < 4; ++i) {
        data[i] = bytes(size, i);
        OK(MPI_Isend(data[i].data(), size, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[i]));
      }
      OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    } else {
      std::vector<unsigned char> data[4];
      for (auto& buffer : data) buffer.resize(static_cast<std::size_t>(size));
      MPI_Message messages[2] = {MPI_MESSAGE_NULL, MPI_MESSAGE_NULL};
      MPI_Status status;
      OK(MPI_Mprobe(0, 5, MPI_COMM_WORLD, &messages[0], &status));
      int count = -1, flag = 0;
      OK(MPI_Get_count(&status, MPI_BYTE, &count));
      CHECK_EQ(count, size);
      while (!flag)
        OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &messages[1], &status));
      CHECK_EQ(status.MPI_SOURCE, 0);
      CHECK_EQ(status.MPI_TAG, 5);
      OK(MPI_Recv(data[2].data(), size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      MPI_Request request;
      OK(MPI_Imrecv(data[1].data(), size, MPI_BYTE, &messages[1], &request));
      CHECK(messages[1] == MPI_MESSAGE_NULL);
      OK(MPI_Wait(&request, &status));
      CHECK_EQ(status.MPI_TAG, 5);
      OK(MPI_Mrecv(data[0].data(), size, MPI_BYTE, &messages[0], &status));
      CHECK(messages[0] == MPI_MESSAGE_NULL);
      CHECK_EQ(status.MPI_SOURCE, 0);
      OK(MPI_Recv(data[3].data(), size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int i = 0; i < 4; ++i) CHECK(data[i] == bytes(size, i));
    }
  }
}

void matched_probe_of_own_message(Conformance& t) {
  for (int size : probe_sizes) {
    const auto sent = bytes(size, t.rank);
    for (bool synchronous : {false, true}) {
      MPI_Request request;
      OK((synchronous ? MPI_Issend : MPI_Isend)(sent.data(), size, MPI_BYTE, t.rank, 3, MPI_COMM_WORLD,
                                                &request));
      MPI_Message message;
      MPI_Status status;
      OK(MPI_Mprobe(t.rank, 3, MPI_COMM_WORLD, &message, &status));
      CHECK_EQ(status.MPI_SOURCE, t.rank);
      int flag = 1;
      OK(MPI_Iprobe(t.rank, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      CHECK_EQ(flag, 0);
      std::vector<unsigned char> data(static_cast<std::size_t>(size));
      OK(MPI_Mrecv(data.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(data == sent);
    }
  }
}

// A synchronous send completes only by the matched receive, not by the probe.
void matched_probe_of_synchronous_send(Conformance& t) {
  for (int size : probe_sizes) {
    const auto sent = bytes(size, 1);
    if (t.rank == 0) {
      OK(MPI_Ssend(sent.data(), size, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
    } else {
      MPI_Message message;
      OK(MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      std::vector<unsigned char> data(static_cast<std::size_t>(size));
      OK(MPI_Mrecv(data.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE));
      CHECK(data == sent);
    }
  }
}

void matched_probe_of_nobody(Conformance& t) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  int value = 5, count = -1;
  OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 0);
  int flag = 0;
  OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_EQ(flag, 1);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Request request;
  OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(value, 5);
}

void matched_receive_truncates(Conformance& t) {
  for (int size : {40, 30'000, 300'000}) {
    const auto data = bytes(size, 1);
    if (t.rank == 0) {
      OK(MPI_Send(data.data(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
      OK(MPI_Send(data.data(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    } else {
      MPI_Message message;
      OK(MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      std::vector<unsigned char> received(static_cast<std::size_t>(size), 0xee);
      CHECK_FAILS(MPI_Mrecv(received.data(), size - 9, MPI_BYTE, &message, MPI_STATUS_IGNORE),
                  MPI_ERR_TRUNCATE);
      for (int i = 0; i < 9; ++i) CHECK_EQ(received[static_cast<std::size_t>(size - 1 - i)], 0xee);
      OK(MPI_Recv(received.data(), size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(received == data);
    }
  }
}

}  // namespace

CHAPTER(pt2pt_probe, CASE(probe_tells_source_tag_and_length), CASE(iprobe_finds_nothing),
        CASE(probe_takes_nothing, .min_ranks = 2, .max_ranks = 2),
        CASE(probe_passes_over_what_is_matched, .min_ranks = 2, .max_ranks = 2),
        CASE(matched_probe_takes_the_message, .min_ranks = 2, .max_ranks = 2),
        CASE(matched_probe_of_own_message),
        CASE(matched_probe_of_synchronous_send, .min_ranks = 2, .max_ranks = 2),
        CASE(matched_probe_of_nobody), CASE(matched_receive_truncates, .min_ranks = 2, .max_ranks = 2))

}  // namespace conformance
