/* Rank 0 puts and gets in the memory of rank 1, large and small; says how many bytes it wrote and read, as it
   knows and as MPI_T says, and waits for the end of its input. */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>

enum { large = 1 << 18, large_puts = 40, large_gets = 20, small_puts = 1000 };

static char memory[large], buffer[large];

static MPI_T_pvar_session session;

static MPI_T_pvar_handle started(const char* name) {
  int index;
  int count;
  MPI_T_pvar_handle handle;
  MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_T_pvar_start(session, handle);
  return handle;
}

static unsigned long long reading_of(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

int main(int argc, char** argv) {
  int rank;
  int provided;
  MPI_Win window;
  MPI_T_pvar_handle written;
  MPI_T_pvar_handle read;
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  written = started("one_sided_bytes_written");
  read = started("one_sided_bytes_read");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(memory, large, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  if (rank == 0) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    /* Until the window's keys have come, the peer fetches what is put, and the bytes are the peer's. */
    MPI_Put(buffer, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    for (int i = 0; i < large_puts; ++i) MPI_Put(buffer, large, MPI_BYTE, 1, 0, large, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    for (int i = 0; i < small_puts; ++i) {
      MPI_Put(buffer, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
      MPI_Win_flush(1, window);
    }
    for (int i = 0; i < large_gets; ++i) MPI_Get(buffer, large, MPI_BYTE, 1, 0, large, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    printf("%lld %lld %llu %llu\n", (long long)large_puts * large + (small_puts + 1) * 8LL,
           (long long)large_gets * large, reading_of(written), reading_of(read));
    fflush(stdout);
    do MPI_Win_flush(1, window);
    while (poll(&input, 1, 1) <= 0 || getchar() != EOF);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
