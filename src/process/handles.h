// Handles: the numbers of a process's MPI objects, one table for each kind. binding/ turns a number into
// its ABI's handle and back, and holds one reference to the object for each time that it gave the number out.
//
// Predefined objects have the numbers of the standard ABI (MPI-5.0 chapter 20) counted from the first
// of their kind, so that number 0 is the null handle of every kind but datatypes' and operators' (where it is
// too) and decoding a predefined handle is a subtraction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/counted.h"
#include "base/object_table.h"
#include "message/message.h"
#include "message/request_table.h"

namespace hawser {

class Communicator;
class Datatype;
class ErrorHandler;
class Group;
class Info;
class Operator;
class Session;
class Window;

// First handle value of each kind in the standard ABI, and how many numbers are kept for predefined objects.
struct HandleRange {
  std::uint32_t first;
  std::uint32_t reserved;
};
inline constexpr HandleRange operator_range{0x20, 32};
inline constexpr HandleRange communicator_range{0x100, 8};  // 1 WORLD, 2 SELF
inline constexpr HandleRange group_range{0x108, 8};         // 1 EMPTY
inline constexpr HandleRange window_range{0x110, 8};        // no predefined ones
inline constexpr HandleRange session_range{0x120, 8};
inline constexpr HandleRange message_range{0x128, 8};  // 1 NO_PROC: Message::no_proc(), not in the table
inline constexpr HandleRange info_range{0x130, 8};     // 1 ENV
inline constexpr HandleRange error_handler_range{0x140, 8};  // 1 ARE_FATAL, 2 ABORT, 3 RETURN
inline constexpr HandleRange datatype_range{0x200, 512};

// Objects of type T (with a member `handle`) by number.
template <class T>
class HandleTable {
 public:
  explicit HandleTable(std::uint32_t reserved) : reserved_(reserved) { table_.reserve_numbers(reserved); }

  T* find(std::uint64_t number) const { return table_.find(number); }
  // The same for a number below `reserved`.
  T* find_reserved(std::uint64_t number) const { return table_.find_reserved(number); }
  // Enters a predefined object under its fixed number.
  void place(std::uint32_t number, T& object) {
    table_.place(number, &object);
    object.handle = number;
  }
  void remove_predefined(std::uint32_t number) { table_.place(number, nullptr); }
  // The number to give out for an object: it gets one the first time. Every time it is given out counts,
  // because a program frees each handle it was given (MPI_Comm_group called twice gives two, to the same
  // group).
  std::uint32_t give_out(T& object) {
    if (object.handle == 0) {
      object.handle = table_.add(&object);
      if (given_.size() <= object.handle) given_.resize(object.handle + 1);
      given_[object.handle] = 0;
    }
    if (object.handle >= reserved_) ++given_[object.handle];
    return object.handle;
  }
  // The program gives a handle back; after the last one the number names nothing. Predefined numbers stay.
  void take_back(T& object) {
    if (object.handle < reserved_) return;
    if (--given_[object.handle] == 0) {
      table_.remove(object.handle);
      object.handle = 0;
    }
  }
  // How many handles of an object the program holds; 0 for predefined ones.
  std::uint32_t handles_of(const T& object) const {
    return object.handle < reserved_ ? 0 : given_[object.handle];
  }
  // When the process ends: drops the references that go with handles the program never gave back.
  void release_all() {
    for (std::uint64_t i = reserved_; i < table_.size(); ++i) {
      T* object = table_.find(i);
      if (object == nullptr) continue;
      const std::uint32_t given = given_[i];
      table_.remove(static_cast<std::uint32_t>(i));
      object->handle = 0;
      for (std::uint32_t n = 0; n < given; ++n) object->release();
    }
  }
  bool predefined(const T& object) const { return object.handle != 0 && object.handle < reserved_; }
  // Calls visit(object) for every object beyond the predefined ones; to report what was never freed.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint64_t i = 0; i < table_.size(); ++i)
      if (T* object = table_.find(i)) visit(*object);
  }

 private:
  const std::uint32_t reserved_;
  ObjectTable<T> table_;
  std::vector<std::uint32_t> given_;  // by number: how often it was given out and not taken back
};

struct Handles {
  HandleTable<Communicator> communicators{communicator_range.reserved};
  HandleTable<Datatype> datatypes{datatype_range.reserved};
  HandleTable<Operator> operators{operator_range.reserved};
  HandleTable<Group> groups{group_range.reserved};
  HandleTable<Info> infos{info_range.reserved};
  HandleTable<ErrorHandler> error_handlers{error_handler_range.reserved};
  HandleTable<Session> sessions{session_range.reserved};
  HandleTable<Window> windows{window_range.reserved};
  HandleTable<Message> messages{message_range.reserved};
  // Requests go by their own rules: use number_of and find; the core removes them.
  RequestTable requests;

  void release_all();
};

}  // namespace hawser
