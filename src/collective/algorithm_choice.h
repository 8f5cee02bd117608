// AlgorithmChoice: which row of the table of algorithms does an operation. All ranks choose from the same
// facts, so they choose the same one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "collective/algorithm.h"
#include "collective/tuned_table.h"

namespace hawser {

class AlgorithmChoice {
 public:
  // The knob `collective_algorithm`: "allreduce=ring,broadcast=binomial" forces algorithms where they fit.
  Result<> parse(std::string_view knob);
  void set_model(const TransferCosts& model) {
    model_ = model;
    chosen_ = {};
  }
  const TransferCosts& model() const { return model_; }
  void use_table(TunedTable table) {
    table_ = std::move(table);
    chosen_ = {};
  }
  const Algorithm& choose(Collective kind, const Shape& shape);
  // Of one that has two levels there.
  NodeAreas areas_of_node(Collective kind, const Shape& shape) { return look_up(kind, shape).areas; }
  bool has_table() const { return !table_.empty(); }
  // Whether the table says that an operation within a node goes by messages.
  bool goes_by_messages(Collective kind, const Shape& shape) const { return table_.find(kind, shape).tuned; }
  // How often choose() was asked, and how often the table answered.
  struct Counters {
    std::uint64_t asked = 0, by_table = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  // To compute all costs takes 100 to 250 ns, and programs repeat themselves: what was chosen is kept.
  struct Chosen {
    Shape shape;
    const Algorithm* algorithm = nullptr;
    bool by_table = false;
    NodeAreas areas{};
  };
  static constexpr std::size_t kept = 64;

  const Chosen& look_up(Collective kind, const Shape& shape);
  Chosen choose_anew(Collective kind, const Shape& shape, const TransferCosts& costs) const;

  std::array<const Algorithm*, collective_kinds> forced_{};
  TransferCosts model_;
  TunedTable table_;
  Counters counters_;
  std::array<Chosen, kept> chosen_;  // by a hash
};

}  // namespace hawser
