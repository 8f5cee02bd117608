// Procedures of the program that copy and delete attributes, and the ones that MPI has for that.
#include "binding/fortran/callbacks.h"

// C's constants have the names of Fortran's procedures in capitals.
#undef MPI_NULL_COPY_FN
#undef MPI_DUP_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_DELETE_FN

namespace hawser::fortran {
namespace {

// What the C functions get as extra state. It lives as long as the process: attributes outlive their keyval.
struct Keyval {
  Procedure copy;
  Procedure remove;
  MPI_Aint extra_state;
};

using CopyProcedure = void (*)(int* object, int* keyval, MPI_Aint* extra, MPI_Aint* in, MPI_Aint* out,
                               int* flag, int* error);
using DeleteProcedure = void (*)(int* object, int* keyval, MPI_Aint* value, MPI_Aint* extra, int* error);
// Of MPI_KEYVAL_CREATE.
using OldCopyProcedure = void (*)(int* object, int* keyval, int* extra, int* in, int* out, int* flag,
                                  int* error);
using OldDeleteProcedure = void (*)(int* object, int* keyval, int* value, int* extra, int* error);

template <class Handle>
int copy_attribute(Handle object, int keyval, void* state, void* in, void* out, int* flag) {
  auto* made = static_cast<Keyval*>(state);
  Cell object_(number_of(object));
  Cell keyval_(keyval);
  Cell flag_(0);
  Cell error(MPI_SUCCESS);
  MPI_Aint extra = made->extra_state;
  MPI_Aint value_in = attribute_value(keyval, in);
  MPI_Aint value_out = 0;
  reinterpret_cast<CopyProcedure>(made->copy)(object_, keyval_, &extra, &value_in, &value_out, flag_, error);
  *flag = flag_.low() != 0;
  if (*flag != 0 && error.low() == MPI_SUCCESS) *static_cast<void**>(out) = new_cell(value_out);
  return error.low();
}

template <class Handle>
int delete_attribute(Handle object, int keyval, void* attribute, void* state) {
  auto* made = static_cast<Keyval*>(state);
  Cell object_(number_of(object));
  Cell keyval_(keyval);
  Cell error(MPI_SUCCESS);
  MPI_Aint extra = made->extra_state;
  MPI_Aint value = attribute_value(keyval, attribute);
  reinterpret_cast<DeleteProcedure>(made->remove)(object_, keyval_, &value, &extra, error);
  if (error.low() == MPI_SUCCESS) drop_cell(attribute);
  return error.low();
}

int copy_old(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  auto* made = static_cast<Keyval*>(state);
  Cell comm_(number_of(comm));
  Cell keyval_(keyval);
  Cell flag_(0);
  Cell error(MPI_SUCCESS);
  MPI_Aint extra = made->extra_state;
  MPI_Aint value_in = attribute_value(keyval, in);
  Cell value_out(0);
  reinterpret_cast<OldCopyProcedure>(made->copy)(comm_, keyval_, reinterpret_cast<int*>(&extra),
                                                 reinterpret_cast<int*>(&value_in), value_out, flag_, error);
  *flag = flag_.low() != 0;
  if (*flag != 0 && error.low() == MPI_SUCCESS) *static_cast<void**>(out) = new_cell(value_out.integer());
  return error.low();
}

int delete_old(MPI_Comm comm, int keyval, void* attribute, void* state) {
  auto* made = static_cast<Keyval*>(state);
  Cell comm_(number_of(comm));
  Cell keyval_(keyval);
  Cell error(MPI_SUCCESS);
  MPI_Aint extra = made->extra_state;
  MPI_Aint value = attribute_value(keyval, attribute);
  reinterpret_cast<OldDeleteProcedure>(made->remove)(comm_, keyval_, reinterpret_cast<int*>(&value),
                                                     reinterpret_cast<int*>(&extra), error);
  if (error.low() == MPI_SUCCESS) drop_cell(attribute);
  return error.low();
}

// Keeps what was made reachable, if it is used.
void keep(int code, std::unique_ptr<Keyval> made) {
  if (code == MPI_SUCCESS) static_cast<void>(made.release());
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define HAWSER_KEYVALS(Object, object, Handle)                                                               \
  void pmpi_##object##_create_keyval_(Procedure copy, Procedure remove, int* keyval, MPI_Aint* extra_state,  \
                                      int* ierror) noexcept try {                                            \
    auto made = std::make_unique<Keyval>(copy, remove, *extra_state);                                        \
    const int code = MPI_##Object##_create_keyval(copy_attribute<Handle>, delete_attribute<Handle>,          \
                                                  Out(keyval), made.get());                                  \
    keep(code, std::move(made));                                                                             \
    put_error(ierror, code);                                                                                 \
  } catch (const std::bad_alloc& error) {                                                                    \
    out_of_memory("MPI_" #Object "_create_keyval", error);                                                   \
  }                                                                                                          \
  void pmpi_##object##_null_copy_fn_(int*, int*, MPI_Aint*, MPI_Aint*, MPI_Aint*, int* flag, int* ierror) {  \
    put(flag, 0);                                                                                            \
    put(ierror, MPI_SUCCESS);                                                                                \
  }                                                                                                          \
  void pmpi_##object##_dup_fn_(int*, int*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, int* flag, int* ierror) { \
    *out = *in;                                                                                              \
    put(flag, 1);                                                                                            \
    put(ierror, MPI_SUCCESS);                                                                                \
  }                                                                                                          \
  void pmpi_##object##_null_delete_fn_(int*, int*, MPI_Aint*, MPI_Aint*, int* ierror) {                      \
    put(ierror, MPI_SUCCESS);                                                                                \
  }
HAWSER_KEYVALS(Comm, comm, MPI_Comm)
HAWSER_KEYVALS(Type, type, MPI_Datatype)
HAWSER_KEYVALS(Win, win, MPI_Win)

void pmpi_keyval_create_(Procedure copy, Procedure remove, int* keyval, int* extra_state,
                         int* ierror) noexcept try {
  const MPI_Aint extra = wide_integers() ? *reinterpret_cast<const MPI_Aint*>(extra_state) : *extra_state;
  auto made = std::make_unique<Keyval>(copy, remove, extra);
  const int code = MPI_Comm_create_keyval(copy_old, delete_old, Out(keyval), made.get());
  keep(code, std::move(made));
  put_error(ierror, code);
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Keyval_create", error);
}
void pmpi_null_copy_fn_(int*, int*, int*, int*, int*, int* flag, int* ierror) {
  put(flag, 0);
  put(ierror, MPI_SUCCESS);
}
void pmpi_dup_fn_(int*, int*, int*, int* in, int* out, int* flag, int* ierror) {
  out[0] = in[0];
  if (wide_integers()) out[1] = in[1];
  put(flag, 1);
  put(ierror, MPI_SUCCESS);
}
void pmpi_null_delete_fn_(int*, int*, int*, int*, int* ierror) { put(ierror, MPI_SUCCESS); }

}  // extern "C"

#define HAWSER_KEYVAL_NAMES(object, OBJECT)                         \
  HAWSER_PROCEDURE(object##_create_keyval, OBJECT##_CREATE_KEYVAL); \
  HAWSER_F08(object##_create_keyval);                               \
  HAWSER_PROCEDURE(object##_null_copy_fn, OBJECT##_NULL_COPY_FN);   \
  HAWSER_PROCEDURE(object##_dup_fn, OBJECT##_DUP_FN);               \
  HAWSER_PROCEDURE(object##_null_delete_fn, OBJECT##_NULL_DELETE_FN)
#ifdef HAWSER_ABI_OF_MPICH
// Of MPICH's mpi_f08.
#define HAWSER_F08_COPY_FUNCTION(name)                                                     \
  extern "C" decltype(pmpi_##name##_) f08_##name asm("__mpi_f08_callbacks_MOD_mpi_" #name) \
      __attribute__((weak, alias("pmpi_" #name "_")))
#define HAWSER_F08_COPY_FUNCTIONS(object)          \
  HAWSER_F08_COPY_FUNCTION(object##_null_copy_fn); \
  HAWSER_F08_COPY_FUNCTION(object##_dup_fn);       \
  HAWSER_F08_COPY_FUNCTION(object##_null_delete_fn)
HAWSER_F08_COPY_FUNCTIONS(comm);
HAWSER_F08_COPY_FUNCTIONS(type);
HAWSER_F08_COPY_FUNCTIONS(win);
#endif
HAWSER_KEYVAL_NAMES(comm, COMM);
HAWSER_KEYVAL_NAMES(type, TYPE);
HAWSER_KEYVAL_NAMES(win, WIN);
HAWSER_PROCEDURE(keyval_create, KEYVAL_CREATE);
HAWSER_PROCEDURE(null_copy_fn, NULL_COPY_FN);
HAWSER_PROCEDURE(dup_fn, DUP_FN);
HAWSER_PROCEDURE(null_delete_fn, NULL_DELETE_FN);

#pragma GCC visibility pop
}  // namespace hawser::fortran
