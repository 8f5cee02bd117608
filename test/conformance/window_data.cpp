// Puts and gets: sizes, datatypes, places, requests (MPI-5.0 sections 12.3.1 to 12.3.3, 12.3.6).
#include <cstring>
#include <numeric>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// A window over memory of this rank, of bytes, and its neighbours in a ring.
struct Ring {
  Ring(Conformance& t, std::vector<unsigned char>& memory, int unit = 1)
      : next((t.rank + 1) % t.size), previous((t.rank + t.size - 1) % t.size) {
    OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), unit, MPI_INFO_NULL,
                      MPI_COMM_WORLD, win.out()));
    OK(MPI_Win_fence(0, win));
  }
  OwnedWin win;
  int next;
  int previous;
};

void put_sizes(Conformance& t) {
  for (const int size : message_sizes()) {
    std::vector<unsigned char> memory(static_cast<std::size_t>(size) + 2, 0xee);
    Ring ring(t, memory);
    const auto data = bytes(size, t.rank);
    OK(MPI_Put(data.data(), size, MPI_BYTE, ring.next, 1, size, MPI_BYTE, ring.win));
    OK(MPI_Win_fence(0, ring.win));
    CHECK(std::vector<unsigned char>(memory.begin() + 1, memory.end() - 1) == bytes(size, ring.previous));
    CHECK_EQ(memory.front(), 0xee);
    CHECK_EQ(memory.back(), 0xee);
  }
}

void get_sizes(Conformance& t) {
  for (const int size : message_sizes()) {
    std::vector<unsigned char> memory = bytes(size + 1, t.rank);
    Ring ring(t, memory);
    std::vector<unsigned char> got(static_cast<std::size_t>(size) + 2, 0xee);
    OK(MPI_Get(got.data() + 1, size, MPI_BYTE, ring.next, 1, size, MPI_BYTE, ring.win));
    OK(MPI_Win_fence(0, ring.win));
    const auto wanted = bytes(size + 1, ring.next);
    CHECK(std::equal(got.begin() + 1, got.end() - 1, wanted.begin() + 1));
    CHECK_EQ(got.front(), 0xee);
    CHECK_EQ(got.back(), 0xee);
  }
}

// Large ones in both directions at once.
void large(Conformance& t) {
  constexpr int size = 3'000'000;
  std::vector<unsigned char> memory(2 * size);
  const auto data = bytes(size, t.rank);
  std::copy(data.begin(), data.end(), memory.begin());
  Ring ring(t, memory);
  std::vector<unsigned char> got(size);
  OK(MPI_Put(data.data(), size, MPI_BYTE, ring.next, size, size, MPI_BYTE, ring.win));
  OK(MPI_Get(got.data(), size, MPI_BYTE, ring.next, 0, size, MPI_BYTE, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  CHECK(got == bytes(size, ring.next));
  CHECK(std::vector<unsigned char>(memory.begin() + size, memory.end()) == bytes(size, ring.previous));
}

// Each rank writes and reads a place of its own at each other rank, many at once.
void everybody_to_everybody(Conformance& t) {
  const int block = 200;
  std::vector<int> memory(static_cast<std::size_t>(block * t.size), -1);
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int),
                    MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  OK(MPI_Win_fence(0, win));
  const auto data = values(block, t.rank);
  for (int to = 0; to < t.size; ++to)
    for (int i = 0; i < block; ++i)
      OK(MPI_Put(&data[i], 1, MPI_INT, to, static_cast<MPI_Aint>(block) * t.rank + i, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int from = 0; from < t.size; ++from)
    CHECK(std::equal(memory.begin() + block * from, memory.begin() + block * (from + 1),
                     values(block, from).begin()));
  std::vector<int> got(memory.size(), -1);
  for (int from = 0; from < t.size; ++from)
    OK(MPI_Get(&got[block * from], block, MPI_INT, from, static_cast<MPI_Aint>(block) * t.rank, block,
               MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int from = 0; from < t.size; ++from)
    CHECK(std::equal(got.begin() + block * from, got.begin() + block * (from + 1),
                     values(block, t.rank).begin()));
}

void units_of_their_own(Conformance& t) {
  const int unit = t.rank % 3 == 0 ? 1 : 4 * t.rank;
  std::vector<unsigned char> memory(400 * (t.rank + 1), 0);
  Ring ring(t, memory, unit);
  const int place = 12 * ring.next;  // byte
  const int displacement = ring.next % 3 == 0 ? place : 3;
  const std::uint64_t value = 0x1122334455667788u + static_cast<unsigned>(t.rank);
  OK(MPI_Put(&value, 1, MPI_UINT64_T, ring.next, displacement, 1, MPI_UINT64_T, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  std::uint64_t got = 0;
  std::memcpy(&got, memory.data() + 12 * t.rank, sizeof got);
  CHECK_EQ(got, 0x1122334455667788u + static_cast<unsigned>(ring.previous));
}

void nothing_at_all(Conformance& t) {
  std::vector<unsigned char> memory(8, 1);
  Ring ring(t, memory);
  OK(MPI_Put(nullptr, 0, MPI_INT, ring.next, 0, 0, MPI_INT, ring.win));
  OK(MPI_Get(nullptr, 0, MPI_INT, ring.next, 0, 0, MPI_INT, ring.win));
  OK(MPI_Put(memory.data(), 4, MPI_BYTE, MPI_PROC_NULL, 0, 4, MPI_BYTE, ring.win));
  OK(MPI_Get(memory.data(), 4, MPI_BYTE, MPI_PROC_NULL, 0, 4, MPI_BYTE, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  CHECK(memory == std::vector<unsigned char>(8, 1));
}

// --- Datatypes ---

OwnedType strided(Conformance& t, int count, int length, int stride) {
  OwnedType type;
  OK(MPI_Type_vector(count, length, stride, MPI_INT, type.out()));
  OK(MPI_Type_commit(type.out()));
  return type;
}

// From every second element to every third; `wide` elements each time, so that large ones are cut somewhere.
void put_strided(Conformance& t, int count) {
  const OwnedType origin = strided(t, count, 1, 2);
  const OwnedType target = strided(t, count, 1, 3);
  std::vector<unsigned char> memory(static_cast<std::size_t>(3 * count) * sizeof(int), 0);
  auto* ints = reinterpret_cast<int*>(memory.data());
  std::fill(ints, ints + 3 * count, -1);
  Ring ring(t, memory, sizeof(int));
  const auto data = values(2 * count, t.rank);
  OK(MPI_Put(data.data(), 1, origin, ring.next, 0, 1, target, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  for (int i = 0; i < 3 * count; ++i)
    REQUIRE(ints[i] == (i % 3 == 0 ? value_at(i / 3 * 2, ring.previous) : -1));
}
void put_strided_small(Conformance& t) { put_strided(t, 5); }
void put_strided_large(Conformance& t) { put_strided(t, 70'000); }

void get_strided(Conformance& t, int count) {
  const OwnedType origin = strided(t, count, 1, 2);
  const OwnedType target = strided(t, count, 1, 3);
  std::vector<unsigned char> memory(static_cast<std::size_t>(3 * count) * sizeof(int));
  auto* ints = reinterpret_cast<int*>(memory.data());
  for (int i = 0; i < 3 * count; ++i) ints[i] = value_at(i, t.rank);
  Ring ring(t, memory, sizeof(int));
  std::vector<int> got(static_cast<std::size_t>(2 * count), -1);
  OK(MPI_Get(got.data(), 1, origin, ring.next, 0, 1, target, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  for (int i = 0; i < 2 * count; ++i) REQUIRE(got[i] == (i % 2 == 0 ? value_at(i / 2 * 3, ring.next) : -1));
}
void get_strided_small(Conformance& t) { get_strided(t, 5); }
void get_strided_large(Conformance& t) { get_strided(t, 70'000); }

// Packed on one side, apart on the other; several elements; a type that begins above its lower bound.
void packed_and_apart(Conformance& t) {
  const int lengths[3] = {2, 1, 3}, places[3] = {1, 5, 8};
  OwnedType plain, apart;
  OK(MPI_Type_indexed(3, lengths, places, MPI_INT, plain.out()));
  OK(MPI_Type_create_resized(plain, 0, 12 * sizeof(int), apart.out()));
  OK(MPI_Type_commit(apart.out()));
  std::vector<unsigned char> memory(48 * sizeof(int));
  auto* ints = reinterpret_cast<int*>(memory.data());
  std::fill(ints, ints + 48, -1);
  Ring ring(t, memory, sizeof(int));
  const auto data = values(18, t.rank);
  OK(MPI_Put(data.data(), 18, MPI_INT, ring.next, 6, 3, apart, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  int next = 0;
  std::vector<int> wanted(48, -1);
  for (int element = 0; element < 3; ++element)
    for (int block = 0; block < 3; ++block)
      for (int i = 0; i < lengths[block]; ++i)
        wanted[6 + 12 * element + places[block] + i] = value_at(next++, ring.previous);
  CHECK(std::equal(wanted.begin(), wanted.end(), ints));
  std::vector<int> back(18, -1);
  OK(MPI_Get(back.data(), 18, MPI_INT, ring.next, 6, 3, apart, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  CHECK(back == data);
}

struct Record {
  char tag;
  double value;
  short numbers[3];
};

void records(Conformance& t) {
  const int lengths[3] = {1, 1, 3};
  const MPI_Aint places[3] = {offsetof(Record, tag), offsetof(Record, value), offsetof(Record, numbers)};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  OwnedType plain, record;
  OK(MPI_Type_create_struct(3, lengths, places, types, plain.out()));
  OK(MPI_Type_create_resized(plain, 0, sizeof(Record), record.out()));
  OK(MPI_Type_commit(record.out()));
  std::vector<Record> memory(10), data(10);
  for (int i = 0; i < 10; ++i)
    data[i] = {static_cast<char>('a' + i), t.rank + i / 16.0, {static_cast<short>(i), 2, 3}};
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), 10 * sizeof(Record), sizeof(Record), MPI_INFO_NULL, MPI_COMM_WORLD,
                    win.out()));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(data.data(), 7, record, (t.rank + 1) % t.size, 3, 7, record, win));
  OK(MPI_Win_fence(0, win));
  const int from = (t.rank + t.size - 1) % t.size;
  for (int i = 0; i < 7; ++i) {
    const Record& got = memory[3 + i];
    CHECK(got.tag == 'a' + i && got.value == from + i / 16.0 && got.numbers[0] == i && got.numbers[2] == 3);
  }
}

// The datatype is freed while the operation is under way.
void freed_types(Conformance& t) {
  std::vector<unsigned char> memory(4000 * sizeof(int));
  Ring ring(t, memory, sizeof(int));
  const auto data = values(2000, t.rank);
  for (int i = 0; i < 5; ++i) {
    const OwnedType target = strided(t, 400, 1, 2);
    OK(MPI_Put(&data[400 * i], 400, MPI_INT, ring.next, 800 * i, 1, target, ring.win));
  }
  OK(MPI_Win_fence(0, ring.win));
  const auto* ints = reinterpret_cast<const int*>(memory.data());
  for (int i = 0; i < 2000; ++i) REQUIRE(ints[2 * i] == value_at(i, ring.previous));
}

// More types than anybody remembers.
void many_types(Conformance& t) {
  constexpr int types = 150;
  std::vector<unsigned char> memory(types * 3 * sizeof(int));
  Ring ring(t, memory, sizeof(int));
  const int data[2] = {t.rank, t.rank + 1};
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < types; ++i) {
      const int lengths[2] = {1, 1}, places[2] = {3 * i, 3 * i + 1 + i % 2};
      OwnedType type;
      OK(MPI_Type_indexed(2, lengths, places, MPI_INT, type.out()));
      OK(MPI_Type_commit(type.out()));
      OK(MPI_Put(data, 2, MPI_INT, ring.next, 0, 1, type, ring.win));
    }
  OK(MPI_Win_fence(0, ring.win));
  const auto* ints = reinterpret_cast<const int*>(memory.data());
  for (int i = 0; i < types; ++i)
    CHECK(ints[3 * i] == ring.previous && ints[3 * i + 1 + i % 2] == ring.previous + 1);
}

// --- Requests ---

void requests(Conformance& t) {
  constexpr int n = 20, block = 3000;
  std::vector<int> memory(n * block, -1);
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int),
                    MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
  auto data = values(n * block, t.rank);
  OK(MPI_Win_lock_all(0, win));
  std::vector<MPI_Request> all(n, MPI_REQUEST_NULL);
  for (int i = 0; i < n; ++i)
    OK(MPI_Rput(&data[i * block], block, MPI_INT, to, static_cast<MPI_Aint>(i) * block, block, MPI_INT, win,
                &all[i]));
  OK(MPI_Waitall(n, all.data(), MPI_STATUSES_IGNORE));
  for (const MPI_Request request : all) CHECK(request == MPI_REQUEST_NULL);
  std::fill(data.begin(), data.end(), -7);  // the program's again
  OK(MPI_Win_flush(to, win));
  std::vector<int> got(n * block, -1);
  for (int i = 0; i < n; ++i)
    OK(MPI_Rget(&got[i * block], block, MPI_INT, to, static_cast<MPI_Aint>(i) * block, block, MPI_INT, win,
                &all[i]));
  for (int i = n - 1; i >= 0; --i) {
    int flag = 0;
    while (!flag) OK(MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE));
    CHECK(std::equal(got.begin() + i * block, got.begin() + (i + 1) * block,
                     values(n * block, t.rank).begin() + i * block));
  }
  MPI_Request nobody = MPI_REQUEST_NULL;
  OK(MPI_Rput(data.data(), 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &nobody));
  OK(MPI_Wait(&nobody, MPI_STATUS_IGNORE));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, win));
  CHECK(memory == values(n * block, from));
  OK(MPI_Win_unlock(t.rank, win));
}

// Requests of windows among others.
void mixed_requests(Conformance& t) {
  const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
  int memory = -1, received = -1, got = -1;
  OwnedWin win;
  OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  OK(MPI_Win_lock_all(0, win));
  MPI_Request all[4];
  OK(MPI_Irecv(&received, 1, MPI_INT, from, 4, MPI_COMM_WORLD, &all[0]));
  OK(MPI_Rput(&t.rank, 1, MPI_INT, to, 0, 1, MPI_INT, win, &all[1]));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Rget(&got, 1, MPI_INT, to, 0, 1, MPI_INT, win, &all[2]));
  OK(MPI_Isend(&t.rank, 1, MPI_INT, to, 4, MPI_COMM_WORLD, &all[3]));
  OK(MPI_Waitall(4, all, MPI_STATUSES_IGNORE));
  CHECK_EQ(received, from);
  CHECK_EQ(got, t.rank);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

#if MPI_VERSION >= 4
void large_forms(Conformance& t) {
  std::vector<unsigned char> memory(64);
  Ring ring(t, memory, sizeof(int));
  const int data[2] = {t.rank, 5};
  int got[2] = {};
  OK(MPI_Put_c(data, 2, MPI_INT, ring.next, 1, 2, MPI_INT, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  OK(MPI_Get_c(got, 2, MPI_INT, ring.next, 1, 2, MPI_INT, ring.win));
  OK(MPI_Win_fence(0, ring.win));
  CHECK(got[0] == t.rank && got[1] == 5);
  OK(MPI_Win_lock_all(0, ring.win));
  MPI_Request request;
  OK(MPI_Rput_c(data, 1, MPI_INT, ring.next, 4, 1, MPI_INT, ring.win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Win_flush(ring.next, ring.win));
  OK(MPI_Rget_c(got, 1, MPI_INT, ring.next, 4, 1, MPI_INT, ring.win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(got[0], t.rank);
  OK(MPI_Win_unlock_all(ring.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}
#endif

}  // namespace

CHAPTER(window_data, CASE(put_sizes), CASE(get_sizes), CASE(large, .slow = true),
        CASE(everybody_to_everybody, .slow = true), CASE(units_of_their_own), CASE(nothing_at_all),
        CASE(put_strided_small), CASE(put_strided_large, .slow = true), CASE(get_strided_small),
        CASE(get_strided_large, .slow = true), CASE(packed_and_apart), CASE(records), CASE(freed_types),
        CASE(many_types, .slow = true), CASE(requests, .slow = true), CASE(mixed_requests)
#if MPI_VERSION >= 4
                                                                          ,
        CASE(large_forms)
#endif
)

}  // namespace conformance
