#include "collective/shared/background_run.h"

#include <utility>

#include "base/assert.h"
#include "communicator/trouble.h"

namespace hawser {

namespace {
// What runs are copies and predefined reductions, a few calls deep; sanitizers make frames larger.
constexpr std::size_t stack_bytes = 128 << 10;
}  // namespace

BackgroundRun::BackgroundRun()
    : fiber_(
          [this] {
            while (!closing_) {
              try {
                text_();
              } catch (...) {
                thrown_ = std::current_exception();
              }
              text_ = nullptr;
              fiber_.suspend();
            }
          },
          stack_bytes) {}

BackgroundRun::~BackgroundRun() {
  cancel();
  closing_ = true;
  fiber_.resume();
}

void BackgroundRun::begin(std::function<void()> text) {
  HAWSER_ASSERT(text_ == nullptr);
  text_ = std::move(text);
  go_on();
}

bool BackgroundRun::advance() {
  if (awaited_ != nullptr && (*awaited_)()) go_on();
  return text_ == nullptr;
}

void BackgroundRun::cancel() {
  if (text_ == nullptr) return;
  cancelled_ = true;
  go_on();
  HAWSER_ASSERT(text_ == nullptr);
  cancelled_ = false;
}

void BackgroundRun::wait(FunctionRef<bool()> done) {
  awaited_ = &done;
  fiber_.suspend();
  awaited_ = nullptr;
  if (cancelled_) throw Stopped{ErrorClass::other};
}

void BackgroundRun::go_on() {
  fiber_.resume();
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

std::unique_ptr<BackgroundRun> BackgroundRuns::take() {
  if (idle_.empty()) return std::make_unique<BackgroundRun>();
  std::unique_ptr<BackgroundRun> run = std::move(idle_.back());
  idle_.pop_back();
  return run;
}

}  // namespace hawser
