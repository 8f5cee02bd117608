#include "testbed/exec/program_rank.h"

#include <alloca.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "testbed/exec/c_library.h"
#include "testbed/exec/program_tls.h"

extern char** environ;

namespace hawser {
namespace {

ProgramRank* current = nullptr;
constexpr std::size_t room_for_variables = 256;

// As under mpiexec: only the first rank has a standard input.
std::FILE* empty_input() {
  static std::FILE* const empty = std::fopen("/dev/null", "r");
  return empty;
}

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / std::max<std::size_t>(multiple, 1) * std::max<std::size_t>(multiple, 1);
}

// What a program's thread-local variables are to begin with, as they lie before the thread pointer.
std::vector<std::byte> thread_local_image(const ElfObject& program) {
  const Elf64_Phdr* const segment = program.thread_local_segment();
  if (segment == nullptr) return {};
  std::vector<std::byte> image(rounded_up(segment->p_memsz, segment->p_align));
  const std::span<const std::byte> begin = program.bytes_of(*segment);
  std::ranges::copy(begin, image.begin());
  return image;
}

// Jumps to where a program begins, with the words that the kernel leaves on a new stack: the number of
// arguments, these, a null, the environment, a null, and the end of what the kernel tells (nothing).
[[noreturn]] void begin_program(std::uintptr_t entry, const std::vector<char*>& words) {
  const std::size_t bytes = rounded_up(words.size() * sizeof(char*), 16);
  void* const stack = alloca(bytes + 16);
  char** const begin = reinterpret_cast<char**>(rounded_up(reinterpret_cast<std::uintptr_t>(stack), 16));
  std::ranges::copy(words, begin);
  asm volatile(
      "mov %0, %%rsp\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%ebp, %%ebp\n\t"
      "jmp *%1\n\t"
      :
      : "r"(begin), "r"(entry)
      : "rdx", "memory");
  __builtin_unreachable();
}

}  // namespace

ProgramRank* current_rank() { return current; }

int folder_of_simulator() {
  static const int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder;
}

ProgramRank::ProgramRank(const ProgramImage& image, const ProgramOptions& options, OutputMerger& merger,
                         int rank)
    : image_(image), options_(options), rank_(rank), output_(merger, rank) {
  for (const std::string& each : options.environment) environment_.push_back(keep(each));
  // It never moves: programs keep its address.
  environment_.resize(environment_.size() + room_for_variables);
  swapped_.in = rank == 0 ? stdin : empty_input();
  swapped_.out = output_.stream(STDOUT_FILENO);
  swapped_.err = output_.stream(STDERR_FILENO);
  swapped_.environment = environment_.data();
  swapped_.thread_local_variables = thread_local_image(image.program());
  initstate_r(1, random_state.data(), random_state.size(), &random);
  srand48_r(0, &drand);
}

ProgramRank::~ProgramRank() = default;

// --- Switching ---

void ProgramRank::swap() {
  std::swap(swapped_.error, errno);
  std::swap(swapped_.in, stdin);
  std::swap(swapped_.out, stdout);
  std::swap(swapped_.err, stderr);
  std::swap(swapped_.environment, environ);
  swapped_.locale = uselocale(swapped_.locale);
  std::vector<std::byte>& variables = swapped_.thread_local_variables;
  if (variables.empty()) return;
  std::swap_ranges(variables.begin(), variables.end(), end_of_program_tls() - variables.size());
}

void ProgramRank::enter() {
  swap();
  current = this;
  if (folder_.valid()) (void)c_library::change_folder(folder_.get());
  if (options_.compute_scale > 0) computing_since_ = c_library::processor_time();
}

void ProgramRank::leave() {
  current = nullptr;
  swap();
  if (folder_.valid()) (void)c_library::change_folder(folder_of_simulator());
}

int ProgramRank::change_folder(int descriptor) {
  if (c_library::change_folder(descriptor) != 0) return -1;
  folder_ = FileDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  return folder_.valid() ? 0 : -1;
}

bool ProgramRank::room_for_variable() { return environment_[environment_.size() - 2] == nullptr; }

char* ProgramRank::keep(std::string text) { return texts_.emplace_back(std::move(text)).data(); }

// --- Time ---

void ProgramRank::charge_computing() {
  if (options_.compute_scale <= 0) return;
  const std::int64_t spent = c_library::processor_time() - computing_since_;
  const auto duration =
      static_cast<Nanoseconds>(std::llround(static_cast<double>(spent) * options_.compute_scale));
  calls_.computed += duration;
  simulated_->compute(duration);
  computing_since_ = c_library::processor_time();
}

Nanoseconds ProgramRank::now() {
  if (depth_ == 0) charge_computing();
  return simulated_->now();
}

void ProgramRank::sleep(Nanoseconds duration) {
  if (depth_ == 0) charge_computing();
  calls_.computed += duration;
  simulated_->sleep(duration);
}

void ProgramRank::begin_call(int function) {
  if (depth_++ > 0) return;
  charge_computing();
  calls_.begin(function, simulated_->local_time());
}

void ProgramRank::end_call() {
  if (--depth_ > 0) return;
  calls_.end(simulated_->local_time());
  if (options_.compute_scale > 0) computing_since_ = c_library::processor_time();
}

// --- Beginning and end ---

void ProgramRank::run(SimulatedRank& simulated) {
  simulated_ = &simulated;
  if (sigsetjmp(after_end_, 0) == 0) start();
  end_.ended = true;
  output_.finish();
}

void ProgramRank::start() {
  auto loaded = image_.load(rank_);
  if (!loaded) {
    end_.reason = loaded.error().text;
    end_.code = 1;
    return;
  }
  loaded_ = std::move(loaded).value();
  find_copied_variables();
  std::vector<char*> words = start_words();
  image_.construct(loaded_, static_cast<int>(options_.arguments.size()), words.data() + 1, environ);
  begin_program(loaded_.entry, words);
}

std::vector<char*> ProgramRank::start_words() {
  std::vector<char*> words{reinterpret_cast<char*>(options_.arguments.size())};
  // Programs may write to their arguments.
  for (const std::string& each : options_.arguments) words.push_back(keep(each));
  words.push_back(nullptr);
  for (char** each = environ; *each != nullptr; ++each) words.push_back(*each);
  words.insert(words.end(), 3, nullptr);
  return words;
}

// A program that uses a variable of the C library directly has a copy of it, which the C library does not
// know.
void ProgramRank::find_copied_variables() {
  const auto find = [&](const char* name, auto*& variable) {
    for (const ElfObject::Variable& each : image_.program().copied_variables())
      if (each.name == name)
        variable = reinterpret_cast<std::remove_reference_t<decltype(variable)>>(
            loaded_.objects.back()->l_addr + each.address);
  };
  find("optind", getopt_.index);
  find("opterr", getopt_.errors);
  find("optopt", getopt_.option);
  find("optarg", getopt_.argument);
  *getopt_.index = *getopt_.errors = 1;
  *getopt_.argument = nullptr;
}

int ProgramRank::main(int (*program)(int, char**, char**)) {
  std::vector<char*> words = start_words();
  return program(static_cast<int>(options_.arguments.size()), words.data() + 1, environ);
}

void ProgramRank::run_at_exit(int code) {
  while (!at_exit_.empty()) {
    const AtExit last = at_exit_.back();
    at_exit_.pop_back();
    if (last.with_code != nullptr)
      last.with_code(code, last.argument);
    else
      last.function(last.argument);
  }
}

// What the loader would call when the process ends: the program's first, then its libraries'.
void ProgramRank::run_finalizers() {
  for (; !loaded_.objects.empty(); loaded_.objects.pop_back()) {
    const link_map& object = *loaded_.objects.back();
    const auto find = [&](std::int64_t tag) -> std::uintptr_t {
      for (const Elf64_Dyn* each = object.l_ld; each->d_tag != DT_NULL; ++each)
        if (each->d_tag == tag) return each->d_un.d_val;
      return 0;
    };
    const std::uintptr_t functions = find(DT_FINI_ARRAY);
    for (std::size_t i = find(DT_FINI_ARRAYSZ) / sizeof(std::uintptr_t); functions != 0 && i-- > 0;)
      reinterpret_cast<void (**)()>(object.l_addr + functions)[i]();
    if (const std::uintptr_t last = find(DT_FINI); last != 0)
      reinterpret_cast<void (*)()>(object.l_addr + last)();
  }
}

void ProgramRank::exit(int code) {
  run_at_exit(code);
  run_finalizers();
  exit_now(code);
}

void ProgramRank::exit_now(int code) {
  charge_computing();
  end_.code = code & 0xff;
  siglongjmp(after_end_, 1);
}

void ProgramRank::die(int signal) {
  end_.signal = signal;
  end_.code = 128 + signal;
  end_.reason = fmt::format("died of signal {} ({})", signal, strsignal(signal));
  siglongjmp(after_end_, 1);
}

void ProgramRank::refuse(const std::string& what) {
  end_.code = exit_unsupported;
  end_.reason = what;
  siglongjmp(after_end_, 1);
}

void ProgramRank::raise(int signal) {
  const struct sigaction action = handler(signal);
  if (action.sa_handler == SIG_IGN) return;
  if (action.sa_handler == SIG_DFL) {
    constexpr int harmless[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
    if (std::ranges::find(harmless, signal) != std::end(harmless)) return;
    die(signal);
  }
  siginfo_t info{};
  info.si_signo = signal;
  if ((action.sa_flags & SA_RESETHAND) != 0) handler(signal).sa_handler = SIG_DFL;
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(signal, &info, nullptr);
  else
    action.sa_handler(signal);
}

}  // namespace hawser
