// HPL of HPCC, without HPCC's other tests (bench/computing).
#include <hpcc.h>

int main(int argc, char** argv) {
  HPL_RuntimeData data;
  int failure = 0;
  MPI_Init(&argc, &argv);
  HPL_main(argc, argv, &data, &failure);
  MPI_Finalize();
  return failure;
}
