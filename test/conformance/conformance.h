// The frame of the conformance tests: what a case is, and what it checks with.
//
// A case is a function that all ranks of MPI_COMM_WORLD run (or the first `max_ranks` of them), written with
// nothing but the public mpi.h, so that it runs over any MPI, as processes or as simulated ranks in one
// process. Therefore: no mutable globals, no sleeping, no assumption about time.
//
//   namespace conformance { namespace {
//   void ring(Conformance& t) { ... OK(MPI_Send(...)); CHECK_EQ(status.MPI_TAG, 5); }
//   }
//   CHAPTER(pt2pt_basic, CASE(ring), CASE(pair_only, .min_ranks = 2, .max_ranks = 2))
//   }
//
// A new chapter is also named in chapters.def. A failed CHECK is reported and the case goes on; a failed OK
// or REQUIRE ends the case on that rank. MPI_COMM_WORLD and MPI_COMM_SELF have MPI_ERRORS_RETURN when a case
// begins. Checks inside callbacks of MPI (operations, attribute functions) must not be OK or REQUIRE, which
// throw.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace conformance {

class Conformance;

struct Case {
  const char* name;
  void (*body)(Conformance&);
  int min_ranks = 1;        // with fewer the case is left out
  int max_ranks = INT_MAX;  // ranks from here on do not run the body
  bool threads = false;     // needs MPI_THREAD_MULTIPLE, and real threads
  std::int64_t memory = 0;  // bytes that each rank needs, if many
  bool slow = false;        // left out where ranks are many (more than 16)
};

#define CASE(function, ...) \
  ::conformance::Case { .name = #function, .body = function __VA_OPT__(, ) __VA_ARGS__ }
#define CHAPTER(chapter, ...)                      \
  std::span<const Case> chapter() {                \
    static constexpr Case cases[] = {__VA_ARGS__}; \
    return cases;                                  \
  }

// Ends the case on this rank; thrown by OK and REQUIRE, caught by the frame.
struct CaseStopped {};

// One rank's view of one case.
class Conformance {
 public:
  using Reporter = std::function<void(const std::string& line)>;

  Conformance(std::string case_name, int rank, int size, Reporter reporter)
      : rank(rank), size(size), case_name_(std::move(case_name)), reporter_(std::move(reporter)) {}

  const int rank;  // in MPI_COMM_WORLD
  const int size;  // ranks that take part in the case

  int failures() const { return failures_; }
  void fail(const char* file, int line, const std::string& text);

  bool check(bool good, const char* expression, const char* file, int line) {
    if (!good) fail(file, line, expression);
    return good;
  }
  template <class A, class B>
  bool check_equal(const A& a, const B& b, const char* expression, const char* file, int line) {
    const bool good = a == b;
    if (!good) {
      std::ostringstream text;
      text << expression << ": " << a << " != " << b;
      fail(file, line, text.str());
    }
    return good;
  }
  // True if `code` is MPI_SUCCESS, else reports the error's text.
  bool check_success(int code, const char* expression, const char* file, int line);
  // True if `code` is an error of this class.
  bool check_class(int code, int error_class, const char* expression, const char* file, int line);

 private:
  std::string case_name_;
  Reporter reporter_;
  int failures_ = 0;
};

#define CHECK(condition) t.check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) t.check_equal(a, b, #a " == " #b, __FILE__, __LINE__)
#define CHECK_OK(call) t.check_success(call, #call, __FILE__, __LINE__)
#define CHECK_FAILS(call, error_class) \
  t.check_class(call, error_class, #call " fails with " #error_class, __FILE__, __LINE__)
#define OK(call)                                             \
  do {                                                       \
    if (!CHECK_OK(call)) throw ::conformance::CaseStopped(); \
  } while (false)
#define REQUIRE(condition)                                     \
  do {                                                         \
    if (!CHECK(condition)) throw ::conformance::CaseStopped(); \
  } while (false)

// Values that differ by place and by sender, for telling whether bytes arrived where they should.
inline int value_at(std::int64_t index, int salt) {
  return static_cast<int>((index * 2654435761u + static_cast<std::uint32_t>(salt) * 40503u) & 0x7fffffff);
}
std::vector<int> values(std::int64_t count, int salt);
std::vector<unsigned char> bytes(std::int64_t count, int salt);

// Sizes of messages in bytes on both sides of what implementations switch at.
std::vector<int> message_sizes();

struct NamedCase {
  std::string name;  // "chapter.function"
  const Case* test;
};
// All cases whose name contains one of the comma-separated parts of `filter` (all when empty); a part that
// starts with '-' leaves out what contains it.
std::vector<NamedCase> select_cases(const std::string& filter);
// What is wrong with a filter that has a part which no case's name contains, or that selects nothing; empty
// if it is right.
std::string filter_error(const std::string& filter);
// The exit code of a run for which no selected case is meant; ctest shows it as skipped.
constexpr int nothing_ran = 77;

struct RunOptions {
  bool threads = false;              // MPI_THREAD_MULTIPLE is there, and ranks are processes
  std::int64_t memory_per_rank = 0;  // bytes that cases may use
  int slow_ranks = 16;               // more ranks than this run no slow cases
};
bool eligible(const Case& test, int world_size, const RunOptions& options);

// Runs one case on the calling rank, which is in an initialised MPI. All ranks of MPI_COMM_WORLD call it;
// returns the failures of all ranks together. `frame` is a duplicate of MPI_COMM_WORLD that cases do not
// know.
int run_case(const NamedCase& test, MPI_Comm frame, const Conformance::Reporter& reporter);

}  // namespace conformance
