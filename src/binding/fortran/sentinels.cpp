#include "binding/fortran/sentinels.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

extern "C" {
alignas(32) int mpipriv1_[2 + sizeof(MPI_Status) / sizeof(int)];
alignas(32) int mpipriv2_[1 + sizeof(MPI_Status) / sizeof(int)];
alignas(16) char mpiprivc_[2];
alignas(16) int mpifcmb5_[1];
alignas(16) int mpifcmb9_[1];
alignas(16) int mpihawser_[2];
#ifdef HAWSER_ABI_OF_MPICH
int f08_unweighted;
int f08_weights_empty;
int f08_errcodes_ignore;
char f08_argv_null;
char f08_argvs_null;
#endif
}

namespace hawser::fortran {
namespace {

// The size of the object behind a symbol, in the program if that defines it too.
std::size_t size_behind(const void* address) {
  Dl_info info{};
  void* symbol = nullptr;
  if (dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return 0;
  return static_cast<const ElfW(Sym)*>(symbol)->st_size;
}

// MPICH's blocks grow with the program's INTEGERs; but a program that was compiled with wide INTEGERs against
// MPICH's mpif.h passes what MPICH reads and writes, which is four bytes (NWChem's calls do so with
// INTEGER*4). Our own mpif.h has a block by which the program says that it expects us to take its INTEGERs as
// they are.
Layout find_layout() {
  return {size_behind(mpihawser_) > sizeof mpihawser_,
          size_behind(mpipriv1_) > sizeof mpipriv1_ ? std::size_t{2} : std::size_t{1}};
}

}  // namespace

const Layout layout = find_layout();

void* buffer_address(void* buffer) {
  const auto* place = static_cast<const int*>(buffer);
  if (place == mpipriv1_) return MPI_BOTTOM;
  if (place == mpipriv1_ + layout.unit) return MPI_IN_PLACE;
  if (place == mpihawser_) return MPI_BUFFER_AUTOMATIC;
#ifdef HAWSER_ABI_OF_MPICH
  // Of MPICH's mpi_f08.
  if (place == &MPIR_F08_MPI_BOTTOM) return MPI_BOTTOM;
  if (place == &MPIR_F08_MPI_IN_PLACE) return MPI_IN_PLACE;
#endif
  return buffer;
}

bool status_ignored(const int* status) {
  if (status == mpipriv1_ + 2 * layout.unit || status == mpipriv2_) return true;
#ifdef HAWSER_ABI_OF_MPICH
  const void* place = status;
  if (place == &MPIR_F08_MPI_STATUS_IGNORE_OBJ || place == MPIR_F08_MPI_STATUSES_IGNORE_OBJ) return true;
#endif
  return false;
}

bool errcodes_ignored(const int* errcodes) {
#ifdef HAWSER_ABI_OF_MPICH
  if (errcodes == &f08_errcodes_ignore) return true;
#endif
  return errcodes == mpipriv2_ + layout.unit * (sizeof(MPI_Status) / sizeof(int));
}

bool argv_null(const char* argv) {
#ifdef HAWSER_ABI_OF_MPICH
  if (argv == &f08_argv_null || argv == &f08_argvs_null) return true;
#endif
  return argv == &mpiprivc_[0] || argv == &mpiprivc_[1];
}

int* weights_constant(const int* weights) {
#ifdef HAWSER_ABI_OF_MPICH
  if (weights == &f08_unweighted) return MPI_UNWEIGHTED;
  if (weights == &f08_weights_empty) return MPI_WEIGHTS_EMPTY;
#endif
  if (weights == mpifcmb5_) return MPI_UNWEIGHTED;
  return weights == mpifcmb9_ ? MPI_WEIGHTS_EMPTY : nullptr;
}

}  // namespace hawser::fortran
