#include "fabric/quantity.h"

#include <charconv>
#include <cmath>

#include "base/failure.h"

namespace hawser::fabric {
namespace {

struct Measured {
  double value;
  std::string_view unit;
};

Result<Measured> split_unit(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) {
    return failure(ErrorKind::invalid_argument, "'{}' is not a {}", text, what);
  }
  return Measured{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

struct Unit {
  std::string_view name;
  double factor;
};

template <std::size_t N>
Result<double> scale(std::string_view text, std::string_view what, const Unit (&units)[N]) {
  auto measured = split_unit(text, what);
  if (!measured) return measured.take_error();
  for (const Unit& unit : units) {
    if (unit.name == measured.value().unit) return measured.value().value * unit.factor;
  }
  if (measured.value().unit.empty() && measured.value().value == 0) return 0.0;
  std::string names;
  for (const Unit& unit : units)
    if (!unit.name.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  if (measured.value().unit.empty())
    return failure(ErrorKind::invalid_argument, "'{}' is not a {}: it needs a unit ({})", text, what, names);
  return failure(ErrorKind::invalid_argument, "'{}' is not a {}: unknown unit '{}' (there are {})", text,
                 what, measured.value().unit, names);
}

}  // namespace

Result<double> parse_rate(std::string_view text) {
  if (text == "unlimited") return 0.0;
  static constexpr Unit units[] = {{"B/s", 1},        {"KB/s", 1e3},     {"MB/s", 1e6},
                                   {"GB/s", 1e9},     {"b/s", 1. / 8},   {"Kb/s", 1e3 / 8},
                                   {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"MiB/s", 1 << 20}};
  auto result = scale(text, "rate (such as 200MB/s or 10Gb/s; 0 is unlimited)", units);
  if (result && result.value() != 0 && !(result.value() >= least_rate && result.value() <= most_rate))
    return failure(ErrorKind::invalid_argument, "'{}' is no possible rate: from {} to {}, or 0 for unlimited",
                   text, format_rate(least_rate), format_rate(most_rate));
  return result;
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  static constexpr Unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  auto result = scale(text, "time (such as 2us)", units);
  if (!result) return result.take_error();
  if (!(result.value() <= static_cast<double>(longest_duration)))
    return failure(ErrorKind::invalid_argument, "'{}' is too long a time: at most {}", text,
                   format_duration(longest_duration));
  return static_cast<Nanoseconds>(std::llround(result.value()));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr Unit units[] = {{"", 1},        {"B", 1},         {"K", 1 << 10}, {"KiB", 1 << 10},
                                   {"M", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30}, {"GiB", 1 << 30}};
  auto result = scale(text, "size (such as 2048 or 64K)", units);
  if (!result) return result.take_error();
  if (!(result.value() <= 9e18))
    return failure(ErrorKind::invalid_argument, "'{}' is too large a size", text);
  return static_cast<std::uint64_t>(result.value());
}

Result<double> parse_share(std::string_view text) {
  static constexpr Unit units[] = {{"%", 0.01}, {"", 1}};
  auto result = scale(text, "share (such as 10% or 0.1)", units);
  if (result && result.value() > 1)
    return failure(ErrorKind::invalid_argument, "'{}' is more than the whole", text);
  return result;
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return failure(ErrorKind::invalid_argument, "'{}' is not a number", text);
  }
  return value;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t position = 0;
  while (true) {
    position = line.find_first_not_of(" \t\r\n", position);
    if (position == std::string_view::npos || line[position] == '#') return words;
    std::size_t end = line.find_first_of(" \t\r\n", position);
    if (end == std::string_view::npos) end = line.size();
    words.emplace_back(line.substr(position, end - position));
    position = end;
  }
}

std::string format_rate(double rate) {
  if (rate == 0) return "unlimited";
  if (rate >= 1e9) return fmt::format("{:g}GB/s", rate / 1e9);
  if (rate >= 1e6) return fmt::format("{:g}MB/s", rate / 1e6);
  return fmt::format("{:g}B/s", rate);
}

std::string format_duration(Nanoseconds duration) {
  if (duration >= second) return fmt::format("{:g}s", static_cast<double>(duration) / 1e9);
  if (duration >= millisecond) return fmt::format("{:g}ms", static_cast<double>(duration) / 1e6);
  if (duration >= microsecond) return fmt::format("{:g}us", static_cast<double>(duration) / 1e3);
  return fmt::format("{}ns", duration);
}

}  // namespace hawser::fabric
