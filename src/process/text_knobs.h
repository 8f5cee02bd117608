// What the table of knobs cannot say of those whose value is a text: whether the room that uses it
// understands it. Asked when the values are read, so that a mistake is heard of at once, also by jobs that
// would not use it.
#pragma once

#include <span>
#include <string_view>

#include "base/knobs.h"
#include "base/result.h"

namespace hawser {

struct TextKnob {
  std::string_view variable;
  Result<> (*check)(const Knobs&);
};
// Every knob of the kind text.
std::span<const TextKnob> text_knobs();

// Of the first that is wrong: the variable, its value, and what may stand there. Looks at nothing else.
Result<> check_text_knobs(const Knobs& knobs);
// The same of what depends on the machine: the network interfaces that are named must exist.
Result<> check_machine_knobs(const Knobs& knobs);

}  // namespace hawser
