// The counters of a process for people, when it leaves the job (knob `stats`).
#pragma once

#include <string>
#include <vector>

namespace hawser {

class MpiProcess;

// A line for the messages, and one for each channel that carried any: `messages unexpected_total=3 ...`.
// Counters of channels that are 0 are left out.
std::vector<std::string> counter_report(MpiProcess& process);

}  // namespace hawser
