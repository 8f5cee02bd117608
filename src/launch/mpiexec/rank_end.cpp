#include "launch/mpiexec/rank_end.h"

#include <fmt/core.h>

#include <cstring>

#include "base/assert.h"

namespace hawser {

std::string signal_description(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* text = sigdescr_np(signal);
  return fmt::format("{}{}{}{}", name == nullptr ? "" : "SIG", name == nullptr ? "" : name,
                     name == nullptr || text == nullptr ? "" : ", ", text == nullptr ? "unknown" : text);
}

int visible_exit_code(int code) {
  const int low = code & 255;
  return low == 0 ? 1 : low;
}

Verdict judge(const ChildEnd& end, PmiServer::Phase phase, bool others_active) {
  using Kind = Verdict::Kind;
  if (end.signaled)
    return {Kind::failure, 128 + end.code,
            fmt::format("was killed by signal {} ({}){}", end.code, signal_description(end.code),
                        end.core_dumped ? ", core dumped" : "")};
  switch (phase) {
    case PmiServer::Phase::active:
      if (end.code == 0) return {Kind::failure, 1, "exited without calling MPI_Finalize"};
      return {Kind::failure, end.code, fmt::format("exited with code {}", end.code)};
    case PmiServer::Phase::finalized:
      if (end.code == 0) return {};
      return {Kind::late_failure, end.code, fmt::format("exited with code {}", end.code)};
    case PmiServer::Phase::absent:
      if (end.code != 0) return {Kind::failure, end.code, fmt::format("exited with code {}", end.code)};
      if (others_active)
        return {Kind::failure, 1, "exited without calling MPI_Init, which other ranks called"};
      return {};
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
