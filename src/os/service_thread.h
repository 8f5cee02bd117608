// ServiceThread: a thread of the library's own beside the program's. Signals go to the program's threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "os/file_descriptor.h"

namespace hawser {

class ServiceThread {
 public:
  // Runs `body`, which must not let an exception out and ends soon after request_stop(). Fails when the
  // system has no room for another thread.
  static Result<std::unique_ptr<ServiceThread>> start(const char* name,
                                                      std::function<void(ServiceThread&)> body);
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;
  ~ServiceThread();  // asks the body to end, and waits until it has

  void request_stop();
  // For the body.
  bool stop_requested() const { return stop_requested_.load(std::memory_order_acquire); }
  // Sleeps for this time, or until wake() or request_stop().
  void sleep(Nanoseconds time);
  // Becomes readable with wake() and request_stop(), anew each time.
  const FileDescriptor& descriptor() const { return event_; }
  // Any thread: ends the body's sleep on the descriptor.
  void wake();
  // In a forked child, where the thread does not exist: the destructor does not wait for it.
  void forget() { started_ = false; }

 private:
  explicit ServiceThread(std::function<void(ServiceThread&)> body) : body_(std::move(body)) {}
  static void* run(void* self);

  std::function<void(ServiceThread&)> body_;
  FileDescriptor event_;
  std::atomic<bool> stop_requested_{false};
  unsigned long thread_ = 0;  // pthread_t
  bool started_ = false;
};

}  // namespace hawser
