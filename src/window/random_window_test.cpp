// Random programs of one-sided operations against a model. All ranks draw the same program, carry out their
// part of it, and know from the model what must stand in every window after each epoch.
//
// Every rank has a slice of its own in each window, in which it puts, gets or accumulates in one epoch, so
// that nothing conflicts; and all add to an area that they share.
#include <algorithm>

#include "base/random.h"
#include "datatype/constructors.h"
#include "window/window_test_support.h"

namespace hawser::testing {
namespace {

using Number = std::uint64_t;
constexpr std::int64_t shared_numbers = 300;

// Blocks of numbers in a slice: contiguous, or a vector.
struct Shape {
  std::int64_t first = 0;
  std::int64_t blocks = 1;
  std::int64_t length = 0;
  std::int64_t stride = 0;

  std::int64_t count() const { return blocks * length; }
  std::int64_t place(std::int64_t i) const { return first + i / length * stride + i % length; }
  Ref<Datatype> type(const Datatype& number) const {
    auto made = make_vector(blocks, length, stride, number, CountForm::plain);
    made.value()->commit();
    return made.value();
  }
};

enum class Mode : std::uint8_t { put, get, accumulate, add_to_shared };

struct Step {
  Mode mode;
  int origin;
  int target;
  Shape shape;
  bool origin_in_blocks;
  PredefinedOperator operation;
  bool fetches;
  Number seed;  // of the data

  Number datum(std::int64_t i) const { return seed * 1000003u + static_cast<Number>(i); }
};

struct Epoch {
  enum class Kind : std::uint8_t { fence, lock_all, locks, exclusive_locks, posts } kind;
  std::vector<Step> steps;
};

class Program {
 public:
  Program(std::uint64_t seed, int ranks) : random_(seed), ranks_(ranks) {
    slice = static_cast<std::int64_t>(1 + random_.below(random_.chance(0.3) ? 20000 : 300));
    for (auto epochs = 1 + random_.below(6); epochs > 0; --epochs) epochs_.push_back(draw_epoch());
  }
  const std::vector<Epoch>& epochs() const { return epochs_; }
  std::int64_t size() const { return slice * ranks_ + shared_numbers; }
  std::int64_t slice;

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  Shape draw_shape(std::int64_t size) {
    Shape shape;
    shape.length = 1 + below(random_.chance(0.5) ? size : std::min<std::int64_t>(size, 4));
    shape.stride = shape.length + below(5);
    shape.blocks = 1 + below(std::max<std::int64_t>((size - shape.length) / shape.stride, 1));
    if (random_.chance(0.4)) shape.blocks = 1;
    const std::int64_t span = (shape.blocks - 1) * shape.stride + shape.length;
    shape.first = below(size - span + 1);
    return shape;
  }
  Epoch draw_epoch() {
    Epoch epoch{static_cast<Epoch::Kind>(random_.below(5)), {}};
    for (int origin = 0; origin < ranks_; ++origin)
      for (int target = 0; target < ranks_; ++target) {
        const auto mode = static_cast<Mode>(random_.below(4));
        std::vector<bool> taken(static_cast<std::size_t>(slice));
        for (auto steps = random_.below(4); steps > 0; --steps) {
          Step step{mode,
                    origin,
                    target,
                    draw_shape(mode == Mode::add_to_shared ? shared_numbers : slice),
                    random_.chance(0.5),
                    PredefinedOperator::sum,
                    random_.chance(0.5),
                    random_.next()};
          if (mode == Mode::put && !take(step.shape, taken)) continue;
          constexpr PredefinedOperator operators[] = {PredefinedOperator::sum, PredefinedOperator::replace,
                                                      PredefinedOperator::bxor, PredefinedOperator::max};
          if (mode == Mode::accumulate) step.operation = operators[random_.below(4)];
          epoch.steps.push_back(step);
        }
      }
    return epoch;
  }
  // Puts of one epoch must not overlap.
  static bool take(const Shape& shape, std::vector<bool>& taken) {
    for (std::int64_t i = 0; i < shape.count(); ++i)
      if (taken[static_cast<std::size_t>(shape.place(i))]) return false;
    for (std::int64_t i = 0; i < shape.count(); ++i) taken[static_cast<std::size_t>(shape.place(i))] = true;
    return true;
  }

  Random random_;
  const int ranks_;
  std::vector<Epoch> epochs_;
};

Number applied(PredefinedOperator operation, Number value, Number before) {
  switch (operation) {
    case PredefinedOperator::sum:
      return value + before;
    case PredefinedOperator::bxor:
      return value ^ before;
    case PredefinedOperator::max:
      return std::max(value, before);
    default:
      return value;
  }
}

// One rank's run of a program.
class ProgramRun {
 public:
  ProgramRun(WindowRank& own, const Program& program)
      : own_(own), program_(program), memory_(static_cast<std::size_t>(program.size())) {
    expected_.assign(static_cast<std::size_t>(own.size()), memory_);
    window_ = own.make(memory_);
  }
  void run() {
    for (const Epoch& epoch : program_.epochs()) {
      begin(epoch);
      for (const Step& step : epoch.steps) {
        if (step.origin == own_.rank()) {
          lock_for(epoch, step.target);
          start(step);
        }
        model(step);
      }
      end(epoch);
      own_.barrier();
      for (const Fetched& fetched : fetched_) {
        if (!fetched.checked) continue;
        ASSERT_EQ(fetched.got, fetched.wanted) << static_cast<int>(fetched.mode);
      }
      ASSERT_EQ(memory_, expected_[static_cast<std::size_t>(own_.rank())]);
      fetched_.clear();
      data_.clear();
      own_.barrier();
    }
    ASSERT_TRUE(window_->free());
  }

 private:
  struct Fetched {
    Mode mode;
    bool checked;
    std::vector<Number> got, wanted;
  };

  const Datatype& number() { return own_.type(PredefinedType::unsigned_long); }
  std::int64_t offset(const Step& step) const {
    return step.mode == Mode::add_to_shared ? program_.slice * own_.size() : program_.slice * step.origin;
  }
  const Group& all() { return *own_.base.world->group(); }

  void begin(const Epoch& epoch) {
    switch (epoch.kind) {
      case Epoch::Kind::fence:
        ASSERT_TRUE(window_->fence(0));
        return;
      case Epoch::Kind::lock_all:
        ASSERT_TRUE(window_->lock_all(0));
        return;
      case Epoch::Kind::posts:
        ASSERT_TRUE(window_->post(all(), 0));
        ASSERT_TRUE(window_->start(all(), 0));
        return;
      case Epoch::Kind::locks:
      case Epoch::Kind::exclusive_locks:
        return;
    }
  }
  void end(const Epoch& epoch) {
    switch (epoch.kind) {
      case Epoch::Kind::fence:
        ASSERT_TRUE(window_->fence(window_mode::no_succeed));
        return;
      case Epoch::Kind::lock_all:
        ASSERT_TRUE(window_->unlock_all());
        return;
      case Epoch::Kind::posts:
        ASSERT_TRUE(window_->complete());
        ASSERT_TRUE(window_->wait());
        return;
      case Epoch::Kind::locks:
      case Epoch::Kind::exclusive_locks:
        if (locked_ >= 0) {
          ASSERT_TRUE(window_->unlock(locked_));
        }
        locked_ = -1;
        return;
    }
  }
  void start(const Step& step) {
    const std::int64_t count = step.shape.count();
    const Ref<Datatype> target_type = step.shape.type(number());
    // The origin's data in blocks of their own.
    const Shape apart{0, count, 1, 2};
    const Ref<Datatype> apart_type = apart.type(number());
    const bool in_blocks = step.origin_in_blocks;
    std::vector<Number>& data = data_.emplace_back(static_cast<std::size_t>(in_blocks ? 2 * count : count));
    for (std::int64_t i = 0; i < count; ++i)
      data[static_cast<std::size_t>(in_blocks ? 2 * i : i)] = step.datum(i);
    const OriginData origin{data.data(), in_blocks ? 1 : count, in_blocks ? apart_type.get() : &number()};
    const TargetData target{step.target, offset(step) + step.shape.first, 1, target_type.get()};
    if (step.mode == Mode::put) {
      ASSERT_TRUE(window_->put(origin, target));
      return;
    }
    const Operator& operation = own_.operators[step.operation];
    if (step.mode != Mode::get && !step.fetches) {
      ASSERT_TRUE(window_->accumulate(origin, target, operation));
      return;
    }
    Fetched& fetched = fetched_.emplace_back();
    fetched.mode = step.mode;
    fetched.got.resize(static_cast<std::size_t>(count));
    const ResultData result{fetched.got.data(), count, &number()};
    if (step.mode == Mode::get) {
      ASSERT_TRUE(window_->get(result, target));
    } else {
      ASSERT_TRUE(window_->get_accumulate(origin, result, target, operation));
    }
    // What others add meanwhile may be in already, or not.
    fetched.checked = step.mode != Mode::add_to_shared;
    const auto& there = expected_[static_cast<std::size_t>(step.target)];
    for (std::int64_t i = 0; i < count; ++i)
      fetched.wanted.push_back(there[static_cast<std::size_t>(offset(step) + step.shape.place(i))]);
  }
  // One target after another; sometimes one again.
  void lock_for(const Epoch& epoch, int target) {
    if (locked_ == target || (epoch.kind != Epoch::Kind::locks && epoch.kind != Epoch::Kind::exclusive_locks))
      return;
    if (locked_ >= 0) {
      ASSERT_TRUE(window_->unlock(locked_));
    }
    locked_ = target;
    const bool exclusive = epoch.kind == Epoch::Kind::exclusive_locks;
    ASSERT_TRUE(window_->lock(exclusive ? LockType::exclusive : LockType::shared, target, 0));
  }
  void model(const Step& step) {
    if (step.mode == Mode::get) return;
    auto& there = expected_[static_cast<std::size_t>(step.target)];
    for (std::int64_t i = 0; i < step.shape.count(); ++i) {
      Number& place = there[static_cast<std::size_t>(offset(step) + step.shape.place(i))];
      place = step.mode == Mode::put ? step.datum(i) : applied(step.operation, step.datum(i), place);
    }
  }

  WindowRank& own_;
  const Program& program_;
  std::vector<Number> memory_;
  std::vector<std::vector<Number>> expected_;
  Ref<Window> window_;
  int locked_ = -1;
  std::deque<std::vector<Number>> data_;  // until the epoch ends
  std::deque<Fetched> fetched_;
};

TEST(RandomWindows, DoWhatTheModelSays) {
  constexpr std::uint64_t seeds = 1000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int ranks = 1 + static_cast<int>(random.below(6));
    const int refused_call = random.chance(0.4) ? 0 : 2 + static_cast<int>(random.below(5));
    WindowCluster cluster({ranks, refused_call, random.chance(0.3), random.chance(0.3)});
    const Program program(seed, ranks);
    cluster.run([&](WindowRank& own) { ProgramRun(own, program).run(); });
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hawser::testing
