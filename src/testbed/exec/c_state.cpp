// What the C library keeps once for a process and each rank has for itself: random numbers, environment,
// locale, working directory, the place in a string that is being cut up, options that are being read.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "testbed/exec/c_front.h"

extern char** environ;

using namespace hawser;

// --- Random numbers ---

HAWSER_FRONT long random() noexcept {
  static auto* const behind = HAWSER_BEHIND(random);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind();
  int32_t number = 0;
  random_r(&rank->random, &number);
  return number;
}
HAWSER_FRONT int rand() noexcept { return static_cast<int>(random()); }
HAWSER_FRONT void srandom(unsigned seed) noexcept {
  static auto* const behind = HAWSER_BEHIND(srandom);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(seed);
  srandom_r(seed, &rank->random);
}
HAWSER_FRONT void srand(unsigned seed) noexcept { srandom(seed); }
HAWSER_FRONT char* initstate(unsigned seed, char* state, std::size_t size) noexcept {
  static auto* const behind = HAWSER_BEHIND(initstate);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(seed, state, size);
  char* const former = reinterpret_cast<char*>(rank->random.state);
  return initstate_r(seed, state, size, &rank->random) == 0 ? former : nullptr;
}
HAWSER_FRONT char* setstate(char* state) noexcept {
  static auto* const behind = HAWSER_BEHIND(setstate);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(state);
  char* const former = reinterpret_cast<char*>(rank->random.state);
  return setstate_r(state, &rank->random) == 0 ? former : nullptr;
}
HAWSER_FRONT double drand48() noexcept {
  static auto* const behind = HAWSER_BEHIND(drand48);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind();
  double number = 0;
  drand48_r(&rank->drand, &number);
  return number;
}
HAWSER_FRONT long lrand48() noexcept {
  static auto* const behind = HAWSER_BEHIND(lrand48);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind();
  long number = 0;
  lrand48_r(&rank->drand, &number);
  return number;
}
HAWSER_FRONT long mrand48() noexcept {
  static auto* const behind = HAWSER_BEHIND(mrand48);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind();
  long number = 0;
  mrand48_r(&rank->drand, &number);
  return number;
}
HAWSER_FRONT void srand48(long seed) noexcept {
  static auto* const behind = HAWSER_BEHIND(srand48);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(seed);
  srand48_r(seed, &rank->drand);
}

HAWSER_FRONT char* strtok(char* __restrict text, const char* __restrict separators) noexcept {
  static char* token = nullptr;
  ProgramRank* const rank = current_rank();
  return strtok_r(text, separators, rank == nullptr ? &token : &rank->token);
}

// --- Environment ---

namespace {

// The place of NAME=value, or the null at the end.
char** find_variable(std::string_view name) {
  char** each = environ;
  for (; *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name)) break;
  }
  return each;
}

int set_variable(ProgramRank& rank, char* text, std::string_view name) {
  char** const place = find_variable(name);
  if (*place == nullptr && !rank.room_for_variable()) return errno = ENOMEM, -1;
  if (*place == nullptr) place[1] = nullptr;
  *place = text;
  return 0;
}

bool valid_name(const char* name) { return name != nullptr && *name != 0 && strchr(name, '=') == nullptr; }

}  // namespace

HAWSER_FRONT int setenv(const char* name, const char* value, int overwrite) noexcept {
  static auto* const behind = HAWSER_BEHIND(setenv);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(name, value, overwrite);
  if (!valid_name(name)) return errno = EINVAL, -1;
  if (overwrite == 0 && *find_variable(name) != nullptr) return 0;
  return set_variable(*rank, rank->keep(std::string(name) + "=" + value), name);
}

HAWSER_FRONT int putenv(char* text) noexcept {
  static auto* const behind = HAWSER_BEHIND(putenv);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(text);
  const char* const end = strchr(text, '=');
  if (end == nullptr) return unsetenv(text);
  return set_variable(*rank, text, {text, static_cast<std::size_t>(end - text)});
}

HAWSER_FRONT int unsetenv(const char* name) noexcept {
  static auto* const behind = HAWSER_BEHIND(unsetenv);
  if (current_rank() == nullptr) return behind(name);
  if (!valid_name(name)) return errno = EINVAL, -1;
  for (char** place = find_variable(name); *place != nullptr; ++place) *place = place[1];
  return 0;
}

HAWSER_FRONT int clearenv() noexcept {
  static auto* const behind = HAWSER_BEHIND(clearenv);
  if (current_rank() == nullptr) return behind();
  *environ = nullptr;
  return 0;
}

// --- Locale and working directory ---

HAWSER_FRONT char* setlocale(int category, const char* name) noexcept {
  static auto* const behind = HAWSER_BEHIND(setlocale);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(category, name);
  if (name == nullptr) return rank->locale_name.data();
  const int mask = category == LC_ALL ? LC_ALL_MASK : 1 << category;
  const locale_t before = uselocale(nullptr);
  const locale_t changed = newlocale(mask, name, duplocale(before));
  if (changed == nullptr) return nullptr;
  uselocale(changed);
  // What `name` "" stands for is not told by the C library; programs hand the answer back to it.
  if (category == LC_ALL || *name != 0) rank->locale_name = *name != 0 ? name : "";
  return rank->locale_name.data();
}

HAWSER_FRONT int fchdir(int descriptor) noexcept {
  static auto* const behind = HAWSER_BEHIND(fchdir);
  ProgramRank* const rank = current_rank();
  return rank == nullptr ? behind(descriptor) : rank->change_folder(descriptor);
}

HAWSER_FRONT int chdir(const char* path) noexcept {
  static auto* const behind = HAWSER_BEHIND(chdir);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(path);
  const FileDescriptor folder(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder.valid() ? rank->change_folder(folder.get()) : -1;
}

// --- Options ---

namespace {

// The program has copies of these variables, which the C library does not see, if it uses them.
template <class Read>
int read_options(Read&& read) {
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return read();
  static ProgramRank* last = nullptr;
  ProgramRank::Options& options = rank->getopt_variables();
  const bool begins = !options.begun || *options.index == 0;
  if (!begins && last != rank) {
    rank->refuse("called getopt between calls of other ranks: read all options before the first call of MPI");
  }
  optind = begins && *options.index <= 1 ? 0 : *options.index;
  opterr = *options.errors;
  options.begun = true;
  last = rank;
  const int answer = read();
  *options.index = optind;
  *options.option = optopt;
  *options.argument = optarg;
  return answer;
}

}  // namespace

HAWSER_FRONT int getopt(int count, char* const* words, const char* letters) noexcept {
  static auto* const behind = HAWSER_BEHIND(getopt);
  return read_options([&] { return behind(count, words, letters); });
}
HAWSER_FRONT int getopt_long(int count, char* const* words, const char* letters, const option* names,
                             int* index) noexcept {
  static auto* const behind = HAWSER_BEHIND(getopt_long);
  return read_options([&] { return behind(count, words, letters, names, index); });
}
HAWSER_FRONT int getopt_long_only(int count, char* const* words, const char* letters, const option* names,
                                  int* index) noexcept {
  static auto* const behind = HAWSER_BEHIND(getopt_long_only);
  return read_options([&] { return behind(count, words, letters, names, index); });
}
