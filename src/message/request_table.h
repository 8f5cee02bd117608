// RequestTable: the numbers of requests. Requests of the message room's pool keep their number for life,
// so that giving one out on the hot path costs nothing; others get one when binding/ first asks.
#pragma once

#include "base/object_table.h"
#include "message/request.h"

namespace hawser {

class RequestTable {
 public:
  RequestTable() { table_.add(nullptr); }  // number 0 is MPI_REQUEST_NULL

  // The request's number, given to it now if it has none.
  std::uint32_t number_of(Request& request) {
    if (request.handle == 0) [[unlikely]]
      enter(request);
    return request.handle;
  }
  // Numbers for an array of requests that have none.
  template <class AnyRequest>
  void enter_array(AnyRequest* first, std::size_t count) {
    const std::uint32_t number = table_.add_array(first, count);
    for (std::size_t i = 0; i < count; ++i) first[i].handle = number + static_cast<std::uint32_t>(i);
  }
  // Null when no request that the user may name has this number.
  Request* find(std::uint64_t number) const {
    Request* request = table_.find(number);
    return request != nullptr && request->valid ? request : nullptr;
  }
  // Also finds requests that the user has freed or never saw: for replies from other processes.
  Request* find_any(std::uint64_t number) const { return table_.find(number); }
  // The user gives the request up: its number names nothing from here on.
  void forget(Request& request) {
    if (request.pooled) {
      request.valid = false;
    } else if (request.handle != 0) {
      table_.remove(request.handle);
      request.handle = 0;
    }
  }

 private:
  [[gnu::noinline]] void enter(Request& request) { request.handle = table_.add(&request); }

  ObjectTable<Request> table_;
};

}  // namespace hawser
