// What `hawser tune` measures, what it makes of it, and the table that it writes (collective/tuned_table.h).
// Plain computing; it starts nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"

namespace hawser::tune {

// One way to do things, in which the program is run: what its environment says besides ours.
struct Setting {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> operations;            // that it measures
  std::map<std::string, std::string> algorithms;  // by operation, as the table has it; none: the default
};
// The default first; with one node, messages in place of shared memory; then every algorithm of each
// operation.
std::vector<Setting> settings_of(int nodes);

// The program's output: "ranks N nodes N", and "OPERATION BYTES MICROSECONDS" for each cell.
struct Times {
  int ranks = 0, nodes = 0;
  std::map<std::pair<std::string, std::int64_t>, double> cells;
};
Result<Times> read_times(std::string_view text);

// One line of the table: what is used from so many bytes on.
struct Line {
  std::string operation;
  std::int64_t from = 0;
  std::string algorithm;  // or "messages" or "default"
  double microseconds = 0, by_default = 0;
  bool operator==(const Line&) const = default;
};

// All that was measured for one number of ranks and nodes.
class Measured {
 public:
  Measured(int ranks, int nodes) : ranks_(ranks), nodes_(nodes) {}
  void add(const Setting& setting, const Times& times);
  // An algorithm is taken where the median of its rounds is this share below the best round of the default.
  static constexpr double worth = 0.08;
  std::vector<Line> lines() const;
  // Of the cells in which something else is taken: the geometric mean of its time by the default's.
  double gain() const;
  std::string text() const;
  int ranks() const { return ranks_; }
  int nodes() const { return nodes_; }

 private:
  struct Best {
    std::string algorithm = "default";
    double microseconds = 0, by_default = 0;
  };
  Best best(const std::string& operation, std::int64_t bytes) const;

  int ranks_, nodes_;
  // Operation, bytes -> algorithm -> the rounds' times.
  std::map<std::pair<std::string, std::int64_t>, std::map<std::string, std::vector<double>>> rounds_;
};

// The table with this part in place of the one for the same ranks and nodes, if it has that.
Result<std::string> with_part(std::string_view table, std::string_view name, const Measured& part);

}  // namespace hawser::tune
