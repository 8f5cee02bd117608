// Procedures of the program for generalized requests and for data representations of files.
#include "binding/fortran/callbacks.h"

// C's constant has the name of Fortran's procedure in capitals.
#undef MPI_CONVERSION_FN_NULL

namespace hawser::fortran {
namespace {

// What the C functions get as extra state; ends with the request.
struct GeneralizedRequest {
  void (*query)(MPI_Aint* extra, int* status, int* error);
  void (*release)(MPI_Aint* extra, int* error);
  void (*cancel)(MPI_Aint* extra, int* complete, int* error);
  MPI_Aint* extra_state;  // the program's variable: the procedures may change it
};

int query_request(void* state, MPI_Status* status) {
  auto* request = static_cast<GeneralizedRequest*>(state);
  Cell error(MPI_SUCCESS);
  auto* ints = reinterpret_cast<int*>(status);
  if (!wide_integers()) {
    request->query(request->extra_state, ints, error);
    return error.low();
  }
  std::int64_t wide[status_size];
  std::copy_n(ints, status_size, wide);
  request->query(request->extra_state, reinterpret_cast<int*>(wide), error);
  for (std::size_t i = 0; i < status_size; ++i) ints[i] = static_cast<int>(wide[i]);
  return error.low();
}

int free_request(void* state) {
  const std::unique_ptr<GeneralizedRequest> request(static_cast<GeneralizedRequest*>(state));
  Cell error(MPI_SUCCESS);
  request->release(request->extra_state, error);
  return error.low();
}

int cancel_request(void* state, int complete) {
  auto* request = static_cast<GeneralizedRequest*>(state);
  Cell complete_(complete != 0 ? 1 : 0);
  Cell error(MPI_SUCCESS);
  request->cancel(request->extra_state, complete_, error);
  return error.low();
}

// Lives as long as the process, as a data representation does.
struct Representation {
  Procedure read;
  Procedure write;
  void (*extent)(int* datatype, MPI_Aint* extent, MPI_Aint* extra, int* error);
  MPI_Aint* extra_state;
};

int find_extent(MPI_Datatype datatype, MPI_Aint* extent, void* state) {
  auto* representation = static_cast<Representation*>(state);
  Cell datatype_(number_of(datatype));
  Cell error(MPI_SUCCESS);
  representation->extent(datatype_, extent, representation->extra_state, error);
  return error.low();
}

int convert(Procedure procedure, void* user, MPI_Datatype datatype, int count, void* file,
            MPI_Offset position, MPI_Aint* extra) {
  using Conversion = void (*)(void*, int*, int*, void*, MPI_Offset*, MPI_Aint*, int*);
  Cell datatype_(number_of(datatype));
  Cell count_(count);
  Cell error(MPI_SUCCESS);
  reinterpret_cast<Conversion>(procedure)(user, datatype_, count_, file, &position, extra, error);
  return error.low();
}
int convert(Procedure procedure, void* user, MPI_Datatype datatype, MPI_Count count, void* file,
            MPI_Offset position, MPI_Aint* extra) {
  using Conversion = void (*)(void*, int*, MPI_Count*, void*, MPI_Offset*, MPI_Aint*, int*);
  Cell datatype_(number_of(datatype));
  Cell error(MPI_SUCCESS);
  reinterpret_cast<Conversion>(procedure)(user, datatype_, &count, file, &position, extra, error);
  return error.low();
}

template <class Count, bool reads>
int convert_data(void* user, MPI_Datatype datatype, Count count, void* file, MPI_Offset position,
                 void* state) {
  auto* representation = static_cast<Representation*>(state);
  return convert(reads ? representation->read : representation->write, user, datatype, count, file, position,
                 representation->extra_state);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void pmpi_grequest_start_(Procedure query, Procedure release, Procedure cancel, MPI_Aint* extra_state,
                          int* request, int* ierror) noexcept try {
  auto made = std::make_unique<GeneralizedRequest>(
      reinterpret_cast<decltype(GeneralizedRequest::query)>(query),
      reinterpret_cast<decltype(GeneralizedRequest::release)>(release),
      reinterpret_cast<decltype(GeneralizedRequest::cancel)>(cancel), extra_state);
  const int code = MPI_Grequest_start(query_request, free_request, cancel_request, made.get(),
                                      OutHandle<MPI_Request>(request));
  if (code == MPI_SUCCESS) static_cast<void>(made.release());
  put_error(ierror, code);
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Grequest_start", error);
}

// Never called by us: its address means that there is nothing to convert.
void pmpi_conversion_fn_null_(void*, int*, int*, void*, MPI_Offset*, MPI_Aint*, int* ierror) {
  put(ierror, MPI_SUCCESS);
}

}  // extern "C"

HAWSER_PROCEDURE(grequest_start, GREQUEST_START);
HAWSER_F08(grequest_start);
HAWSER_PROCEDURE(conversion_fn_null, CONVERSION_FN_NULL);
#ifdef HAWSER_ABI_OF_MPICH
extern "C" decltype(pmpi_conversion_fn_null_) f08_conversion_fn_null asm(
    "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null")
    __attribute__((weak, alias("pmpi_conversion_fn_null_")));
extern "C" decltype(pmpi_conversion_fn_null_) f08_conversion_fn_null_c asm(
    "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c")
    __attribute__((weak, alias("pmpi_conversion_fn_null_")));
#endif

namespace {

bool is_null(Procedure procedure) {
  return procedure == nullptr || procedure == reinterpret_cast<Procedure>(&mpi_conversion_fn_null_) ||
         procedure == reinterpret_cast<Procedure>(&pmpi_conversion_fn_null_);
}

template <class Count, class Function>
int register_representation(int (*call)(const char*, Function*, Function*, MPI_Datarep_extent_function*,
                                        void*),
                            const char* name, Procedure read, Procedure write, Procedure extent,
                            MPI_Aint* extra_state) {
  auto made = std::make_unique<Representation>(
      read, write, reinterpret_cast<decltype(Representation::extent)>(extent), extra_state);
  const int code = call(name, is_null(read) ? nullptr : convert_data<Count, true>,
                        is_null(write) ? nullptr : convert_data<Count, false>, find_extent, made.get());
  if (code == MPI_SUCCESS) static_cast<void>(made.release());
  return code;
}

}  // namespace

extern "C" {

void pmpi_register_datarep_(const char* name, Procedure read, Procedure write, Procedure extent,
                            MPI_Aint* extra_state, int* ierror, std::size_t name_length) noexcept try {
  put_error(ierror, register_representation<int>(MPI_Register_datarep, Text(name, name_length), read, write,
                                                 extent, extra_state));
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Register_datarep", error);
}
void mpi_register_datarep_f08_large_(const char* name, Procedure read, Procedure write, Procedure extent,
                                     MPI_Aint* extra_state, int* ierror, std::size_t name_length) noexcept
    try {
  put_error(ierror, register_representation<MPI_Count>(MPI_Register_datarep_c, Text(name, name_length), read,
                                                       write, extent, extra_state));
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Register_datarep_c", error);
}

}  // extern "C"

HAWSER_PROCEDURE(register_datarep, REGISTER_DATAREP);
HAWSER_F08(register_datarep);

#pragma GCC visibility pop
}  // namespace hawser::fortran
