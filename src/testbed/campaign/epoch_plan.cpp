#include "testbed/campaign/epoch_plan.h"

#include <algorithm>

#include "testbed/campaign/drawing.h"

namespace hawser {
namespace {

using Kind = PlannedOperation::Kind;

class EpochDrawing final : Drawing {
 public:
  EpochDrawing(const EpochShape& shape, Random& random) : Drawing(random), shape_(shape) {}

  EpochPlan draw() {
    EpochPlan plan;
    plan.ranks = shape_.ranks;
    plan.part = std::min(one_of({64, 1024, shape_.part, shape_.part}), shape_.part);
    if (plan.part >= 8192 && random_.chance(0.5)) plan.part *= 3;  // lists of blocks have 64 KiB and more
    part_ = plan.part;
    plan.epochs.resize(static_cast<std::size_t>(shape_.epochs));
    for (auto& epoch : plan.epochs)
      if (!random_.chance(shape_.none)) draw_epoch(epoch);
    return plan;
  }

 private:
  enum class Use : std::uint8_t { puts, gets, accumulates, common };
  struct Pair {
    int origin = 0, target = 0;
    Use use = Use::puts;
    std::int32_t cursor = 0;  // what lies behind it was not put to since the last flush
  };

  void draw_epoch(AccessEpoch& epoch) {
    epoch.kind = static_cast<AccessEpoch::Kind>(number(1, 5));
    epoch.memory = static_cast<AccessEpoch::Memory>(random_.below(AccessEpoch::memories));
    epoch.asserts = random_.chance(0.5);
    epoch.stores = !epoch.passive() && random_.chance(0.5);
    epoch.key = random_.next();
    std::vector<Pair> pairs;
    for (int i = number(1, 4); i > 0; --i) {
      const int origin = number(0, shape_.ranks - 1), target = number(0, shape_.ranks - 1);
      const auto same = [&](const Pair& each) { return each.origin == origin && each.target == target; };
      if (std::any_of(pairs.begin(), pairs.end(), same)) continue;
      pairs.push_back({origin, target});
      pairs.back().use = use();
    }
    if (shape_.computing && random_.chance(0.3)) {
      epoch.busy = pairs.front().target;
      epoch.computes = static_cast<Nanoseconds>(between(50e3, 5e6));
    }
    small_ = random_.chance(0.4);
    for (int i = small_ ? number(1, 60) : number(1, 16); i > 0; --i)
      draw_operation(epoch, pairs[random_.below(pairs.size())]);
  }

  Use use() { return static_cast<Use>(random_.below(4)); }

  void draw_operation(AccessEpoch& epoch, Pair& pair) {
    PlannedOperation operation;
    operation.origin = pair.origin;
    operation.target = pair.target;
    operation.key = random_.next();
    if (random_.chance(0.15)) operation.here = random_.chance(0.5) ? 1 : number(1, 1500);
    operation.by_request = epoch.passive() && random_.chance(0.3);
    if (epoch.passive() && random_.chance(0.2)) {
      operation.kind = Kind::flush;
      operation.local = random_.chance(0.25);
      epoch.operations.push_back(operation);
      if (operation.local) return;
      pair.use = use();
      pair.cursor = 0;
      return;
    }
    switch (pair.use) {
      case Use::puts:
        operation.kind = Kind::put;
        draw_shape(operation, part_);
        operation.first = pair.cursor + (random_.chance(0.3) ? number(1, 40) : 0);
        if (operation.first + operation.span() > part_) return;
        pair.cursor = operation.first + operation.span();
        break;
      case Use::gets:
        operation.kind = Kind::get;
        draw_place(operation, part_);
        break;
      case Use::accumulates:
        operation.kind = random_.chance(0.4) ? Kind::get_accumulate : Kind::accumulate;
        operation.operation = static_cast<PlannedOperation::Operator>(random_.below(4));
        draw_place(operation, part_);
        break;
      case Use::common:
        draw_in_common(epoch, operation);
        break;
    }
    epoch.operations.push_back(operation);
  }

  void draw_in_common(const AccessEpoch& epoch, PlannedOperation& operation) {
    if (random_.chance(0.4)) {
      operation.kind = Kind::add;
      return draw_place(operation, EpochPlan::common);
    }
    operation.kind = Kind::fetch_and_add;
    if (epoch.kind == AccessEpoch::Kind::lock_all && random_.chance(0.4)) operation.kind = Kind::take_ticket;
    operation.by_request = false;
    operation.here = 0;
    operation.length = operation.stride = 1;
    operation.first = number(0, EpochPlan::common - 1);
  }

  // Of how many numbers: around what protocols change at, too.
  std::int32_t size() {
    const double dice = random_.uniform();
    if (dice < 0.4 || (small_ && dice < 0.7)) return number(1, 8);
    if (small_ || dice < 0.65) return number(1, 600);
    if (dice < 0.75) return number(505, 515);
    if (dice < 0.95) return number(1, std::max(1, part_ / 4));
    return number(std::max(1, part_ / 4), part_);
  }
  void draw_shape(PlannedOperation& operation, std::int32_t room) {
    // Long blocks are for much.
    const bool long_blocks = operation.here >= 512;
    const std::int32_t count = std::min(long_blocks ? number(std::max(1, room / 4), room) : size(), room);
    operation.length = operation.stride = count;
    operation.blocks = 1;
    if (count == 1 || !random_.chance(0.3)) return;
    operation.blocks = number(2, std::min(count, count < 2048 || random_.chance(0.2) ? 60 : 8));
    operation.length = count / operation.blocks;
    operation.stride = operation.length + number(0, 3);
    while (operation.span() > room) --operation.blocks;
  }
  void draw_place(PlannedOperation& operation, std::int32_t room) {
    draw_shape(operation, room);
    operation.first = number(0, room - operation.span());
  }

  const EpochShape& shape_;
  std::int32_t part_ = 0;
  bool small_ = false;  // the operations of this epoch
};

}  // namespace

std::uint64_t PlannedOperation::applied(std::int32_t i, std::uint64_t before) const {
  const std::uint64_t value = number(i);
  if (kind == Kind::put) return value;
  switch (operation) {
    case Operator::sum:
      return before + value;
    case Operator::replace:
      return value;
    case Operator::exclusive_or:
      return before ^ value;
    case Operator::maximum:
      return std::max(before, value);
  }
  return value;
}

std::size_t EpochPlan::operations() const {
  std::size_t count = 0;
  for (const AccessEpoch& epoch : epochs) count += epoch.operations.size();
  return count;
}

EpochPlan draw_epochs(const EpochShape& shape, Random& random) { return EpochDrawing(shape, random).draw(); }

}  // namespace hawser
