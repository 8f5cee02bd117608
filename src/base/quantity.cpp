#include "base/quantity.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/failure.h"

namespace hawser {
namespace {

enum class Kind { bytes, duration, rate, share };

// The one table of units. What is listed first of a kind with one factor is what people are told of.
struct Unit {
  Kind kind;
  std::string_view name;
  double factor;
};
constexpr double kib = 1024, mib = kib * 1024, gib = mib * 1024;
constexpr Unit units[] = {
    {Kind::bytes, "", 1},          {Kind::bytes, "B", 1},         {Kind::bytes, "K", kib},
    {Kind::bytes, "KiB", kib},     {Kind::bytes, "KB", kib},      {Kind::bytes, "M", mib},
    {Kind::bytes, "MiB", mib},     {Kind::bytes, "MB", mib},      {Kind::bytes, "G", gib},
    {Kind::bytes, "GiB", gib},     {Kind::bytes, "GB", gib},      {Kind::duration, "ns", 1},
    {Kind::duration, "us", 1e3},   {Kind::duration, "ms", 1e6},   {Kind::duration, "s", 1e9},
    {Kind::rate, "B/s", 1},        {Kind::rate, "KB/s", 1e3},     {Kind::rate, "MB/s", 1e6},
    {Kind::rate, "GB/s", 1e9},     {Kind::rate, "KiB/s", kib},    {Kind::rate, "MiB/s", mib},
    {Kind::rate, "GiB/s", gib},    {Kind::rate, "b/s", 1. / 8},   {Kind::rate, "Kb/s", 1e3 / 8},
    {Kind::rate, "Mb/s", 1e6 / 8}, {Kind::rate, "Gb/s", 1e9 / 8}, {Kind::share, "", 1},
    {Kind::share, "%", 0.01},
};

// What is said of each kind, in the order of Kind.
struct Words {
  const char* name;
  const char* what;  // it is
  bool upper_or_lower_case;
};
constexpr Words words[] = {
    {"a number of bytes", "a number of bytes such as 4096, 64K or 1.5M", true},
    {"a duration", "a number with its unit such as 1.5ms, or 0", true},
    {"a rate", "a number with its unit such as 200MB/s or 10Gb/s, or unlimited", false},
    {"a share", "a share such as 10% or 0.1", false},
};
const Words& words_of(Kind kind) { return words[static_cast<int>(kind)]; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view a, std::string_view b, bool upper_or_lower_case) {
  if (!upper_or_lower_case) return a == b;
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

const Unit* find_unit(Kind kind, std::string_view name) {
  for (const Unit& unit : units)
    if (unit.kind == kind && same(unit.name, name, words_of(kind).upper_or_lower_case)) return &unit;
  return nullptr;
}

// "ns, us, ms, s"
std::string unit_names(Kind kind) {
  std::string names;
  for (const Unit& unit : units)
    if (unit.kind == kind && !unit.name.empty())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  return names;
}

Error refuse(std::string_view text, const char* name, const std::string& why, const std::string& what) {
  return failure(ErrorKind::invalid_argument, "'{}' is not {}: {}; write {}", text, name, why, what);
}
Error refuse(std::string_view text, Kind kind, const std::string& why) {
  const Words& said = words_of(kind);
  return refuse(text, said.name, why, fmt::format("{} (units: {})", said.what, unit_names(kind)));
}

std::string at_character(std::size_t position) { return fmt::format("at character {}", position + 1); }

// A number and its unit. Whole numbers are kept exactly as far as 64 bits hold them.
struct Measured {
  double value = 0;
  std::optional<std::int64_t> whole;
  std::string_view unit;
};

Result<Measured> split(std::string_view text, Kind kind) {
  if (text.empty()) return refuse(text, kind, "it is empty");
  // Neither signs nor the "inf" and "nan" that from_chars knows.
  const auto number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  Measured measured;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, measured.value);
  if (!number(text.front()) || error == std::errc::invalid_argument)
    return refuse(text, kind, fmt::format("there is no number {}", at_character(0)));
  if (error != std::errc{})
    return refuse(text, kind,
                  fmt::format("the number {} is beyond what can be represented", at_character(0)));
  std::int64_t whole = 0;
  if (const auto [stop, failed] = std::from_chars(text.data(), end, whole);
      failed == std::errc{} && stop == rest)
    measured.whole = whole;
  measured.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  return measured;
}

Error no_unit(std::string_view text, std::string_view unit, Kind kind) {
  const std::size_t position = text.size() - unit.size();
  if (unit.empty()) return refuse(text, kind, fmt::format("its unit is missing {}", at_character(position)));
  return refuse(text, kind, fmt::format("'{}' {} is no unit of it", unit, at_character(position)));
}

// The unit; none is one for 0, which is the same in all.
Result<double> factor_of(std::string_view text, const Measured& measured, Kind kind) {
  if (const Unit* unit = find_unit(kind, measured.unit)) return unit->factor;
  if (measured.unit.empty() && measured.value == 0) return 1.0;
  return no_unit(text, measured.unit, kind);
}

template <class T>
using Format = std::string (*)(T);

template <class T>
std::string from_to(const char* name, Range<T> possible, Format<T> format) {
  if (possible.most == Range<T>().most)
    return possible.least == 0 ? name : fmt::format("{} from {} up", name, format(possible.least));
  return fmt::format("{} from {} to {}", name, format(possible.least), format(possible.most));
}

template <class T>
Result<> within(std::string_view text, const char* name, T value, Range<T> possible, Format<T> format) {
  if (value >= possible.least && value <= possible.most) return {};
  return failure(ErrorKind::invalid_argument, "'{}' is not {}", text, from_to(name, possible, format));
}

// For what is counted in whole bytes or nanoseconds.
Result<std::int64_t> scale(std::string_view text, const Measured& measured, double factor, Kind kind,
                           Range<std::int64_t> possible, Format<std::int64_t> format) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  if (!measured.whole || __builtin_mul_overflow(*measured.whole, static_cast<std::int64_t>(factor), &value)) {
    const double scaled = measured.value * factor;
    const bool fits = scaled < 0x1p63;
    if (!fits && possible.most == largest) return refuse(text, kind, "it is beyond 64 bits");
    value = fits ? std::llround(scaled) : largest;
  }
  HAWSER_TRY(within(text, words_of(kind).name, value, possible, format));
  return value;
}

std::string format_count(std::uint64_t count) { return fmt::format("{}", count); }

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text, Range<std::uint64_t> possible, const char* name) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t prefix = hexadecimal ? 2 : 0;
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data() + prefix, end, value, hexadecimal ? 16 : 10);
  const std::string what = from_to(name, possible, format_count);
  if (error == std::errc::invalid_argument)
    return refuse(text, name,
                  text.empty() ? "it is empty" : fmt::format("there is no digit {}", at_character(prefix)),
                  what);
  if (error == std::errc::result_out_of_range) return refuse(text, name, "it is beyond 64 bits", what);
  if (rest != end) {
    const auto position = static_cast<std::size_t>(rest - text.data());
    return refuse(text, name,
                  fmt::format("'{}' {} is no digit", text.substr(position), at_character(position)), what);
  }
  HAWSER_TRY(within(text, name, value, possible, format_count));
  return value;
}

Result<std::int64_t> parse_bytes(std::string_view text, Range<std::int64_t> possible) {
  const auto measured = split(text, Kind::bytes);
  if (!measured) return Error(measured.error());
  const auto factor = factor_of(text, measured.value(), Kind::bytes);
  if (!factor) return Error(factor.error());
  return scale(text, measured.value(), factor.value(), Kind::bytes, possible, format_bytes);
}

Result<Nanoseconds> parse_duration(std::string_view text, Range<Nanoseconds> possible, Nanoseconds bare) {
  const auto measured = split(text, Kind::duration);
  if (!measured) return Error(measured.error());
  double factor = static_cast<double>(bare);
  if (bare == 0 || !measured.value().unit.empty()) {
    const auto found = factor_of(text, measured.value(), Kind::duration);
    if (!found) return Error(found.error());
    factor = found.value();
  }
  return scale(text, measured.value(), factor, Kind::duration, possible, format_duration);
}

Result<double> parse_rate(std::string_view text, Range<double> possible) {
  if (text == "unlimited") return 0.0;
  const auto measured = split(text, Kind::rate);
  if (!measured) return Error(measured.error());
  const auto factor = factor_of(text, measured.value(), Kind::rate);
  if (!factor) return Error(factor.error());
  const double rate = measured.value().value * factor.value();
  if (rate == 0 && measured.value().value == 0) return 0.0;
  HAWSER_TRY(within(text, words_of(Kind::rate).name, rate, possible, format_rate));
  return rate;
}

Result<double> parse_share(std::string_view text) {
  const auto measured = split(text, Kind::share);
  if (!measured) return Error(measured.error());
  const auto factor = factor_of(text, measured.value(), Kind::share);
  if (!factor) return Error(factor.error());
  const double share = measured.value().value * factor.value();
  if (share > 1)
    return failure(ErrorKind::invalid_argument, "'{}' is not a share: it is more than the whole (100%)",
                   text);
  return share;
}

std::string format_bytes(std::int64_t bytes) {
  for (const auto& [factor, name] :
       {std::pair(std::int64_t{1} << 30, 'G'), std::pair(std::int64_t{1} << 20, 'M'),
        std::pair(std::int64_t{1} << 10, 'K')})
    if (bytes != 0 && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, name);
  return fmt::format("{}", bytes);
}

std::string format_duration(Nanoseconds duration) {
  // As short as can be without loss.
  const auto in = [&](Nanoseconds unit) { return static_cast<double>(duration) / static_cast<double>(unit); };
  if (duration >= second) return fmt::format("{}s", in(second));
  if (duration >= millisecond) return fmt::format("{}ms", in(millisecond));
  if (duration >= microsecond) return fmt::format("{}us", in(microsecond));
  return fmt::format("{}ns", duration);
}

std::string format_rate(double rate) {
  if (rate == 0) return "unlimited";
  if (rate >= 1e9) return fmt::format("{:g}GB/s", rate / 1e9);
  if (rate >= 1e6) return fmt::format("{:g}MB/s", rate / 1e6);
  return fmt::format("{:g}B/s", rate);
}

}  // namespace hawser
