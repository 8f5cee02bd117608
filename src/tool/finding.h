// What `hawser doctor` found.
#pragma once

#include <string>
#include <vector>

namespace hawser {

struct Finding {
  enum class Level {
    right,
    note,   // works, and could be better
    wrong,  // a job will fail, or run without something that is there
  };
  Level level = Level::right;
  std::string subject;  // "mlx5_0/1"
  std::string text;     // what is so
  std::string remedy;   // what to do; empty if nothing
};

using Findings = std::vector<Finding>;

}  // namespace hawser
