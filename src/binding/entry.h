// Entry: what every entry point begins with. It finds the current process, holds its lock, decodes handles,
// and turns failures into what the error handler in charge wants. Everything that a correct call passes
// through is inline; everything that a mistake leads to is out of line and cold.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "binding/abi.h"
#include "process/mpi_process.h"
#include "process/process_slot.h"

namespace hawser::binding {

// This ABI's hooks.
const AbiHooks& abi_hooks();

// What a core function answered. Not destroyed: a success owns nothing, and fail() destroys a failure.
union Outcome {
  Result<> result;
  ~Outcome() {}

  bool good() const { return static_cast<bool>(result); }
};

// Where a mistake was made. Passed by value to what is out of line, so that an Entry can live in registers.
struct Where {
  const char* function;
  MpiProcess* process;
};

// The object whose error handler hears of a mistake, or the handler that the call was given for an object
// that it was to make; none for errors without an object.
struct Owner {
  Communicator* communicator = nullptr;
  Session* session = nullptr;
  Window* window = nullptr;
  ErrorHandler* handler = nullptr;

  Owner(std::nullptr_t) {}
  Owner(Communicator* object) : communicator(object) {}
  Owner(Session* object) : session(object) {}
  Owner(Window* object) : window(object) {}
  Owner(ErrorHandler* given) : handler(given) {}

  // How many ranks can be named with this object.
  int peer_count() const { return window != nullptr ? window->size() : communicator->peer_count(); }
};

// In elements, whose sizes are at most 8 bytes.
inline constexpr std::int64_t longest_array = largest_buffer / 8;

// The counts and displacements of the blocks of a v or w form, with the arguments' names. Reductions have no
// displacements.
struct BlockArguments {
  struct Numbers {
    const char* name = nullptr;
    IntegerArray values;
  };
  Numbers counts;
  Numbers displacements;
  const char* types;
  const char* null_buffer;  // the buffer's name if it is a null pointer, else null
};

// All return the code to return to the program, after the error handler of `owner` (none: the one for
// errors without an object) has had its say.
[[gnu::cold]] int not_running(const char* function);
[[gnu::cold]] int fail(Where where, Owner owner, const Error& error);
[[gnu::cold]] int fail(Where where, Owner owner, Result<>& result);  // also destroys the result
[[gnu::cold]] int bad_handle(Where where, Owner owner, const char* argument, const char* noun,
                             ErrorClass error_class, bool null, std::uint64_t value);
[[gnu::cold]] int negative(Where where, Owner owner, const char* argument, std::int64_t value);
[[gnu::cold]] int bad_rank(Where where, Owner owner, const char* argument, int value);
[[gnu::cold]] int bad_tag(Where where, Owner owner, const char* argument, int value);
[[gnu::cold]] int null_argument(Where where, Owner owner, const char* argument);
[[gnu::cold]] int null_buffer(Where where, Owner owner, const char* argument, std::int64_t count);
[[gnu::cold]] int not_committed(Where where, Owner owner, const char* argument, const Datatype& type);
// A count that Entry::good_count or good_blocks refuses; `blocks` have it each.
[[gnu::cold]] int bad_count(Where where, Owner owner, const char* argument, std::int64_t count, int blocks,
                            const char* type_argument, const Datatype& type);
// A length that no array in memory has.
[[gnu::cold]] int no_such_array(Where where, Owner owner, const char* argument, std::int64_t length,
                                const char* array);
[[gnu::cold]] int too_large(Where where, Owner owner, const char* argument, std::int64_t value);
// MPI_SUCCESS if the counts and displacements of `n` blocks are good. Displacements are in extents of the one
// type, or in bytes where there is a type for each block.
int check_blocks(Where where, Owner owner, const BlockArguments& blocks, int n, const Datatype* type);
int check_blocks(Where where, Owner owner, const BlockArguments& blocks, int n,
                 std::span<Datatype* const> types);
// Of functions that do not exist yet. There are no files, so the error handler of files is the one that they
// have to begin with, MPI_ERRORS_RETURN (MPI-5.0 section 14.7).
[[gnu::cold]] int unsupported(Where where, Owner owner);
[[gnu::cold]] int unsupported_file(Where where);
// What MPI_Comm_get_name and its like answer for a null handle.
[[gnu::cold]] int name_of_null(Where where, const char* name, char* out, int* length);
// A process of the window has failed.
[[gnu::cold]] int stopped(const char* function, MPI_Win win, ErrorClass why);
MpiProcess* process_at_any_time();
// Ends the job: `function` could not allocate.
[[gnu::cold, noreturn]] void out_of_memory(const char* function, const std::bad_alloc& error);
bool claim_message(MpiProcess& process, MPI_Message handle, Message*& message);
// Of the lanes for threads. A request: false if the number names none there.
[[gnu::cold]] bool find_on_lane(MpiProcess& process, std::uint64_t number, Request*& request);
[[gnu::cold]] void put_on_lane(MpiProcess& process, Communicator& communicator);

// That of the request of all sends that were complete when they began.
inline MPI_Request handle_of_sent(MpiProcess& process) {
  const std::uint32_t number = process.point_to_point().sent().handle;
  if (number == 0) __builtin_unreachable();  // it has one from the beginning
  return Codec<Request>::handle(number);
}

class Entry {
 public:
  // For functions that need a running process.
  explicit Entry(const char* function) : Entry(function, current_slot().running) {}
  // The same where that was looked up before.
  Entry(const char* function, MpiProcess* running) : where_{function, locked(running, function)} {}
  // For functions that may be called at any time.
  struct AnyTime {};
  Entry(const char* function, AnyTime) : where_{function, locked(process_at_any_time(), function)} {}
  ~Entry() {
    if (where_.process != nullptr) [[likely]]
      where_.process->lock().unlock();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool running() const { return where_.process != nullptr; }
  MpiProcess& process() const { return *where_.process; }
  bool checks() const { return where_.process->knobs().checks; }

  // The object of a handle; null for the null handle and for garbage.
  template <class T, class Handle>
  T* find(Handle handle) const {
    const auto& table = table_of<T>(where_.process->handles());
    if constexpr (requires { Codec<T>::reserved_number(handle); }) {
      const std::uint64_t number = Codec<T>::reserved_number(handle);
      if (number < Codec<T>::reserved) [[likely]]
        return table.find_reserved(number);
    }
    return table.find(Codec<T>::number(handle));
  }
  template <class T, class Handle>
  static bool is_null(Handle handle) {
    return Codec<T>::number(handle) == 0;
  }
  // Stands in for a datatype or an operation that is not significant, and may be garbage.
  template <class T>
  T* any() const {
    constexpr std::uint64_t number = std::is_same_v<T, Datatype> ? any_datatype_number : any_operator_number;
    return table_of<T>(where_.process->handles()).find(number);
  }

  // A handle for an object that the core hands out; the null handle for null.
  template <class T>
  auto give(T* object) const {
    return object == nullptr ? Codec<T>::handle(0) : Codec<T>::handle(give_number(*object));
  }
  MPI_Comm give(Communicator* communicator) const {
    if (communicator == nullptr) return Codec<Communicator>::handle(0);
    const std::uint32_t number = give_number(*communicator);
    if (where_.process->has_lanes()) [[unlikely]]
      put_on_lane(*where_.process, *communicator);
    return Codec<Communicator>::handle(number);
  }
  [[gnu::always_inline]] MPI_Request give(Request* request) const {
    if (request == nullptr) [[unlikely]]
      return Codec<Request>::handle(0);
    return Codec<Request>::handle(where_.process->handles().requests.number_of(*request));
  }
  MPI_Request give_sent() const { return handle_of_sent(*where_.process); }
  MPI_Message give(Message* message) const {
    if (message == Message::no_proc()) return Codec<Message>::handle(1);
    return Codec<Message>::handle(message == nullptr ? 0
                                                     : where_.process->handles().messages.give_out(*message));
  }
  // The program gave the object's handle back.
  template <class T, class Handle>
  void take_back(Handle* handle, T& object) const {
    auto& table = table_of<T>(where_.process->handles());
    *handle = Codec<T>::handle(0);
    if (table.predefined(object)) return;
    table.take_back(object);
    object.release();
  }
  // The request or message of a handle; false for garbage. Null handles give null.
  bool find_request(MPI_Request handle, Request*& request) const {
    const std::uint64_t number = Codec<Request>::number(handle);
    request = where_.process->handles().requests.find(number);
    return request != nullptr || number == 0 || find_on_lane(*where_.process, number, request);
  }
  // Takes the message out of the table, because the receive that the caller begins ends its life.
  bool claim_message(MPI_Message handle, Message*& message) const {
    return binding::claim_message(*where_.process, handle, message);
  }
  template <class Handle>
  bool find_info(Handle handle, Info*& info) const {
    info = find<Info>(handle);
    return info != nullptr || is_null<Info>(handle);
  }

  int not_running() const { return binding::not_running(where_.function); }
  int fail(Owner owner, const Error& error) const { return binding::fail(where_, owner, error); }
  int fail(Owner owner, Outcome& outcome) const { return binding::fail(where_, owner, outcome.result); }
  // Inlined, for who calls it gives the Entry a place in memory.
  template <class T, class Handle>
  [[gnu::always_inline]] int bad_handle(Owner owner, const char* argument, Handle handle) const {
    return binding::bad_handle(where_, owner, argument, Noun<T>::text, Noun<T>::error_class,
                               is_null<T>(handle), Codec<T>::value(handle));
  }
  int negative(Owner owner, const char* argument, std::int64_t value) const {
    return binding::negative(where_, owner, argument, value);
  }
  int bad_rank(Owner owner, const char* argument, int value) const {
    return binding::bad_rank(where_, owner, argument, value);
  }
  int bad_tag(Owner owner, const char* argument, int value) const {
    return binding::bad_tag(where_, owner, argument, value);
  }
  int null_argument(Owner owner, const char* argument) const {
    return binding::null_argument(where_, owner, argument);
  }
  int null_buffer(Owner owner, const char* argument, std::int64_t count) const {
    return binding::null_buffer(where_, owner, argument, count);
  }
  int not_committed(Owner owner, const char* argument, const Datatype& type) const {
    return binding::not_committed(where_, owner, argument, type);
  }
  int no_such_array(Owner owner, const char* argument, std::int64_t length, const char* array) const {
    return binding::no_such_array(where_, owner, argument, length, array);
  }
  int bad_count(Owner owner, const char* argument, std::int64_t count, int blocks, const char* type_argument,
                const Datatype& type) const {
    return binding::bad_count(where_, owner, argument, count, blocks, type_argument, type);
  }
  template <class Types>
  int check_blocks(Owner owner, const BlockArguments& blocks, int n, const Types& types) const {
    return binding::check_blocks(where_, owner, blocks, n, types);
  }
  int too_large(Owner owner, const char* argument, std::int64_t value) const {
    return binding::too_large(where_, owner, argument, value);
  }

  int unsupported(Owner owner) const { return binding::unsupported(where_, owner); }
  int unsupported_file() const { return binding::unsupported_file(where_); }
  int name_of_null(const char* name, char* out, int* length) const {
    return binding::name_of_null(where_, name, out, length);
  }

  // Why a rank is good: the tests of the hot path.
  static bool is_peer(const Communicator& communicator, int rank) {
    return communicator.may_send_to(rank) || communicator.was_peer(rank);
  }
  static bool is_peer(const Window& window, int rank) {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(window.size());
  }
  // With MPI_NO_OP an origin's buffer is not significant.
  static bool takes_origin(const Operator& op) {
    return !op.predefined() || op.kind() != PredefinedOperator::no_op;
  }
  static bool good_root(const Communicator& communicator, int root) {
    if (!communicator.inter()) return is_peer(communicator, root);
    return is_peer(communicator, root) || root == root_rank || root == proc_null;
  }
  static bool is_root(const Communicator& communicator, int root) {
    return root == (communicator.inter() ? root_rank : communicator.rank());
  }
  static bool is_leaf(const Communicator& communicator, int root) {
    return !communicator.inter() || root >= 0;
  }
  // Whether the type may be used and a buffer of so many elements can exist: one comparison, which a negative
  // count and a type that is not committed fail too.
  static bool good_count(std::int64_t count, const Datatype& type) {
    return static_cast<std::uint64_t>(count) < type.count_bound;
  }
  // The same for several blocks of `count` elements, together.
  static bool good_blocks(std::int64_t count, int blocks, const Datatype& type) {
    const auto elements =
        static_cast<unsigned __int128>(static_cast<std::uint64_t>(count)) * static_cast<unsigned>(blocks);
    return elements < type.count_bound || (type.size == 0 && type.extent == 0 && good_count(count, type));
  }
  // What is left of good_count where there is no buffer.
  static bool usable(std::int64_t count, const Datatype& type) { return count >= 0 && type.committed; }
  // Whether a null buffer cannot be meant: MPI_BOTTOM is the null pointer too, but then the type has
  // addresses.
  static bool null_buffer_matters(std::int64_t count, const Datatype& type) {
    return count > 0 && type.predefined;
  }

 private:
  // Before anything is in memory: the lock makes the compiler forget what is.
  static MpiProcess* locked(MpiProcess* process, const char* function) {
    if (process != nullptr) [[likely]]
      process->lock().lock(function);
    return process;
  }
  static constexpr std::uint32_t any_datatype_number = 0x47;  // MPI_BYTE
  static constexpr std::uint32_t any_operator_number = 1;     // MPI_SUM

  template <class T>
  std::uint32_t give_number(T& object) const {
    auto& table = table_of<T>(where_.process->handles());
    if (!table.predefined(object)) object.retain();
    return table.give_out(object);
  }

  Where where_;
};

// Gives a 64-bit result to the program; false if it does not fit there.
template <class Int>
bool store(Int* out, std::int64_t value) {
  if constexpr (sizeof(Int) < sizeof(value)) {
    if (value > std::numeric_limits<Int>::max() || value < std::numeric_limits<Int>::min()) [[unlikely]]
      return false;
  }
  *out = static_cast<Int>(value);
  return true;
}
// The same where the standard wants MPI_UNDEFINED instead of an error.
template <class Int>
void store_or_undefined(Int* out, std::int64_t value) {
  if (!store(out, value)) *out = undefined;
}

// What the program gets to see of a predefined attribute: values that mean ranks or constants differ.
void* attribute_from_core(int keyval, void* value);

// Translates the constants among the integers that made a datatype (MPI_Type_get_contents).
void contents_from_core(const Datatype& datatype, int* integers, std::int64_t n);

inline std::int64_t* wide(long* values) { return values; }

inline bool ignored(const MPI_Status* status) { return status == MPI_STATUS_IGNORE || status == nullptr; }

// Copies into a string of the program with room for `capacity` characters, null included; returns the length.
int copy_text(char* out, std::int64_t capacity, const std::string& text);

}  // namespace hawser::binding
