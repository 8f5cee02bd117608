#include "testbed/simulator/trace.h"

#include <fmt/core.h>

#include "base/assert.h"

namespace hawser {

const char* name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::start:
      return "start";
    case TraceKind::send:
      return "send";
    case TraceKind::expose:
      return "expose";
    case TraceKind::arrive:
      return "arrive";
    case TraceKind::fetch:
      return "fetch";
    case TraceKind::land:
      return "land";
    case TraceKind::release:
      return "release";
    case TraceKind::fence:
      return "fence";
    case TraceKind::finish:
      return "finish";
    case TraceKind::abort:
      return "abort";
  }
  HAWSER_UNREACHABLE();
}

Trace::Trace(const std::string& path) {
  if (path.empty()) return;
  file_ = std::fopen(path.c_str(), "w");
  failed_ = file_ == nullptr;
}

Trace::~Trace() {
  if (file_ != nullptr) std::fclose(file_);
}

void Trace::write(Nanoseconds time, TraceKind kind, std::int32_t rank, std::int32_t peer,
                  std::int64_t bytes) {
  fmt::print(file_, "{} {} {} {} {}\n", time, name_of(kind), rank, peer, bytes);
}

void Trace::comment(Nanoseconds time, std::string_view text) {
  if (file_ != nullptr) fmt::print(file_, "{} {}\n", time, text);
}

}  // namespace hawser
