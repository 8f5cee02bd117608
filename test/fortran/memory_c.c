#include <stdio.h>
#include <sys/resource.h>

// The process gets so much address space more than it has.
void limit_memory(int mebibytes) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) return;
  fclose(file);
  const rlim_t limit = (rlim_t)pages * 4096 + ((rlim_t)mebibytes << 20);
  setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
}
