// `hawser fabric topology WHAT`: what a fabric would be, without bringing it up.
#pragma once

namespace hawser::emulator {

// The command line from WHAT on; the exit code.
int print_topology(int argc, const char* const* argv);

}  // namespace hawser::emulator
