#include "testbed/simulator/trace.h"

#include <fmt/core.h>

#include "base/enum_names.h"

namespace hawser {

const char* name_of(TraceKind kind) { return enum_name(kind); }

Trace::Trace(const std::string& path, bool by_several_processes) {
  if (path.empty()) return;
  file_ = std::fopen(path.c_str(), "w");
  failed_ = file_ == nullptr;
  // Each would hold lines back for itself.
  if (file_ != nullptr && by_several_processes) std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);
}

Trace::~Trace() {
  if (file_ != nullptr) std::fclose(file_);
}

void Trace::write(Nanoseconds time, TraceKind kind, std::int32_t rank, std::int32_t peer,
                  std::int64_t bytes) {
  put(fmt::format("{} {} {} {} {}\n", time, name_of(kind), rank, peer, bytes));
}

void Trace::comment(Nanoseconds time, std::string_view text) {
  if (file_ != nullptr) put(fmt::format("{} {}\n", time, text));
}

void Trace::put(std::string_view line) {
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) failed_ = true;
}

bool Trace::failed() {
  if (file_ != nullptr && std::fflush(file_) != 0) failed_ = true;
  return failed_;
}

}  // namespace hawser
