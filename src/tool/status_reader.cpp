#include "tool/status_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/printable.h"
#include "base/time.h"
#include "os/file_descriptor.h"
#include "os/shared_memory.h"

namespace hawser {
namespace {

const StatusHeader& header_of(const std::byte* data) { return *reinterpret_cast<const StatusHeader*>(data); }

// Whether the memory is a table that this program understands. What its process writes there later can be
// anything: only the file's size is certain.
bool is_table(const std::byte* data, std::size_t bytes) {
  if (bytes < status_header_bytes) return false;
  const StatusHeader& header = header_of(data);
  return header.magic.load(std::memory_order_acquire) == status_magic &&
         header.header_bytes == status_header_bytes && header.row_bytes == sizeof(StatusRow);
}

template <std::size_t N>
void end_text(char (&text)[N]) {
  text[N - 1] = '\0';
  make_printable(text, std::strlen(text));
}

// A time that was, so that ages are not negative and do not overflow.
void check_time(Nanoseconds& time, Nanoseconds now) { time = std::clamp<Nanoseconds>(time, 0, now); }

SeenProcess copy_out(const std::byte* data, std::uint64_t room, pid_t pid) {
  const StatusHeader& header = header_of(data);
  SeenProcess seen;
  seen.pid = pid;
  header.identity.load(seen.identity);
  end_text(seen.identity.job);
  end_text(seen.identity.policy);
  end_text(seen.identity.host);
  seen.looked = MonotonicClock().now();
  seen.paths_lost = header.rows_lost.load(std::memory_order_relaxed);
  const auto* rows = reinterpret_cast<const StatusRow*>(data + status_header_bytes);
  const std::uint64_t count = std::min<std::uint64_t>(header.rows.load(std::memory_order_acquire), room);
  for (std::uint64_t i = 0; i < count; ++i) {
    SeenPath path;
    if (!rows[i].facts.load(path.facts)) continue;
    end_text(path.facts.port);
    check_time(path.facts.last_change, seen.looked);
    path.bytes_per_second = rows[i].bytes_per_second.load(std::memory_order_relaxed);
    path.bytes_in_flight = rows[i].bytes_in_flight.load(std::memory_order_relaxed);
    path.bytes_done = rows[i].bytes_done.load(std::memory_order_relaxed);
    path.requests_done = rows[i].requests_done.load(std::memory_order_relaxed);
    path.round_trip = rows[i].round_trip.load(std::memory_order_relaxed);
    check_time(path.round_trip, seen.looked);
    seen.paths.push_back(path);
  }
  const std::uint64_t events = header.events.load(std::memory_order_acquire);
  for (std::uint64_t i = events - std::min<std::uint64_t>(events, recent_events); i < events; ++i) {
    EventRecord event;
    // One that was overwritten meanwhile is newer than it should be here, and comes again.
    if (!header.ring[i % recent_events].load(event) || event.number != i) continue;
    check_time(event.time, seen.looked);
    seen.events.push_back(event);
  }
  for (const auto& counter : header.counters)
    seen.counters.push_back(counter.load(std::memory_order_relaxed));
  return seen;
}

}  // namespace

std::optional<SeenProcess> read_status_table(std::span<const std::byte> table, pid_t pid) {
  if (!is_table(table.data(), table.size())) return std::nullopt;
  return copy_out(table.data(), (table.size() - status_header_bytes) / sizeof(StatusRow), pid);
}

StatusReader::~StatusReader() {
  for (const auto& [file, table] : tables_) munmap(const_cast<std::byte*>(table.data), table.bytes);
}

void StatusReader::open_table(const std::string& path, pid_t pid) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts;
  if (!file.valid() || fstat(file.get(), &facts) != 0) return;
  const auto found = tables_.find({facts.st_dev, facts.st_ino});
  if (found != tables_.end()) {
    // A child that was forked has it too: it belongs to the process that says so, else to the oldest.
    Table& table = found->second;
    StatusIdentity identity;
    header_of(table.data).identity.load(identity);
    if (!table.present || identity.process_id == pid) table.pid = pid;
    table.present = true;
    return;
  }
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  // A file that can become shorter would end this program with SIGBUS; those of MPI processes cannot.
  if (bytes == 0 || !cannot_shrink(file.get())) return;
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return;
  const auto* start = static_cast<const std::byte*>(data);
  if (!is_table(start, bytes)) {
    munmap(data, bytes);
    return;
  }
  tables_[{facts.st_dev, facts.st_ino}] = {pid, start, bytes, true};
}

void StatusReader::find_tables(pid_t only) {
  const std::string wanted = std::string("/memfd:") + status_file_label;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (only != 0 && pid != only) continue;
    struct stat facts;
    if (stat(process.path().c_str(), &facts) != 0 || facts.st_uid != geteuid()) continue;
    // Processes come and go while this runs: whatever cannot be read is not there.
    std::error_code gone;
    for (std::filesystem::directory_iterator file(process.path() / "fd", gone), end; !gone && file != end;
         file.increment(gone)) {
      std::error_code closed;
      const auto target = std::filesystem::read_symlink(file->path(), closed);
      if (!closed && target.string().starts_with(wanted)) open_table(file->path(), pid);
    }
  }
}

std::vector<SeenProcess> StatusReader::look(pid_t only) {
  for (auto& [file, table] : tables_) table.present = false;
  find_tables(only);
  std::vector<SeenProcess> seen;
  for (auto at = tables_.begin(); at != tables_.end();) {
    if (!at->second.present) {
      munmap(const_cast<std::byte*>(at->second.data), at->second.bytes);
      at = tables_.erase(at);
      continue;
    }
    if (auto process = read_status_table({at->second.data, at->second.bytes}, at->second.pid))
      seen.push_back(std::move(*process));
    ++at;
  }
  std::sort(seen.begin(), seen.end(), [](const SeenProcess& a, const SeenProcess& b) {
    const int jobs = std::strcmp(a.identity.job, b.identity.job);
    if (jobs != 0) return jobs < 0;
    return a.identity.rank != b.identity.rank ? a.identity.rank < b.identity.rank : a.pid < b.pid;
  });
  return seen;
}

}  // namespace hawser
