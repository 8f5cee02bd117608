#include "base/knobs.h"

#include <algorithm>
#include <optional>

#include "base/enum_names.h"
#include "base/failure.h"
#include "base/knob_value.h"
#include "base/quantity.h"

namespace hawser {

namespace {

constexpr std::string_view prefix = "HAWSER_";

std::string variable_name(std::string_view knob) {
  std::string name(prefix);
  for (const char c : knob) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string format_number(KnobKind kind, std::int64_t value) {
  if (kind == KnobKind::bytes) return format_bytes(value);
  if (kind == KnobKind::duration) return format_duration(value);
  return fmt::format("{}", value);
}

[[maybe_unused]] std::string format_value(KnobKind, bool value) { return value ? "on" : "off"; }
[[maybe_unused]] std::string format_value(KnobKind kind, std::int64_t value) {
  return format_number(kind, value);
}
[[maybe_unused]] std::string format_value(KnobKind, const std::string& value) { return value; }

std::string with_commas(std::string_view choices) {
  std::string text(choices);
  for (std::size_t bar; (bar = text.find('|')) != std::string::npos;) text.replace(bar, 1, ", ");
  return text;
}

Error malformed(const KnobInfo& knob, std::string_view value, const std::string& what) {
  return failure(ErrorKind::invalid_argument, "{}={}: {}", knob.variable, value, what);
}

Result<std::int64_t> parse_number(const KnobInfo& knob, std::string_view value) {
  const Range<std::int64_t> possible{knob.minimum, knob.maximum};
  if (knob.kind == KnobKind::bytes) return parse_bytes(value, possible);
  if (knob.kind == KnobKind::duration) return parse_duration(value, possible);
  const auto count = parse_count(
      value, {static_cast<std::uint64_t>(knob.minimum), static_cast<std::uint64_t>(knob.maximum)});
  if (!count) return Error(count.error());
  return static_cast<std::int64_t>(count.value());
}

[[maybe_unused]] Result<> assign(bool& target, const KnobInfo& knob, std::string_view value) {
  const std::optional<bool> parsed = parse_boolean(value);
  if (!parsed) return malformed(knob, value, "must be on or off");
  target = *parsed;
  return {};
}

[[maybe_unused]] Result<> assign(std::int64_t& target, const KnobInfo& knob, std::string_view value) {
  const Result<std::int64_t> parsed = parse_number(knob, value);
  if (!parsed) return malformed(knob, value, parsed.error().text);
  target = parsed.value();
  return {};
}

[[maybe_unused]] Result<> assign(std::string& target, const KnobInfo& knob, std::string_view value) {
  if (knob.kind == KnobKind::choice && !is_choice(value, knob.unit))
    return malformed(knob, value, "must be one of " + with_commas(knob.unit));
  target = value;
  return {};
}

bool is_internal(std::string_view variable) {
#define HAWSER_INTERNAL_VARIABLE(name, doc) \
  if (variable == #name) return true;
#include "base/internal_variables.def"
#undef HAWSER_INTERNAL_VARIABLE
  return false;
}

// How many of the words of `name` after the first, which all variables share, stand in `other`.
int common_words(std::string_view name, std::string_view other) {
  const std::string framed = fmt::format("_{}_", other);
  int count = 0;
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    const std::size_t end = std::min(name.find('_', at + 1), name.size());
    if (end > at + 1 && framed.find(fmt::format("{}_", name.substr(at, end - at))) != std::string::npos)
      ++count;
  }
  return count;
}

Error unknown(std::string_view variable) {
  std::string nearest;
  int nearest_distance = INT32_MAX;
  for (const KnobInfo& knob : knob_infos()) {
    // A word in common says more than a few letters: who writes HAWSER_EAGER means HAWSER_SHM_EAGER_LIMIT.
    const int distance = edit_distance(variable, knob.variable) - 8 * common_words(variable, knob.variable);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = knob.variable;
    }
  }
  return failure(ErrorKind::invalid_argument,
                 "{} is not a known setting; the nearest is {} (see `hawser info --knobs`)", variable,
                 nearest);
}

// Sets the one knob that `variable` names.
Result<> set_knob(Knobs& knobs, std::string_view variable, std::string_view value) {
#define HAWSER_KNOB(type, name, default_value, minimum, maximum, unit, doc) \
  if (variable == variable_name(#name))                                     \
    return assign(knobs.name,                                               \
                  KnobInfo{variable_name(#name), KnobKind::type, {}, minimum, maximum, unit, doc}, value);
#include "base/knob_table.def"
#undef HAWSER_KNOB
  return unknown(variable);
}

}  // namespace

const char* knob_kind_name(KnobKind kind) { return enum_name(kind); }

std::vector<KnobInfo> knob_infos() {
  const std::vector<std::string> defaults = knob_values(Knobs{});
  std::vector<KnobInfo> infos = {
#define HAWSER_KNOB(type, name, default_value, minimum, maximum, unit, doc) \
  {variable_name(#name), KnobKind::type, {}, minimum, maximum, unit, doc},
#include "base/knob_table.def"
#undef HAWSER_KNOB
  };
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i].default_value = defaults[i];
  return infos;
}

std::vector<InternalVariableInfo> internal_variable_infos() {
  return {
#define HAWSER_INTERNAL_VARIABLE(name, doc) {#name, doc},
#include "base/internal_variables.def"
#undef HAWSER_INTERNAL_VARIABLE
  };
}

std::vector<std::string> knob_values(const Knobs& knobs) {
  return {
#define HAWSER_KNOB(type, name, default_value, minimum, maximum, unit, doc) \
  format_value(KnobKind::type, knobs.name),
#include "base/knob_table.def"
#undef HAWSER_KNOB
  };
}

Result<Knobs> parse_knobs(std::span<const std::string_view> environment) {
  Knobs knobs;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with(prefix)) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view variable = entry.substr(0, equals);
    if (is_internal(variable)) continue;
    HAWSER_TRY(set_knob(knobs, variable, entry.substr(equals + 1)));
  }
  return knobs;
}

}  // namespace hawser
