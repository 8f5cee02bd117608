// Knobs: the user's settings, generated from knob_table.def, parsed once from the environment's variables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace hawser
