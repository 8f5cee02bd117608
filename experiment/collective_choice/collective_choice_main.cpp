// Compares the costs that the library's table of algorithms gives with measured cells (run.py): which
// algorithm it chooses, and how much longer that takes than the fastest. Without areas, neither copies nor
// reductions take time in the simulator, and a node's memory is as fast as the link; the costs are taken for
// such a machine. With areas they take what they do between real cores, and costs are those of a real job.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "collective/algorithm.h"

using namespace hawser;

namespace {

constexpr int rails = 2;

struct Cell {
  std::string operation;
  int nodes, on_node;
  double rate;  // of a link, in GB/s
  std::int64_t bytes;
  auto operator<=>(const Cell&) const = default;
};
// Microseconds of each algorithm.
using Times = std::map<std::string, double>;

std::map<Cell, Times> read(const std::string& file) {
  std::ifstream in(file);
  std::string rate, layout, operation, way, bytes, time;
  std::map<Cell, Times> cells;
  std::getline(in, time);  // the head
  while (std::getline(in, rate, ',') && std::getline(in, layout, ',') && std::getline(in, operation, ',') &&
         std::getline(in, way, ',') && std::getline(in, bytes, ',') && std::getline(in, time)) {
    const Cell cell{operation, std::stoi(layout), std::stoi(layout.substr(layout.find('x') + 1)),
                    std::stod(rate), std::stol(bytes)};
    cells[cell][way] = std::stod(time);
  }
  return cells;
}

Shape shape_of(const Cell& cell, bool areas) {
  const bool of_all = cell.operation == "reduce_scatter_block";  // there, cells have the bytes of a block
  Shape shape;
  shape.ranks = cell.nodes * cell.on_node;
  shape.bytes = cell.bytes * (of_all ? shape.ranks : 1);
  shape.elements = shape.bytes / 4;
  shape.nodes = cell.nodes;
  shape.most_on_node = cell.on_node;
  shape.teams = areas && cell.on_node > 1;
  return shape;
}

struct Judged {
  std::string chosen, fastest, all;
  double loss = 1;
};

// Ways that do not fit ran as the default and are left out.
Judged judge(const Cell& cell, const Times& times, TransferCosts costs, bool areas) {
  costs.between_per_byte = 1 / (rails * cell.rate);
  costs.between_short_per_byte = 1 / cell.rate;
  // A message of 16 KiB fits a packet; it did not when the cells with areas were measured.
  if (cell.rate >= 4) costs.between_packet = areas ? 16e3 : 16 << 10;
  const Shape shape = shape_of(cell, areas);
  Judged judged;
  double least_cost = 0;
  for (const Algorithm& algorithm : algorithm_table()) {
    const auto measured = times.find(algorithm.name);
    if (cell.operation != name_of(algorithm.kind) || measured == times.end() || !algorithm.fits(shape))
      continue;
    const double cost = algorithm.cost(shape, costs) / 1000;
    if (judged.chosen.empty() || cost < least_cost) {
      judged.chosen = algorithm.name;
      least_cost = cost;
    }
    if (judged.fastest.empty() || measured->second < times.at(judged.fastest))
      judged.fastest = algorithm.name;
    char text[128];
    std::snprintf(text, sizeof text, " %s %.1f (%.1f)", algorithm.name, cost, measured->second);
    judged.all += text;
  }
  if (!judged.chosen.empty()) judged.loss = times.at(judged.chosen) / times.at(judged.fastest);
  return judged;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file, operation;
  double losses = 10, most_mean = INFINITY, most = INFINITY;
  int at_least = 1;
  bool areas = false;
  TransferCosts costs;
  CLI::App app{"What the table of costs chooses in measured cells. Microseconds: computed (measured)"};
  app.add_option("cells", file, "CSV of run.py")->required()->check(CLI::ExistingFile);
  app.add_option("--operation", operation, "only this");
  app.add_flag("--areas", areas, "the ranks of a node shared areas (run.py --areas)");
  app.add_option("--losses", losses, "print cells that lose more than so many percent")
      ->capture_default_str();
  app.add_option("--at-least", at_least, "fail if there are fewer cells");
  app.add_option("--most-mean", most_mean, "fail if the geometric mean of chosen / fastest is above");
  app.add_option("--most", most, "fail if a cell's is above");
  CLI11_PARSE(app, argc, argv);
  if (!areas) {
    costs.per_byte = costs.short_per_byte = 0.065;
    costs.reduce_per_byte = costs.copy = costs.copy_per_byte = 0;
  }
  double logs = 0, worst = 1;
  int count = 0, above = 0;
  for (const auto& [cell, times] : read(file)) {
    if (!operation.empty() && operation != cell.operation) continue;
    const Judged judged = judge(cell, times, costs, areas);
    if (judged.chosen.empty()) continue;
    ++count;
    logs += std::log(judged.loss);
    worst = std::max(worst, judged.loss);
    above += judged.loss > 1.1 ? 1 : 0;
    if (judged.loss > 1 + losses / 100)
      std::printf("%s %dx%d, %g GB/s, %ld B: %s takes %.2f of %s:%s\n", cell.operation.c_str(), cell.nodes,
                  cell.on_node, cell.rate, static_cast<long>(cell.bytes), judged.chosen.c_str(), judged.loss,
                  judged.fastest.c_str(), judged.all.c_str());
  }
  const double mean = count == 0 ? 1 : std::exp(logs / count);
  std::printf("%d cells, chosen / fastest: geometric mean %.3f, greatest %.2f, %d above 1.10\n", count, mean,
              worst, above);
  return count >= at_least && mean <= most_mean && worst <= most ? 0 : 1;
}
