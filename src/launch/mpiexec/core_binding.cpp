#include "launch/mpiexec/core_binding.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace hawser {

namespace {

int read_number(const std::string& path, int otherwise) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return otherwise;
  char text[32] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 ? std::atoi(text) : otherwise;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(static_cast<std::size_t>(number), &set)) numbers.push_back(number);
  return numbers;
}

}  // namespace

std::vector<std::vector<int>> assign_processors(std::vector<Processor> available, int ranks, int busy,
                                                BindMode mode) {
  if (mode == BindMode::none || ranks == 0) return {};
  std::sort(available.begin(), available.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.package, a.core, a.number) < std::tie(b.package, b.core, b.number);
  });
  std::vector<std::vector<int>> cores;
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (i == 0 || available[i].package != available[i - 1].package ||
        available[i].core != available[i - 1].core)
      cores.emplace_back();
    cores.back().push_back(available[i].number);
  }
  const auto count = static_cast<std::size_t>(ranks);
  // A single rank has nobody to keep away from, and two jobs of one rank must not meet on the first core.
  if (cores.empty()) return {};
  if (mode == BindMode::automatic && (static_cast<std::size_t>(busy) > cores.size() || count == 1)) return {};
  std::vector<std::vector<int>> result(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (mode == BindMode::core) {
      result[rank] = cores[rank % cores.size()];
      continue;
    }
    for (std::size_t core = rank * cores.size() / count; core < (rank + 1) * cores.size() / count; ++core)
      result[rank].insert(result[rank].end(), cores[core].begin(), cores[core].end());
  }
  return result;
}

bool apart(const std::vector<std::vector<int>>& processors_of_ranks) {
  std::vector<int> all;
  for (const std::vector<int>& own : processors_of_ranks) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  return !all.empty() && std::adjacent_find(all.begin(), all.end()) == all.end();
}

std::vector<std::vector<int>> bind_ranks(int ranks, int busy, BindMode mode) {
  if (mode == BindMode::none) return {};
  const std::vector<int> numbers = allowed_processors();
  if (mode == BindMode::automatic && (ranks == 1 || static_cast<std::size_t>(busy) > numbers.size()))
    return {};
  std::vector<Processor> processors;
  for (const int number : numbers) {
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", number);
    // Without a topology each processor counts as a core.
    processors.push_back({number, read_number(topology + "physical_package_id", 0),
                          read_number(topology + "core_id", number)});
  }
  return assign_processors(std::move(processors), ranks, busy, mode);
}

}  // namespace hawser
