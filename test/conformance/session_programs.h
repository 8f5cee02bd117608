// Programs that use sessions with or without the world model; the cases of a chapter cannot, for their frame
// calls MPI_Init. Written with nothing but mpi.h.
#pragma once

#include <string>
#include <vector>

namespace conformance {

std::vector<std::string> session_programs();
// Runs one, from the first MPI call of the process to the last; all processes run the same one. Empty if all
// was well, else what was wrong.
std::string run_session_program(const std::string& name);

}  // namespace conformance
