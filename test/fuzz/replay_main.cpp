// Runs a fuzz target without libFuzzer, for the ordinary test run: every input of its corpus, and inputs made
// of them by deterministic mutations. A fault ends the program, as it does under libFuzzer; the input at
// fault is then in the file `fault-input` of the working directory.
//
// Usage: TARGET MUTATIONS CORPUS-FOLDER
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "fuzz_input.h"

namespace {

using Input = std::vector<std::uint8_t>;

const Input* running = nullptr;

extern "C" void keep_input(int signal) {
  const int file = open("fault-input", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const bool kept = running != nullptr && write(file, running->data(), running->size()) >= 0;
  static constexpr char text[] = "the input at fault is in ./fault-input\n";
  if (kept && write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const Input& input) {
  running = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> inputs;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Some bytes changed, inserted, removed, or taken from another input.
Input mutated(const std::vector<Input>& corpus, hawser::Random& random) {
  Input input = corpus[random.below(corpus.size())];
  for (auto changes = 1 + random.below(6); changes > 0; --changes) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(input.size() + 1));
    const auto byte = static_cast<std::uint8_t>(random.next());
    const auto length = static_cast<std::ptrdiff_t>(random.below(9));
    switch (random.below(5)) {
      case 0:
        input.insert(input.begin() + at, byte);
        break;
      case 1:
        input.erase(input.begin() + at,
                    input.begin() + std::min<std::ptrdiff_t>(at + length, std::ssize(input)));
        break;
      case 2:
        if (at < std::ssize(input))
          input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1u << byte % 8);
        break;
      case 3:
        if (at < std::ssize(input)) input[static_cast<std::size_t>(at)] = byte;
        break;
      default: {
        const Input& other = corpus[random.below(corpus.size())];
        const auto from = static_cast<std::ptrdiff_t>(random.below(other.size() + 1));
        const auto to = std::min<std::ptrdiff_t>(from + 4 * length, std::ssize(other));
        input.insert(input.begin() + at, other.begin() + from, other.begin() + to);
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MUTATIONS CORPUS-FOLDER\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = read_corpus(argv[2]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no inputs in %s\n", argv[0], argv[2]);
    return 1;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, keep_input);
  for (const Input& input : corpus) run(input);
  hawser::Random random(1);
  const long mutations = std::strtol(argv[1], nullptr, 10);
  for (long i = 0; i < mutations; ++i) {
    run(mutated(corpus, random));
  }
  std::printf("%zu inputs and %ld mutations of them\n", corpus.size(), mutations);
}
