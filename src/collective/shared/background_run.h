// BackgroundRun: text that waits, moved on by progress. It has a stack of its own, on which it stands while
// what it waits for has not come, so that blocking and non-blocking operations have the same text.
//
// Threads: under the process's lock, like everything; any thread may move it on.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "os/fiber.h"

namespace hawser {

class BackgroundRun {
 public:
  BackgroundRun();
  ~BackgroundRun();

  // Runs the text until it waits or ends.
  void begin(std::function<void()> text);
  // Goes on if what it waits for has come. True: the text has ended. Throws what the text threw.
  bool advance();
  // The wait that stands next throws, and the text ends.
  void cancel();

  // For the text: returns when `done` answers true, which is asked from outside. Throws Stopped if nobody
  // wants the end.
  void wait(FunctionRef<bool()> done);

 private:
  void go_on();

  std::function<void()> text_;  // null: none is under way
  const FunctionRef<bool()>* awaited_ = nullptr;
  bool cancelled_ = false;
  bool closing_ = false;
  std::exception_ptr thrown_;
  Fiber fiber_;
};

// Those that have nothing to do, for the next operation.
class BackgroundRuns {
 public:
  std::unique_ptr<BackgroundRun> take();
  void give_back(std::unique_ptr<BackgroundRun> run) { idle_.push_back(std::move(run)); }

 private:
  std::vector<std::unique_ptr<BackgroundRun>> idle_;
};

}  // namespace hawser
