// The constants of Fortran's interfaces that are known by their addresses: MPI_BOTTOM, MPI_IN_PLACE,
// MPI_STATUS_IGNORE and others. They lie in common blocks, which programs define too; the loader sees to it
// that there is one of each, and it is as large as the program's INTEGERs make it.
#pragma once

#include <mpi.h>

#include <cstddef>

extern "C" {
#pragma GCC visibility push(default)
// Of the size that they have with INTEGERs of four bytes. Aligned as gfortran aligns them.
extern int mpipriv1_[2 + sizeof(MPI_Status) / sizeof(int)];  // MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
extern int mpipriv2_[1 + sizeof(MPI_Status) / sizeof(int)];  // MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
extern char mpiprivc_[2];                                    // MPI_ARGVS_NULL, MPI_ARGV_NULL
extern int mpifcmb5_[1];                                     // MPI_UNWEIGHTED
extern int mpifcmb9_[1];                                     // MPI_WEIGHTS_EMPTY
// Only of our mpif.h and modules.
extern int mpihawser_[2];  // MPI_BUFFER_AUTOMATIC, and one to measure by
#ifdef HAWSER_ABI_OF_MPICH
// Of MPICH's mpi_f08; the first four are in the C library.
extern int MPIR_F08_MPI_BOTTOM;
extern int MPIR_F08_MPI_IN_PLACE;
extern MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ;
extern MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
extern int f08_unweighted asm("__mpi_f08_link_constants_MOD_mpi_unweighted");
extern int f08_weights_empty asm("__mpi_f08_link_constants_MOD_mpi_weights_empty");
extern int f08_errcodes_ignore asm("__mpi_f08_link_constants_MOD_mpi_errcodes_ignore");
extern char f08_argv_null asm("__mpi_f08_link_constants_MOD_mpi_argv_null");
extern char f08_argvs_null asm("__mpi_f08_link_constants_MOD_mpi_argvs_null");
#endif
#pragma GCC visibility pop
}

namespace hawser::fortran {

// How the program's common blocks are laid out.
struct Layout {
  bool wide;         // its INTEGERs have eight bytes, as the arguments of its calls
  std::size_t unit;  // ints from one INTEGER of MPICH's blocks to the next: 1 or 2
};
extern const Layout layout;

inline bool wide_integers() { return layout.wide; }

// What C has for a buffer: the address itself, or one of the three constants.
void* buffer_address(void* buffer);

bool status_ignored(const int* status);
bool errcodes_ignored(const int* errcodes);
bool argv_null(const char* argv);  // MPI_ARGV_NULL or MPI_ARGVS_NULL
// MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY; null for an array.
int* weights_constant(const int* weights);

}  // namespace hawser::fortran
