// What only MPICH's ABI has: functions that MPI-3.0 removed, statuses in Fortran's forms, and constants that
// are variables. In this ABI a status is the same five ints in C and in both Fortran forms, so conversion is
// a copy.
#ifdef HAWSER_ABI_OF_MPICH
#include <cstring>

#include "binding/hand.h"

namespace hawser::binding {

AbiFunction copy_function_to_core(AbiFunction function) {
  return function == reinterpret_cast<AbiFunction>(&MPIR_Dup_fn) ? Keyval::duplicate_function() : function;
}

namespace {
constexpr std::size_t status_bytes = 5 * sizeof(int);
static_assert(sizeof(MPI_Status) == status_bytes && sizeof(MPI_F08_status) == status_bytes);

int copy_status(const void* from, void* to) {
  if (from == nullptr || to == nullptr || from == MPI_STATUS_IGNORE)
    return from_core_error_code(static_cast<int>(ErrorClass::arg));
  std::memmove(to, from, status_bytes);
  return MPI_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_Address(const void* location, MPI_Aint* address) noexcept {
  return PMPI_Get_address(location, address);
}

int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) noexcept {
  MPI_Aint lower_bound = 0;
  return PMPI_Type_get_extent(datatype, &lower_bound, extent);
}
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) noexcept {
  MPI_Aint extent = 0;
  return PMPI_Type_get_extent(datatype, displacement, &extent);
}
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) noexcept {
  MPI_Aint extent = 0;
  const int code = PMPI_Type_get_extent(datatype, displacement, &extent);
  if (code == MPI_SUCCESS) *displacement += extent;
  return code;
}

int PMPI_Status_c2f(const MPI_Status* c, MPI_Fint* f) noexcept { return copy_status(c, f); }
int PMPI_Status_f2c(const MPI_Fint* f, MPI_Status* c) noexcept { return copy_status(f, c); }
int PMPI_Status_f082c(const MPI_F08_status* f08, MPI_Status* c) noexcept { return copy_status(f08, c); }
int PMPI_Status_c2f08(const MPI_Status* c, MPI_F08_status* f08) noexcept { return copy_status(c, f08); }
int PMPI_Status_f082f(const MPI_F08_status* f08, MPI_Fint* f) noexcept { return copy_status(f08, f); }
int PMPI_Status_f2f08(const MPI_Fint* f, MPI_F08_status* f08) noexcept { return copy_status(f, f08); }

MPI_Fint PMPI_File_c2f(MPI_File file) noexcept { return PMPI_File_toint(file); }
MPI_File PMPI_File_f2c(MPI_Fint file) noexcept { return PMPI_File_fromint(file); }

int MPIR_Dup_fn(MPI_Comm, int, void*, void* value_in, void* value_out, int* flag) {
  *static_cast<void**>(value_out) = value_in;
  *flag = 1;
  return MPI_SUCCESS;
}

// The variables' addresses, or what they point to, are the constants; nobody writes them.
int MPIR_C_MPI_UNWEIGHTED[2] = {};
int MPIR_C_MPI_WEIGHTS_EMPTY[2] = {};
extern int* const MPI_UNWEIGHTED;
extern int* const MPI_WEIGHTS_EMPTY;
extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;
int* const MPI_UNWEIGHTED = MPIR_C_MPI_UNWEIGHTED;
int* const MPI_WEIGHTS_EMPTY = MPIR_C_MPI_WEIGHTS_EMPTY;
MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ = {};
MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1] = {};
int MPIR_F08_MPI_IN_PLACE = 0;
int MPIR_F08_MPI_BOTTOM = 0;
MPI_F08_status* MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
MPI_F08_status* MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
MPI_Fint* MPI_F_STATUS_IGNORE = nullptr;
MPI_Fint* MPI_F_STATUSES_IGNORE = nullptr;
MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES = reinterpret_cast<MPI_T_pvar_handle>(std::intptr_t{1});

}  // extern "C"

HAWSER_ALIAS(Address);
HAWSER_ALIAS(Type_extent);
HAWSER_ALIAS(Type_lb);
HAWSER_ALIAS(Type_ub);
HAWSER_ALIAS(Status_c2f);
HAWSER_ALIAS(Status_f2c);
HAWSER_ALIAS(Status_f082c);
HAWSER_ALIAS(Status_c2f08);
HAWSER_ALIAS(Status_f082f);
HAWSER_ALIAS(Status_f2f08);
HAWSER_ALIAS(File_c2f);
HAWSER_ALIAS(File_f2c);

#pragma GCC visibility pop
}  // namespace hawser::binding
#endif
