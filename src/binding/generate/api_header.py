"""Writes api/functions.h: the declarations of the core's functions, which know no ABI."""

from core_types import core_signature

PROLOGUE = """\
// The core functions behind the MPI functions. Generated from src/binding/functions_*.table; do not edit.
//
// binding/ checks the arguments, turns handles into objects, and calls one of these under the process's lock.
// Numbers with a meaning (ranks, tags, thread levels, ...) are the standard ABI's. Where a parameter is an
// array, its length is in the function's line of the table. A parameter `large` tells whether the large-count
// form (`_c`) was called. An out Ref that stays null becomes the kind's null handle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mpi/arguments.h"
#include "base/counted.h"
#include "base/result.h"
#include "message/status.h"

namespace hawser {

class Communicator;
class Datatype;
class ErrorHandler;
class File;
class Group;
class Info;
class Message;
class MpiProcess;
class Operator;
class Request;
class Session;
class Window;

namespace mpi {
"""

EPILOGUE = """
}  // namespace mpi
}  // namespace hawser

#include "api/inline_calls.h"  // defines irecv, wait and test
"""


def api_header(functions):
    lines, chapter = [PROLOGUE], None
    for function in functions:
        if function.flags & {"hand", "tool"} or function.alias:
            continue
        if function.chapter != chapter:
            chapter = function.chapter
            lines.append(f"\n// {chapter.replace('_', ' ')}")
        mark = "" if function.implemented else "  // not implemented"
        lines.append(f"{core_signature(function)};{mark}")
    return "\n".join(lines) + EPILOGUE
