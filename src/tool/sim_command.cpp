#include "tool/sim_command.h"

#include "tool/beside.h"

namespace hawser {

// The simulator is a program of its own; programs that it runs need another.
int run_sim(std::span<const std::string_view> words) {
  const bool runs_program = !words.empty() && words[0] == "exec";
  return become_beside("hawser sim", runs_program ? "hawser-exec" : "hawser-sim",
                       runs_program ? words.subspan(1) : words);
}

}  // namespace hawser
