// RankOutput: what one rank writes to its standard output and standard error. OutputMerger: all ranks' lines
// on the simulator's own, whole lines only, with labels if they are wanted.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace hawser {

class OutputMerger {
 public:
  explicit OutputMerger(bool label) : label_(label) {}
  // A line, or the end of one that has no newline.
  void write(int rank, int descriptor, std::string_view line);
  // Why output was lost, as errno; 0: it was not. Readers that went away lose nothing.
  int lost() const { return lost_; }

 private:
  const bool label_;
  int lost_ = 0;
};

class RankOutput {
 public:
  RankOutput(OutputMerger& merger, int rank);
  RankOutput(const RankOutput&) = delete;
  ~RankOutput();

  // Bytes of the program's own calls of write(), behind what its streams hold.
  void write(int descriptor, std::string_view bytes);
  // What is left without the end of its line.
  void finish();
  std::FILE* stream(int descriptor) { return ends_[descriptor - 1].stream; }

 private:
  struct End {
    RankOutput* owner = nullptr;
    int descriptor = 0;
    std::FILE* stream = nullptr;
    std::string partial;
  };
  static ssize_t take(void* end, const char* bytes, std::size_t size);

  OutputMerger& merger_;
  const int rank_;
  End ends_[2];
};

}  // namespace hawser
