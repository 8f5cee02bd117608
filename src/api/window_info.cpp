#include "api/window_info.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hawser::mpi {

namespace {

bool is_boolean(std::string_view value) { return value == "true" || value == "false"; }

// "none", or some of the four pairs of accesses with commas between them.
bool is_ordering(std::string_view value) {
  if (value == "none") return true;
  static constexpr std::array<std::string_view, 4> pairs = {"rar", "raw", "war", "waw"};
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (std::find(pairs.begin(), pairs.end(), value.substr(0, comma)) == pairs.end()) return false;
    if (comma == value.size()) return true;
    value.remove_prefix(comma + 1);
  }
}

bool is_operations(std::string_view value) { return value == "same_op" || value == "same_op_no_op"; }

// Negative: it is no number.
std::int64_t number_of(std::string_view value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end ? number : -1;
}

bool is_number(std::string_view value) { return number_of(value) >= 0; }

// Memory that Hawser allocates begins with a page.
bool is_alignment(std::string_view value) {
  const std::int64_t number = number_of(value);
  return number > 0 && number <= 4096 && (number & (number - 1)) == 0;
}

struct Hint {
  const char* key;
  const char* default_value;
  bool (*fits)(std::string_view value);
};
constexpr std::array<Hint, 8> hints_of_windows = {{
    {"no_locks", "false", is_boolean},
    {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    {"accumulate_ops", "same_op_no_op", is_operations},
    {"same_size", "false", is_boolean},
    {"same_disp_unit", "false", is_boolean},
    {"alloc_shared_noncontig", "false", is_boolean},
    {"mpi_accumulate_granularity", "0", is_number},
    {"mpi_minimum_memory_alignment", "64", is_alignment},
}};

}  // namespace

Result<> take_hints(Info& hints, const Info* info) {
  for (const Hint& hint : hints_of_windows) {
    const std::string* value = info == nullptr ? nullptr : info->find(hint.key);
    if (value != nullptr && hint.fits(*value)) HAWSER_TRY(hints.set(hint.key, *value));
  }
  return {};
}

Result<Ref<Info>> default_hints() {
  auto hints = make_counted<Info>();
  for (const Hint& hint : hints_of_windows) HAWSER_TRY(hints->set(hint.key, hint.default_value));
  return hints;
}

bool hint_is_true(const Info& hints, std::string_view key) {
  const std::string* const value = hints.find(key);
  return value != nullptr && *value == "true";
}

}  // namespace hawser::mpi
