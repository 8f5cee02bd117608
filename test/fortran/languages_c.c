/* The C side of languages.F90. Both functions answer the number of things that were wrong. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

int c_sees(MPI_Fint comm, MPI_Fint type, MPI_Fint* f_status, int keyval, MPI_Aint value) {
  int wrong = 0, size = 0, count = 0, flag = 0, same = MPI_UNEQUAL;
  MPI_Status status;
  MPI_Aint* attribute = NULL;
  MPI_Comm_compare(MPI_Comm_f2c(comm), MPI_COMM_WORLD, &same);
  wrong += same != MPI_IDENT || MPI_Comm_c2f(MPI_COMM_WORLD) != comm;
  MPI_Type_size(MPI_Type_f2c(type), &size);
  wrong += size != 8;
  MPI_Status_f2c(f_status, &status);
  MPI_Get_count(&status, MPI_Type_f2c(type), &count);
  wrong += count != 2 || status.MPI_TAG != 9;
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &attribute, &flag);
  wrong += !flag || *attribute != value;
  return wrong;
}

int c_makes(MPI_Fint* comm, MPI_Fint* keyval) {
  MPI_Comm made = MPI_COMM_NULL;
  int wrong = MPI_Comm_dup(MPI_COMM_SELF, &made) != MPI_SUCCESS;
  *comm = MPI_Comm_c2f(made);
  wrong += MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, NULL);
  wrong += MPI_Comm_set_attr(made, *keyval, (void*)(intptr_t)4660);
  return wrong;
}
