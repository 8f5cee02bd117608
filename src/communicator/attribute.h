// Attributes: values that a program hangs on communicators, datatypes and windows (MPI-5.0 section
// 7.7). A Keyval names one kind of attribute and holds the user's copy and delete functions; an
// AttributeSet is what one object carries.
//
// Order: copies run in the order of setting, deletes in the reverse order (the standard asks for it on
// MPI_COMM_SELF at MPI_Finalize; we keep it everywhere).
#pragma once

#include <cstdint>
#include <vector>

#include "base/counted.h"
#include "base/object_table.h"
#include "base/result.h"
#include "mpi/arguments.h"

namespace hawser {

enum class AttributeKind : std::uint8_t { communicator, datatype, window };

// Keyvals of predefined attributes, numbered as in the standard ABI (binding/ translates other ABIs').
namespace predefined_keyval {
inline constexpr int invalid = 0;
inline constexpr int tag_ub = 501;
inline constexpr int io = 502;
inline constexpr int host = 503;
inline constexpr int wtime_is_global = 504;
inline constexpr int appnum = 505;
inline constexpr int lastusedcode = 506;
inline constexpr int universe_size = 507;
inline constexpr int win_base = 601;
inline constexpr int win_disp_unit = 602;
inline constexpr int win_size = 603;
inline constexpr int win_create_flavor = 604;
inline constexpr int win_model = 605;
inline constexpr int last = 699;  // numbers up to here are never given to user keyvals
}  // namespace predefined_keyval

class Keyval final : public Counted {
 public:
  AttributeKind kind;
  int number = 0;                       // what the program sees
  bool freed = false;                   // MPI_*_free_keyval was called; works on while attributes use it
  AbiFunction copy_function = nullptr;  // null: MPI_NULL_COPY_FN; duplicate_function(): MPI_DUP_FN
  AbiFunction delete_function = nullptr;
  void* extra_state = nullptr;
  std::uint8_t flavor = 0;  // for binding/: which calling convention the functions have (C, Fortran)

  explicit Keyval(AttributeKind k) : kind(k) {}

  // Stands for MPI_DUP_FN: the value is copied as it is.
  static AbiFunction duplicate_function();
};

// Calls users' functions in their ABI; MpiProcess supplies it. `object` is the Communicator, Datatype or
// Window that carries the attribute, by keyval.kind. Returns the function's error code, 0 for success.
class AttributeCallbacks {
 public:
  virtual int copy(const Keyval& keyval, Counted& object, void* value, void*& copied, bool& keep) = 0;
  virtual int erase(const Keyval& keyval, Counted& object, void* value) = 0;

 protected:
  ~AttributeCallbacks() = default;
};

// The keyvals of one process.
class KeyvalTable {
 public:
  Keyval& create(AttributeKind kind, AbiFunction copy_function, AbiFunction delete_function,
                 void* extra_state);
  // Null unless a keyval of that kind and number exists: was not freed, or is in use (MPI-5.0 section 7.7.2).
  Keyval* find(AttributeKind kind, int number) const;
  Result<> free(AttributeKind kind, int number);

 private:
  std::vector<Ref<Keyval>> keyvals_;  // index = number - first_number
};

class AttributeSet {
 public:
  // Null when not set (a value itself may be null: look at `found`).
  void* find(const Keyval& keyval, bool& found) const;
  // Replaces: the old value's delete function runs first, and its failure leaves the old value.
  Result<> set(Keyval& keyval, void* value, Counted& object, AttributeCallbacks& callbacks);
  Result<> remove(const Keyval& keyval, Counted& object, AttributeCallbacks& callbacks);
  // Fills this (empty) set from another object's by their copy functions. Stops at the first failure;
  // what was copied until then is kept, for the caller to delete with the new object.
  Result<> copy_from(const AttributeSet& other, Counted& old_object, AttributeCallbacks& callbacks);
  // Runs all delete functions, newest first. Stops at the first failure, which leaves that attribute.
  Result<> remove_all(Counted& object, AttributeCallbacks& callbacks);
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Ref<Keyval> keyval;
    void* value;
  };
  std::vector<Entry> entries_;
};

}  // namespace hawser
