// Setting and getting attributes.
#include <mutex>
#include <unordered_map>

#include "binding/fortran/callbacks.h"

namespace hawser::fortran {
namespace {

// The cells by their addresses. Attributes outlive the call that sets them, and this library has no object
// for a process; the table only grows with attributes that a keyval made in C holds.
struct Cells {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::unique_ptr<MPI_Aint>> by_address;
};
Cells& cells() {
  static Cells* const all = new Cells;
  return *all;
}

}  // namespace

void* new_cell(MPI_Aint value) {
  auto cell = std::make_unique<MPI_Aint>(value);
  void* const address = cell.get();
  const std::lock_guard lock(cells().mutex);
  cells().by_address.emplace(reinterpret_cast<std::uintptr_t>(address), std::move(cell));
  return address;
}

void drop_cell(void* attribute) {
  const std::lock_guard lock(cells().mutex);
  cells().by_address.erase(reinterpret_cast<std::uintptr_t>(attribute));
}

int c_keyval(int keyval) {
#ifdef HAWSER_ABI_OF_MPICH
  constexpr int predefined = MPI_TAG_UB & ~0xff;
  constexpr int predefined_of_windows = MPI_WIN_BASE & ~0xff;
  const int sort = keyval & ~0xff;
  if ((sort == predefined || sort == predefined_of_windows) && keyval % 2 == 0) return keyval - 1;
#endif
  return keyval;
}

MPI_Aint attribute_value(int keyval, void* attribute) {
  switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *static_cast<const int*>(attribute);
    case MPI_WIN_SIZE:
      return *static_cast<const MPI_Aint*>(attribute);
    default:
      break;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(attribute);
  const std::lock_guard lock(cells().mutex);
  const auto cell = cells().by_address.find(address);
  return cell == cells().by_address.end() ? static_cast<MPI_Aint>(address) : *cell->second;
}

#pragma GCC visibility push(default)
extern "C" {

// The functions for communicators, datatypes and windows differ only in names.
#define HAWSER_ATTRIBUTES(Object, object, Handle)                                                         \
  void pmpi_##object##_set_attr_(int* handle_, int* keyval, MPI_Aint* value, int* ierror) noexcept try {  \
    put_error(ierror,                                                                                     \
              MPI_##Object##_set_attr(handle<Handle>(handle_), c_keyval(get(keyval)), new_cell(*value))); \
  } catch (const std::bad_alloc& error) {                                                                 \
    out_of_memory("MPI_" #Object "_set_attr", error);                                                     \
  }                                                                                                       \
  void pmpi_##object##_get_attr_(int* handle_, int* keyval, MPI_Aint* value, int* flag,                   \
                                 int* ierror) noexcept {                                                  \
    void* attribute = nullptr;                                                                            \
    const int key = c_keyval(get(keyval));                                                                \
    put_error(ierror, MPI_##Object##_get_attr(handle<Handle>(handle_), key, &attribute, Out(flag)));      \
    if (get(flag) != 0) *value = attribute_value(key, attribute);                                         \
  }
HAWSER_ATTRIBUTES(Comm, comm, MPI_Comm)
HAWSER_ATTRIBUTES(Type, type, MPI_Datatype)
HAWSER_ATTRIBUTES(Win, win, MPI_Win)

// The deprecated forms have attributes of type INTEGER.
void pmpi_attr_put_(int* comm, int* keyval, int* value, int* ierror) noexcept try {
  const MPI_Aint number = wide_integers() ? *reinterpret_cast<const MPI_Aint*>(value) : *value;
  put_error(ierror, MPI_Comm_set_attr(handle<MPI_Comm>(comm), c_keyval(get(keyval)), new_cell(number)));
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Attr_put", error);
}
void pmpi_attr_get_(int* comm, int* keyval, int* value, int* flag, int* ierror) noexcept {
  void* attribute = nullptr;
  const int key = c_keyval(get(keyval));
  put_error(ierror, MPI_Comm_get_attr(handle<MPI_Comm>(comm), key, &attribute, Out(flag)));
  if (get(flag) == 0) return;
  const MPI_Aint number = attribute_value(key, attribute);
  if (wide_integers())
    *reinterpret_cast<MPI_Aint*>(value) = number;
  else
    *value = static_cast<int>(number);
}

}  // extern "C"

HAWSER_PROCEDURE(comm_set_attr, COMM_SET_ATTR);
HAWSER_PROCEDURE(comm_get_attr, COMM_GET_ATTR);
HAWSER_PROCEDURE(type_set_attr, TYPE_SET_ATTR);
HAWSER_PROCEDURE(type_get_attr, TYPE_GET_ATTR);
HAWSER_PROCEDURE(win_set_attr, WIN_SET_ATTR);
HAWSER_PROCEDURE(win_get_attr, WIN_GET_ATTR);
HAWSER_PROCEDURE(attr_put, ATTR_PUT);
HAWSER_PROCEDURE(attr_get, ATTR_GET);
HAWSER_F08(comm_set_attr);
HAWSER_F08(comm_get_attr);
HAWSER_F08(type_set_attr);
HAWSER_F08(type_get_attr);
HAWSER_F08(win_set_attr);
HAWSER_F08(win_get_attr);

#pragma GCC visibility pop
}  // namespace hawser::fortran
