#include "os/service_thread.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace hawser {

namespace {

constexpr std::size_t stack_bytes = 512 * 1024;

}  // namespace

Result<std::unique_ptr<ServiceThread>> ServiceThread::start(const char* name,
                                                            std::function<void(ServiceThread&)> body) {
  std::unique_ptr<ServiceThread> made(new ServiceThread(std::move(body)));
  made->event_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->event_.valid())
    return failure(ErrorKind::other, "no eventfd for thread {}: {}", name, std::strerror(errno));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  // The thread begins with the mask of the one that makes it.
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  const int error = pthread_create(&made->thread_, &attributes, &run, made.get());
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return failure(ErrorKind::other, "cannot start thread {}: {}", name, std::strerror(error));
  made->started_ = true;
  pthread_setname_np(made->thread_, name);
  return made;
}

ServiceThread::~ServiceThread() {
  if (!started_) return;
  request_stop();
  pthread_join(thread_, nullptr);
}

void ServiceThread::request_stop() {
  stop_requested_.store(true, std::memory_order_release);
  wake();
}

void ServiceThread::sleep(Nanoseconds time) {
  const timespec limit{time / second, time % second};
  pollfd wanted{event_.get(), POLLIN, 0};
  eventfd_t count;
  if (ppoll(&wanted, 1, &limit, nullptr) > 0) eventfd_read(event_.get(), &count);
}

void ServiceThread::wake() { eventfd_write(event_.get(), 1); }

void* ServiceThread::run(void* self) {
  auto& thread = *static_cast<ServiceThread*>(self);
  thread.body_(thread);
  return nullptr;
}

}  // namespace hawser
