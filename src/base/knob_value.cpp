#include "base/knob_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

namespace hawser {

namespace {

struct Suffix {
  std::string_view text;
  std::int64_t factor;
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::optional<std::int64_t> parse_with_suffix(std::string_view text, std::span<const Suffix> suffixes) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  const std::string suffix = lower(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  for (const Suffix& known : suffixes) {
    if (known.text != suffix) continue;
    std::int64_t value = 0;
    if (__builtin_mul_overflow(number, known.factor, &value)) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

constexpr std::int64_t kib = 1024, mib = kib * 1024, gib = mib * 1024;

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(text);
  if (word == "on" || word == "true" || word == "yes" || word == "1") return true;
  if (word == "off" || word == "false" || word == "no" || word == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  constexpr std::array suffixes{Suffix{"", 1}};
  return parse_with_suffix(text, suffixes);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::array suffixes{Suffix{"", 1},      Suffix{"b", 1},    Suffix{"k", kib},  Suffix{"kb", kib},
                                Suffix{"kib", kib}, Suffix{"m", mib},  Suffix{"mb", mib}, Suffix{"mib", mib},
                                Suffix{"g", gib},   Suffix{"gb", gib}, Suffix{"gib", gib}};
  return parse_with_suffix(text, suffixes);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  constexpr std::array suffixes{Suffix{"ns", 1}, Suffix{"us", 1'000}, Suffix{"ms", 1'000'000},
                                Suffix{"s", 1'000'000'000}};
  if (parse_integer(text) == 0) return 0;
  return parse_with_suffix(text, suffixes);
}

bool is_choice(std::string_view text, std::string_view choices) {
  while (true) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

std::string format_bytes(std::int64_t value) {
  if (value != 0 && value % gib == 0) return fmt::format("{}G", value / gib);
  if (value != 0 && value % mib == 0) return fmt::format("{}M", value / mib);
  if (value != 0 && value % kib == 0) return fmt::format("{}K", value / kib);
  return fmt::format("{}", value);
}

std::string format_duration(std::int64_t value) {
  if (value != 0 && value % 1'000'000'000 == 0) return fmt::format("{}s", value / 1'000'000'000);
  if (value != 0 && value % 1'000'000 == 0) return fmt::format("{}ms", value / 1'000'000);
  if (value != 0 && value % 1'000 == 0) return fmt::format("{}us", value / 1'000);
  return fmt::format("{}ns", value);
}

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the row two above is needed for swapped neighbours.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = above;
    above = row;
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace hawser
