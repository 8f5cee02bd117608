// Beginning, end, signals and identity of the process that a rank takes itself for; and what it may not do.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>
#include <threads.h>
#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "testbed/exec/c_front.h"

using namespace hawser;

namespace {

// Numbers of processes that no process of the machine has, the same in each run.
constexpr pid_t first_process = 4'000'000;

[[noreturn]] void refuse_or_end(const char* function, const char* why) {
  if (ProgramRank* const rank = current_rank()) rank->refuse(fmt::format("called {}: {}", function, why));
  std::fprintf(stderr, "hawser sim exec: %s\n", function);
  c_library::exit_now(1);
}
constexpr const char* no_threads = "threads of the program's own are not simulated";
constexpr const char* no_processes = "programs that start other programs are not simulated";

using Main = int (*)(int, char**, char**);
using StartMain = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

}  // namespace

// The loader has run the constructors already.
HAWSER_FRONT int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                   void (*loader_fini)(), void* stack_end) {
  if (ProgramRank* const rank = current_rank()) rank->exit(rank->main(main));
  return c_library::next<StartMain>("__libc_start_main")(main, argc, argv, init, fini, loader_fini,
                                                         stack_end);
}

HAWSER_FRONT void exit(int code) noexcept {
  if (ProgramRank* const rank = current_rank()) rank->exit(code);
  std::fflush(nullptr);
  c_library::exit_now(code);
}

HAWSER_FRONT void _exit(int code) {
  if (ProgramRank* const rank = current_rank()) rank->exit_now(code);
  c_library::exit_now(code);
}
HAWSER_FRONT void _Exit(int code) noexcept { _exit(code); }
HAWSER_FRONT void quick_exit(int code) noexcept { _exit(code); }

HAWSER_FRONT void abort() noexcept {
  if (ProgramRank* const rank = current_rank()) rank->raise(SIGABRT), rank->die(SIGABRT);
  static auto* const behind = HAWSER_BEHIND(abort);
  behind();
  __builtin_unreachable();
}

HAWSER_FRONT void __assert_fail(const char* assertion, const char* file, unsigned line,
                                const char* function) noexcept {
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  abort();
}

HAWSER_FRONT int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept {
  using AtExit = int(void (*)(void*), void*, void*);
  static auto* const behind = c_library::next<AtExit>("__cxa_atexit");
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(function, argument, object);
  rank->at_exit({function, nullptr, argument});
  return 0;
}

HAWSER_FRONT int on_exit(void (*function)(int, void*), void* argument) noexcept {
  static auto* const behind = HAWSER_BEHIND(on_exit);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(function, argument);
  rank->at_exit({nullptr, function, argument});
  return 0;
}

// --- Signals ---

HAWSER_FRONT int sigaction(int signal, const struct sigaction* __restrict wanted,
                           struct sigaction* __restrict former) noexcept {
  static auto* const behind = HAWSER_BEHIND(sigaction);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(signal, wanted, former);
  if (signal < 1 || signal > 64 || signal == SIGKILL || signal == SIGSTOP) return errno = EINVAL, -1;
  if (former != nullptr) *former = rank->handler(signal);
  if (wanted != nullptr) rank->handler(signal) = *wanted;
  return 0;
}

HAWSER_FRONT sighandler_t signal(int number, sighandler_t handler) noexcept {
  static auto* const behind = HAWSER_BEHIND(signal);
  if (current_rank() == nullptr) return behind(number, handler);
  struct sigaction wanted {
  }, former{};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return sigaction(number, &wanted, &former) == 0 ? former.sa_handler : SIG_ERR;
}

HAWSER_FRONT int raise(int signal) noexcept {
  static auto* const behind = HAWSER_BEHIND(raise);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(signal);
  rank->raise(signal);
  return 0;
}

HAWSER_FRONT int kill(pid_t process, int signal) noexcept {
  static auto* const behind = HAWSER_BEHIND(kill);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(process, signal);
  if (process != getpid() && process != 0)
    rank->refuse(fmt::format("called kill({}, {}): other processes are not simulated", process, signal));
  if (signal != 0) rank->raise(signal);
  return 0;
}

// Signals come only from the rank itself, at once.
HAWSER_FRONT int sigprocmask(int how, const sigset_t* __restrict set, sigset_t* __restrict former) noexcept {
  static auto* const behind = HAWSER_BEHIND(sigprocmask);
  if (current_rank() == nullptr) return behind(how, set, former);
  if (former != nullptr) sigemptyset(former);
  return 0;
}
HAWSER_FRONT int pthread_sigmask(int how, const sigset_t* __restrict set,
                                 sigset_t* __restrict former) noexcept {
  static auto* const behind = HAWSER_BEHIND(pthread_sigmask);
  if (current_rank() == nullptr) return behind(how, set, former);
  if (former != nullptr) sigemptyset(former);
  return 0;
}
HAWSER_FRONT int pause() { refuse_or_end("pause", "signals that come by themselves are not simulated"); }
HAWSER_FRONT int sigsuspend(const sigset_t*) {
  refuse_or_end("sigsuspend", "signals that come by themselves are not simulated");
}

// --- Identity ---

HAWSER_FRONT pid_t getpid() noexcept {
  static auto* const behind = HAWSER_BEHIND(getpid);
  ProgramRank* const rank = current_rank();
  return rank == nullptr ? behind() : first_process + rank->rank();
}
HAWSER_FRONT pid_t gettid() noexcept {
  static auto* const behind = HAWSER_BEHIND(gettid);
  return current_rank() == nullptr ? behind() : getpid();
}
HAWSER_FRONT pid_t getppid() noexcept {
  static auto* const behind = HAWSER_BEHIND(getppid);
  return current_rank() == nullptr ? behind() : first_process - 1;
}

HAWSER_FRONT int gethostname(char* name, std::size_t size) noexcept {
  static auto* const behind = HAWSER_BEHIND(gethostname);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(name, size);
  const std::string text = rank->simulated().host_name();
  if (size <= text.size()) return errno = ENAMETOOLONG, -1;
  std::memcpy(name, text.c_str(), text.size() + 1);
  return 0;
}

HAWSER_FRONT int uname(utsname* out) noexcept {
  static auto* const behind = HAWSER_BEHIND(uname);
  const int answer = behind(out);
  if (answer == 0 && current_rank() != nullptr) gethostname(out->nodename, sizeof out->nodename);
  return answer;
}

// --- What a rank may not do ---

HAWSER_FRONT int pthread_create(pthread_t* __restrict thread, const pthread_attr_t* __restrict attributes,
                                void* (*function)(void*), void* __restrict argument) noexcept {
  static auto* const behind = HAWSER_BEHIND(pthread_create);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(thread, attributes, function, argument);
  rank->refuse(fmt::format("called pthread_create: {}", no_threads));
}
HAWSER_FRONT int thrd_create(thrd_t*, thrd_start_t, void*) { refuse_or_end("thrd_create", no_threads); }
HAWSER_FRONT pid_t fork() noexcept {
  static auto* const behind = HAWSER_BEHIND(fork);
  if (current_rank() == nullptr) return behind();
  refuse_or_end("fork", no_processes);
}
HAWSER_FRONT pid_t vfork() noexcept { refuse_or_end("vfork", no_processes); }
HAWSER_FRONT int daemon(int, int) noexcept { refuse_or_end("daemon", no_processes); }
HAWSER_FRONT int execve(const char* path, char* const* words, char* const* variables) noexcept {
  static auto* const behind = HAWSER_BEHIND(execve);
  if (current_rank() == nullptr) return behind(path, words, variables);
  refuse_or_end("execve", no_processes);
}
HAWSER_FRONT int execv(const char* path, char* const* words) noexcept {
  static auto* const behind = HAWSER_BEHIND(execv);
  if (current_rank() == nullptr) return behind(path, words);
  refuse_or_end("execv", no_processes);
}
HAWSER_FRONT int execvp(const char* file, char* const* words) noexcept {
  static auto* const behind = HAWSER_BEHIND(execvp);
  if (current_rank() == nullptr) return behind(file, words);
  refuse_or_end("execvp", no_processes);
}
HAWSER_FRONT int execl(const char*, const char*, ...) noexcept { refuse_or_end("execl", no_processes); }
HAWSER_FRONT int execlp(const char*, const char*, ...) noexcept { refuse_or_end("execlp", no_processes); }
HAWSER_FRONT int system(const char* command) {
  if (command == nullptr) return 0;
  refuse_or_end("system", no_processes);
}
HAWSER_FRONT std::FILE* popen(const char*, const char*) { refuse_or_end("popen", no_processes); }
