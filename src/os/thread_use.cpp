#include "os/thread_use.h"

#include <sys/resource.h>

namespace hawser {

ThreadUse thread_use() {
  rusage use = {};
  ::getrusage(RUSAGE_THREAD, &use);
  const auto nanoseconds = [](const timeval& time) {
    return time.tv_sec * second + time.tv_usec * microsecond;
  };
  return {nanoseconds(use.ru_utime) + nanoseconds(use.ru_stime), use.ru_nvcsw};
}

}  // namespace hawser
