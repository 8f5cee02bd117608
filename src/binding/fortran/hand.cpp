// What differs from the C function by more than its arguments' form.
#include "binding/fortran/library.h"
#include "binding/fortran/sections.h"

namespace hawser::fortran {
#pragma GCC visibility push(default)
extern "C" {

void pmpi_init_(int* ierror) noexcept { put_error(ierror, MPI_Init(nullptr, nullptr)); }

void pmpi_init_thread_(int* required, int* provided, int* ierror) noexcept {
  put_error(ierror, MPI_Init_thread(nullptr, nullptr, get(required), Out(provided)));
}

double pmpi_wtime_() noexcept { return MPI_Wtime(); }
double pmpi_wtick_() noexcept { return MPI_Wtick(); }

MPI_Aint pmpi_aint_add_(MPI_Aint* base, MPI_Aint* disp) noexcept { return MPI_Aint_add(*base, *disp); }
MPI_Aint pmpi_aint_diff_(MPI_Aint* addr1, MPI_Aint* addr2) noexcept { return MPI_Aint_diff(*addr1, *addr2); }

void pmpi_pcontrol_(int* level) noexcept { MPI_Pcontrol(get(level)); }

// A Fortran program's arguments are not ours to look at.
void pmpi_info_create_env_(int* info, int* ierror) noexcept {
  put_error(ierror, MPI_Info_create_env(0, nullptr, OutHandle<MPI_Info>(info)));
}

// Keeps the compiler from moving a variable across a call, by being a procedure that it knows nothing of.
void pmpi_f_sync_reg_(void*) noexcept {}
void mpi_f_sync_reg_cfi(CFI_cdesc_t*) noexcept {}

// The size of one element, in bytes.
void mpi_sizeof_cfi(CFI_cdesc_t* x, int* size, int* ierror) noexcept {
  put(size, static_cast<int>(x->elem_len));
  put_error(ierror, MPI_SUCCESS);
}

// TYPE(MPI_Status) and the array of INTEGERs are the same, but for the size of INTEGERs.
void pmpi_status_f2f08_(int* f_status, int* f08_status, int* ierror) noexcept {
  const std::size_t stride = wide_integers() ? 2 : 1;
  for (std::size_t i = 0; i < status_size; ++i) f08_status[i] = f_status[stride * i];
  put_error(ierror, MPI_SUCCESS);
}
void pmpi_status_f082f_(int* f08_status, int* f_status, int* ierror) noexcept {
  const std::size_t stride = wide_integers() ? 2 : 1;
  for (std::size_t i = 0; i < status_size; ++i) put(f_status + stride * i, f08_status[i]);
  put_error(ierror, MPI_SUCCESS);
}

}  // extern "C"

#define HAWSER_HAND(name, NAME) \
  HAWSER_PROCEDURE(name, NAME); \
  HAWSER_F08(name)

HAWSER_HAND(init, INIT);
HAWSER_HAND(init_thread, INIT_THREAD);
HAWSER_HAND(wtime, WTIME);
HAWSER_HAND(wtick, WTICK);
HAWSER_HAND(aint_add, AINT_ADD);
HAWSER_HAND(aint_diff, AINT_DIFF);
HAWSER_HAND(pcontrol, PCONTROL);
HAWSER_HAND(info_create_env, INFO_CREATE_ENV);
HAWSER_PROCEDURE(f_sync_reg, F_SYNC_REG);
HAWSER_PROCEDURE(status_f2f08, STATUS_F2F08);
HAWSER_PROCEDURE(status_f082f, STATUS_F082F);

#ifdef HAWSER_ABI_OF_MPICH
// Of MPICH's mpi_f08.
extern "C" decltype(pmpi_status_f2f08_) f08_status_f2f08 asm("__mpi_f08_types_MOD_mpi_status_f2f08")
    __attribute__((weak, alias("pmpi_status_f2f08_")));
extern "C" decltype(pmpi_status_f082f_) f08_status_f082f asm("__mpi_f08_types_MOD_mpi_status_f082f")
    __attribute__((weak, alias("pmpi_status_f082f_")));
extern "C" void mpi_f_sync_reg_f08ts_(void*) noexcept {}
extern "C" void pmpir_f_sync_reg_f08ts_(void*) noexcept {}
#endif

#pragma GCC visibility pop
}  // namespace hawser::fortran
