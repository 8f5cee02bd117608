#include "base/knobs.h"

#include <algorithm>
#include <optional>

#include "base/failure.h"
#include "base/knob_value.h"

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

std::string_view kind_description(KnobKind kind) {
  switch (kind) {
    case KnobKind::boolean:
      return "on or off";
    case KnobKind::integer:
      return "a whole number";
    case KnobKind::bytes:
      return "a number of bytes such as 4096, 64K or 2M";
    case KnobKind::duration:
      return "a time with its unit (ns, us, ms or s), such as 20us, 5ms or 2s";
    case KnobKind::text:
      return "a text";
    case KnobKind::choice:
      return "one of";
  }
  HAWSER_UNREACHABLE();
}

std::string with_commas(std::string_view choices) {
  std::string text(choices);
  for (std::size_t bar; (bar = text.find('|')) != std::string::npos;) text.replace(bar, 1, ", ");
  return text;
}

Error malformed(const KnobInfo& knob, std::string_view value) {
  if (knob.kind == KnobKind::choice)
    return failure(ErrorKind::invalid_argument, "{}={}: must be one of {}", knob.variable, value,
                   with_commas(knob.unit));
  return failure(ErrorKind::invalid_argument, "{}={}: must be {}", knob.variable, value,
                 kind_description(knob.kind));
}

[[maybe_unused]] Result<> assign(bool& target, const KnobInfo& knob, std::string_view value) {
  const std::optional<bool> parsed = parse_boolean(value);
  if (!parsed) return malformed(knob, value);
  target = *parsed;
  return {};
}

[[maybe_unused]] Result<> assign(std::int64_t& target, const KnobInfo& knob, std::string_view value) {
  const std::optional<std::int64_t> parsed = knob.kind == KnobKind::bytes      ? parse_bytes(value)
                                             : knob.kind == KnobKind::duration ? parse_duration(value)
                                                                               : parse_integer(value);
  if (!parsed) return malformed(knob, value);
  if (*parsed < knob.minimum || *parsed > knob.maximum)
    return failure(ErrorKind::invalid_argument, "{}={}: out of range, must be from {} to {}", knob.variable,
                   value, format_number(knob.kind, knob.minimum), format_number(knob.kind, knob.maximum));
  target = *parsed;
  return {};
}

[[maybe_unused]] Result<> assign(std::string& target, const KnobInfo& knob, std::string_view value) {
  if (knob.kind == KnobKind::choice && !is_choice(value, knob.unit)) return malformed(knob, value);
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

const char* knob_kind_name(KnobKind kind) {
  switch (kind) {
    case KnobKind::boolean:
      return "boolean";
    case KnobKind::integer:
      return "integer";
    case KnobKind::bytes:
      return "bytes";
    case KnobKind::duration:
      return "duration";
    case KnobKind::text:
      return "text";
    case KnobKind::choice:
      return "choice";
  }
  HAWSER_UNREACHABLE();
}

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
