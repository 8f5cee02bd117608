// Makes sessions of MPI_T until memory ends: that is the tool's affair, and the program goes on.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int provided = 0, code = MPI_SUCCESS;
  long sessions = 0;
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) return 2;
  fclose(file);
  const rlim_t all = RLIM_INFINITY, limit = (rlim_t)pages * 4096 + (10 << 20);
  setrlimit(RLIMIT_AS, &(struct rlimit){limit, all});
  for (; code == MPI_SUCCESS; ++sessions) {
    MPI_T_pvar_session session;
    code = MPI_T_pvar_session_create(&session);
  }
  setrlimit(RLIMIT_AS, &(struct rlimit){all, all});
  printf("%s sessions, then %s\n", sessions > 1000 ? "many" : "few",
         code == MPI_T_ERR_MEMORY ? "MPI_T_ERR_MEMORY" : "another code");
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
