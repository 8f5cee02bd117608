#include "conformance.h"

#include <cstdio>
#include <exception>

namespace conformance {

#define CONFORMANCE_CHAPTER(name) std::span<const Case> name();
#include "chapters.def"
#undef CONFORMANCE_CHAPTER

namespace {

// A case that goes wrong tends to go wrong at every element.
constexpr int failures_shown = 8;

struct Chapter {
  const char* name;
  std::span<const Case> (*cases)();
};

constexpr Chapter chapters[] = {
#define CONFORMANCE_CHAPTER(name) {#name, name},
#include "chapters.def"
#undef CONFORMANCE_CHAPTER
};

bool contains(const std::string& name, const std::string& part) {
  return name.find(part) != std::string::npos;
}

bool selected(const std::string& name, const std::string& filter) {
  bool any_positive = false, included = false;
  std::stringstream parts(filter);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.empty()) continue;
    if (part[0] == '-') {
      if (contains(name, part.substr(1))) return false;
    } else {
      any_positive = true;
      included = included || contains(name, part);
    }
  }
  return included || !any_positive;
}

// Everyone learns the sum of everyone's failures, and nobody goes on before all are done.
int sum_of_failures(MPI_Comm frame, int rank, int size, int own) {
  int total = own;
  if (rank == 0) {
    for (int peer = 1; peer < size; ++peer) {
      int theirs = 0;
      MPI_Recv(&theirs, 1, MPI_INT, peer, 0, frame, MPI_STATUS_IGNORE);
      total += theirs;
    }
    for (int peer = 1; peer < size; ++peer) MPI_Send(&total, 1, MPI_INT, peer, 0, frame);
  } else {
    MPI_Send(&own, 1, MPI_INT, 0, 0, frame);
    MPI_Recv(&total, 1, MPI_INT, 0, 0, frame, MPI_STATUS_IGNORE);
  }
  return total;
}

}  // namespace

void Conformance::fail(const char* file, int line, const std::string& text) {
  if (++failures_ > failures_shown) return;
  const char* slash = file;
  for (const char* c = file; *c != 0; ++c) {
    if (*c == '/') slash = c + 1;
  }
  std::ostringstream out;
  out << "FAIL " << case_name_ << " rank " << rank << ": " << slash << ":" << line << ": " << text;
  if (failures_ == failures_shown) out << " (further failures of this rank are not shown)";
  reporter_(out.str());
}

bool Conformance::check_success(int code, const char* expression, const char* file, int line) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(file, line, std::string(expression) + ": error " + std::to_string(code) + ": " + text);
  return false;
}

bool Conformance::check_class(int code, int error_class, const char* expression, const char* file, int line) {
  int found = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
  return check_equal(found, error_class, expression, file, line);
}

std::vector<int> values(std::int64_t count, int salt) {
  std::vector<int> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = value_at(i, salt);
  return result;
}

std::vector<unsigned char> bytes(std::int64_t count, int salt) {
  std::vector<unsigned char> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result[static_cast<std::size_t>(i)] = static_cast<unsigned char>(value_at(i, salt) >> 8);
  }
  return result;
}

std::vector<int> message_sizes() {
  return {0,    1,    7,    8,     36,    37,    64,    100,    1000,   1024,
          4095, 8192, 8193, 16384, 20000, 65536, 65537, 300000, 1 << 20};
}

std::vector<NamedCase> select_cases(const std::string& filter) {
  std::vector<NamedCase> result;
  for (const Chapter& chapter : chapters) {
    for (const Case& test : chapter.cases()) {
      std::string name = std::string(chapter.name) + "." + test.name;
      if (selected(name, filter)) result.push_back({std::move(name), &test});
    }
  }
  return result;
}

std::string filter_error(const std::string& filter) {
  std::stringstream parts(filter);
  std::string error;
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "-" || part.empty()) continue;
    if (select_cases(part[0] == '-' ? part.substr(1) : part).empty())
      error = "--filter: no case's name contains '" + (part[0] == '-' ? part.substr(1) : part) + "'";
  }
  if (error.empty() && select_cases(filter).empty())
    error = "--filter: '" + filter + "' leaves out every case";
  if (error.empty()) return error;
  error += "; --list names the cases of the chapters";
  for (const Chapter& chapter : chapters) error += std::string(" ") + chapter.name;
  return error;
}

bool eligible(const Case& test, int world_size, const RunOptions& options) {
  if (world_size < test.min_ranks) return false;
  if (test.threads && !options.threads) return false;
  if (test.slow && world_size > options.slow_ranks) return false;
  return test.memory <= options.memory_per_rank;
}

int run_case(const NamedCase& test, MPI_Comm frame, const Conformance::Reporter& reporter) {
  int rank = -1, size = 0, frame_size = 0;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS ||
      MPI_Comm_size(frame, &frame_size) != MPI_SUCCESS || frame_size != size) {
    reporter("FAIL " + test.name +
             ": the frame cannot work: no rank, no size, or no duplicate of MPI_COMM_WORLD");
    return 1;
  }
  const int participants = size < test.test->max_ranks ? size : test.test->max_ranks;
  Conformance t(test.name, rank, participants, reporter);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank < participants) {
    try {
      test.test->body(t);
    } catch (const CaseStopped&) {
    } catch (const std::exception& exception) {
      t.fail(__FILE__, __LINE__, std::string("exception: ") + exception.what());
    }
  }
  return sum_of_failures(frame, rank, size, t.failures());
}

}  // namespace conformance
