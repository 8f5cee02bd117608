// What `hawser sim exec` tells of a job that has run.
#pragma once

#include "testbed/exec/exec_options.h"
#include "testbed/exec/program_job.h"

namespace hawser {

// Prints it, and writes the files that are wanted.
Result<> report(const ExecOptions& options, const ProgramJob& job, const ProgramResult& result);

}  // namespace hawser
