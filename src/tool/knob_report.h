// The table of knobs as text: for the terminal, and for doc/knobs.md.
#pragma once

#include <string>

#include "base/knobs.h"

namespace hawser {

// One paragraph per knob, with its value in `knobs`.
std::string knob_table(const Knobs& knobs);
// The whole page doc/knobs.md.
std::string knob_page();

}  // namespace hawser
