// ErrorClass: MPI's words for what went wrong, as the rooms that know MPI use them and as programs see them.
#pragma once

#include "base/result.h"

namespace hawser {

enum class ErrorClass : int {
#define HAWSER_ERROR_CLASS(name, number, text) name = number,
#include "mpi/error_classes.def"
#undef HAWSER_ERROR_CLASS
};

// What MPI tells the program about a failure: the class or the program's own code (MPI_Add_error_code) that
// the error was made with, and otherwise the class that stands for its kind.
ErrorClass error_class_of(const Error& error);

}  // namespace hawser
