// Knobs: the user's settings, generated from knob_table.def, parsed once from the environment's variables.
// A pure function of a list of `NAME=value` texts: who reads the environment is the launch room's affair.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

// The C++ types of the kinds of knobs.
namespace knob_type {
using boolean = bool;
using integer = std::int64_t;
using bytes = std::int64_t;
using duration = std::int64_t;  // nanoseconds
using text = std::string;
using choice = std::string;
}  // namespace knob_type

struct Knobs {
#define HAWSER_KNOB(type, name, default_value, minimum, maximum, unit, doc) \
  knob_type::type name = default_value;
#include "base/knob_table.def"
#undef HAWSER_KNOB
};

enum class KnobKind : std::uint8_t { boolean, integer, bytes, duration, text, choice };

// A knob as tables and error texts need it.
struct KnobInfo {
  std::string variable;  // HAWSER_SHM_RING_SLOTS
  KnobKind kind;
  std::string default_value;
  std::int64_t minimum;  // range of integer, bytes (bytes) and duration (ns)
  std::int64_t maximum;
  std::string_view unit;  // or the choices, separated by |
  std::string_view doc;
};

// A variable that mpiexec hands to its ranks; not for users.
struct InternalVariableInfo {
  std::string_view variable;
  std::string_view doc;
};

const char* knob_kind_name(KnobKind kind);

// In the order of the tables.
std::vector<KnobInfo> knob_infos();
std::vector<InternalVariableInfo> internal_variable_infos();
// The values in the order of knob_infos(), written as a user would.
std::vector<std::string> knob_values(const Knobs& knobs);

// Reads every `HAWSER_*=value`; other variables are passed over. An unknown name, a malformed value or one
// out of range is an error of class arg that names the variable and the nearest known one or the range.
Result<Knobs> parse_knobs(std::span<const std::string_view> environment);

}  // namespace hawser
