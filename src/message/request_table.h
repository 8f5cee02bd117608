// RequestTable: the numbers of requests. Requests of the message room's pool keep their number for life,
// so that giving one out on the hot path costs nothing; others get one when binding/ first asks.
//
// Requests of the lanes for threads (message_lane.h) have tables of their own, and a number tells of which.
#pragma once

#include <cstdint>
#include <new>

#include "base/object_table.h"
#include "message/request.h"

namespace hawser {

class RequestTable {
 public:
  // Of the process itself (0), or of a lane.
  explicit RequestTable(std::uint8_t lane = 0) : lane_(lane) {
    table_.add(nullptr);  // number 0 is MPI_REQUEST_NULL
  }

  // 0: it is no lane's.
  static constexpr std::uint32_t lane_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number >> lane_shift);
  }
  std::uint8_t lane() const { return lane_; }

  // The request's number, given to it now if it has none.
  std::uint32_t number_of(Request& request) {
    if (request.handle == 0) [[unlikely]]
      enter(request);
    return request.handle;
  }
  // Numbers for an array of requests that have none.
  template <class AnyRequest>
  void enter_array(AnyRequest* first, std::size_t count) {
    if (table_.size() + count > most_numbers) [[unlikely]]
      throw std::bad_alloc();
    const std::uint32_t number = table_.add_array(first, count) + first_number();
    for (std::size_t i = 0; i < count; ++i) first[i].handle = number + static_cast<std::uint32_t>(i);
  }
  // Null when no request that the user may name has this number.
  Request* find(std::uint64_t number) const {
    Request* request = find_any(number);
    return request != nullptr && request->valid ? request : nullptr;
  }
  // Also finds requests that the user has freed or never saw: for replies from other processes.
  Request* find_any(std::uint64_t number) const { return table_.find(number - first_number()); }
  // The user gives the request up: its number names nothing from here on.
  void forget(Request& request) {
    if (request.pooled) {
      request.valid = false;
    } else if (request.handle != 0) {
      table_.remove(request.handle - first_number());
      request.handle = 0;
    }
  }

 private:
  // Handles of MPICH's ABI have 26 bits for all.
  static constexpr int lane_shift = 23;
  static constexpr std::size_t most_numbers = std::size_t{1} << lane_shift;
  std::uint32_t first_number() const { return std::uint32_t{lane_} << lane_shift; }

  [[gnu::noinline]] void enter(Request& request) {
    if (table_.size() >= most_numbers) [[unlikely]]
      throw std::bad_alloc();
    request.handle = table_.add(&request) + first_number();
  }

  const std::uint8_t lane_;
  ObjectTable<Request> table_;
};

}  // namespace hawser
