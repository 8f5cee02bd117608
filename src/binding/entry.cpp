#include "binding/entry.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "binding/hand.h"
#include "mpi/failure.h"
#include "process/message_lanes.h"

namespace hawser::binding {

MpiProcess* process_at_any_time() {
  MpiProcess& process = current_slot().process();
  process.set_hooks(abi_hooks());
  return &process;
}

bool find_on_lane(MpiProcess& process, std::uint64_t number, Request*& request) {
  if (!process.has_lanes()) return false;
  request = process.lanes()->find_request(number);
  return request != nullptr;
}

void put_on_lane(MpiProcess& process, Communicator& communicator) {
  MessageLanes& lanes = *process.lanes();
  if (process.handles().communicators.predefined(communicator) || !MessageLanes::may_adopt(communicator))
    return;
  process.wait_until([&] { return lanes.knows(communicator); });
  lanes.adopt(communicator);
}

bool claim_message(MpiProcess& process, MPI_Message handle, Message*& message) {
  const std::uint64_t number = Codec<Message>::number(handle);
  if (number == 1) {
    message = Message::no_proc();
    return true;
  }
  message = process.handles().messages.find(number);
  if (message == nullptr) return false;
  process.handles().messages.take_back(*message);
  return true;
}

void out_of_memory(const char* function, const std::bad_alloc& error) {
  current_slot().process().out_of_memory(function, error);
}

int not_running(const char* function) {
  ProcessSlot& slot = current_slot();
  const char* when = slot.process().is_copy() ? "in a forked child, but only the rank itself may call MPI"
                     : slot.finalized         ? "after MPI_Finalize"
                                              : "before MPI_Init";
  const Error error = failure(ErrorClass::other, "called {}", when);
  return from_core_error_code(process_at_any_time()->report({}, function, error));
}

int fail(Where where, Owner owner, const Error& error) {
  const ErrorOrigin origin = where.process->take_error_origin();
  AbiObject object;
  if (origin.communicator || origin.session || origin.window) {
    object.communicator = origin.communicator.get();
    object.session = origin.session.get();
    object.window = origin.window.get();
  } else if (owner.handler != nullptr) {
    const Ref<ErrorHandler> handler(owner.handler);
    Ref<Session> unborn;  // what the functions of sessions' handlers are called with
    if (handler->for_what == ErrorHandler::For::session) unborn = make_counted<Session>(handler, nullptr);
    object.session = unborn.get();
    return from_core_error_code(where.process->report_to(handler, object, where.function, error));
  } else {
    object.communicator = owner.communicator;
    object.session = owner.session;
    object.window = owner.window;
  }
  return from_core_error_code(where.process->report(object, where.function, error));
}

int fail(Where where, Owner owner, Result<>& result) {
  const Error error = result.take_error();
  std::destroy_at(&result);
  return fail(where, owner, error);
}

int stopped(const char* function, MPI_Win win, ErrorClass why) {
  Entry entry(function);
  return entry.fail(entry.find<Window>(win),
                    failure(why, "a process of the window has failed; the window is of no use any more"));
}

int bad_handle(Where where, Owner owner, const char* argument, const char* noun, ErrorClass error_class,
               bool null, std::uint64_t value) {
  if (null) return fail(where, owner, failure(error_class, "{} is the null {}", argument, noun));
  return fail(where, owner,
              failure(error_class, "{} is {:#x}, which is not a valid {}", argument, value, noun));
}

int negative(Where where, Owner owner, const char* argument, std::int64_t value) {
  return fail(where, owner,
              failure(ErrorClass::count, "{} is {}, but must not be negative", argument, value));
}

int bad_rank(Where where, Owner owner, const char* argument, int value) {
  const ErrorClass error_class = std::strcmp(argument, "root") == 0 ? ErrorClass::root : ErrorClass::rank;
  return fail(
      where, owner,
      failure(error_class, "{} is {}, but the ranks of the {} are 0 to {}", argument, from_core_rank(value),
              owner.window != nullptr ? "window" : "communicator", owner.peer_count() - 1));
}

int bad_tag(Where where, Owner owner, const char* argument, int value) {
  return fail(where, owner,
              failure(ErrorClass::tag, "{} is {}, but must be 0 to {}", argument, from_core_tag_any(value),
                      tag_upper_bound));
}

int null_argument(Where where, Owner owner, const char* argument) {
  return fail(where, owner, failure(ErrorClass::arg, "{} is a null pointer", argument));
}

int null_output(const char* function, const char* argument) {
  const Entry entry(function, Entry::AnyTime());
  return entry.null_argument(nullptr, argument);
}

int null_buffer(Where where, Owner owner, const char* argument, std::int64_t count) {
  return fail(where, owner,
              failure(ErrorClass::buffer, "{} is a null pointer, but the count is {}", argument, count));
}

int not_committed(Where where, Owner owner, const char* argument, const Datatype& type) {
  const char* name = type.name.empty() ? "without a name" : type.name.c_str();
  return fail(where, owner,
              failure(ErrorClass::type, "{}, a datatype {}, is not committed (call MPI_Type_commit)",
                      argument, name));
}

int bad_count(Where where, Owner owner, const char* argument, std::int64_t count, int blocks,
              const char* type_argument, const Datatype& type) {
  if (count < 0) return negative(where, owner, argument, count);
  if (!type.committed) return not_committed(where, owner, type_argument, type);
  const char* name = type.name.empty() ? "without a name" : type.name.c_str();
  const std::string each = blocks == 1 ? "" : fmt::format(" for each of {} processes", blocks);
  return fail(
      where, owner,
      failure(ErrorClass::count,
              "{} is {}{}, but memory has room for at most {} elements of {}, a datatype {} of size {} "
              "and extent {}",
              argument, count, each, type.count_bound - 1, type_argument, name, type.size, type.extent));
}

int no_such_array(Where where, Owner owner, const char* argument, std::int64_t length, const char* array) {
  return fail(where, owner,
              failure(ErrorClass::count, "{} is {}, but memory has no room for {} of that length", argument,
                      length, array));
}

int too_large(Where where, Owner owner, const char* argument, std::int64_t value) {
  return fail(
      where, owner,
      failure(ErrorClass::value_too_large, "{} is {}, which does not fit into an int", argument, value));
}

int unsupported(Where where, Owner owner) {
  const int code = fail(where, owner,
                        failure(ErrorClass::unsupported_operation,
                                "Hawser does not implement this function yet (see `hawser info --missing`)"));
  where.process->say_missing(where.function);  // the program is not ended by it
  return code;
}

int unsupported_file(Where where) {
  where.process->say_missing(where.function);
  return from_core_error_code(static_cast<int>(ErrorClass::unsupported_operation));
}

int name_of_null(Where where, const char* name, char* out, int* length) {
  if (out == nullptr || length == nullptr) return null_argument(where, nullptr, "an output argument");
  *length = copy_text(out, MPI_MAX_OBJECT_NAME, name);
  return MPI_SUCCESS;
}

int copy_text(char* out, std::int64_t capacity, const std::string& text) {
  if (capacity <= 0) return 0;
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(capacity - 1));
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
  return static_cast<int>(length);
}

#ifdef HAWSER_ABI_OF_MPICH
namespace {

// A place for every value of a window's attribute that has other numbers here.
void* window_attribute(int value) {
  static constexpr int values[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC,
                                   MPI_WIN_FLAVOR_SHARED};
  static_assert(MPI_WIN_UNIFIED <= 4 && MPI_WIN_SEPARATE <= 4 && values[3] == 4);
  return const_cast<int*>(&values[value - 1]);
}

}  // namespace

void* attribute_from_core(int keyval, void* value) {
  static constexpr int any = MPI_ANY_SOURCE;
  static constexpr int none = MPI_PROC_NULL;
  if (keyval == MPI_WIN_CREATE_FLAVOR)
    return window_attribute(from_core_window_flavor(*static_cast<const int*>(value)));
  if (keyval == MPI_WIN_MODEL)
    return window_attribute(from_core_window_model(*static_cast<const int*>(value)));
  if (value == nullptr || (keyval != MPI_IO && keyval != MPI_HOST)) return value;
  const int rank = *static_cast<const int*>(value);
  if (rank == any_source) return const_cast<int*>(&any);
  return rank == proc_null ? const_cast<int*>(&none) : value;
}

void contents_from_core(const Datatype& datatype, int* integers, std::int64_t room) {
  // There may be more room than integers.
  const std::int64_t n = std::min(room, static_cast<std::int64_t>(datatype.contents()->integers.size()));
  if (n < 1) return;
  if (datatype.combiner == Combiner::subarray) {
    integers[n - 1] = from_core_order(integers[n - 1]);
  } else if (datatype.combiner == Combiner::darray) {
    // size, rank, ndims, gsizes (not of the large-count form), distributions, their arguments, psizes, order
    const int dimensions = integers[2];
    int* const distributions = integers + 3 + (datatype.contents()->large_counts.empty() ? dimensions : 0);
    for (int i = 0; i < dimensions; ++i) {
      int& distribution = distributions[i];
      distribution = from_core_distribution(distribution);
      int& argument = distributions[dimensions + i];
      argument = from_core_distribution_argument(argument);
    }
    integers[n - 1] = from_core_order(integers[n - 1]);
  }
}
#else
void* attribute_from_core(int, void* value) { return value; }
void contents_from_core(const Datatype&, int*, std::int64_t) {}
#endif

}  // namespace hawser::binding
