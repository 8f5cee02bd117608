"""Writes the C entry points. The text is the same for both ABIs; it leans on src/binding/entry.h and arrays.h.

An entry point: find the process; decode handles (the communicator first, since its error handler hears of
mistakes in the others); check arguments; call the core; encode results."""

from core_types import core_parameters, implied_lengths
from c_header import c_parameters
from kinds import KINDS
from parameter_code import ParameterCode

PROLOGUE = """\
// Entry points of the chapter "{chapter}". Generated from functions_*.table; do not edit.
#include "binding/arrays.h"
#include "binding/hand.h"
#include "binding/lane_calls.h"
#include "binding/sent.h"
#include "api/functions.h"

namespace hawser::binding {{
#pragma GCC visibility push(default)
extern "C" {{
"""
# Kinds of objects whose error handlers hear of mistakes. Functions that make such an object from no other are
# given an error handler for it, which hears of their own mistakes too (MPI-5.0 sections 7.4.2 and 11.3.1).
OWNER_KINDS = ("comm", "session", "win")


def of_files(function):
    """Whether errors go to a file's error handler, which is MPI_ERRORS_RETURN unless the program sets another."""
    return function.name.startswith("File_") or function.name == "Register_datarep"


def signature(function, large):
    return f"{function.returns} P{function.c_name(large)}({c_parameters(function, large)})"


def alias(function, large):
    """MPI_X, a weak second name of PMPI_X, which a profiling library may replace."""
    return f"HAWSER_ALIAS_OF({function.c_name(large)});"


def buffer_groups(function):
    """Buffers, each with the counts and types that belong to it, and the ranks that its data go to or come from."""
    groups = []
    for parameter in function.parameters:
        group = KINDS[parameter.kind].group
        if group == "buffer":
            if groups and not groups[-1]["members"]:
                groups[-1]["buffers"].append(parameter)
            else:
                groups.append({"buffers": [parameter], "members": [], "peers": []})
        elif groups and (group == "number" or parameter.kind == "type"):
            groups[-1]["members"].append(parameter)
        elif groups and parameter.kind in ("dest", "source"):
            if function.chapter == "window":
                # All data go to or come from one target; what follows describes its memory.
                groups.append({"buffers": [], "members": [], "peers": []})
                for group in groups:
                    group["peers"].append(parameter)
            else:
                groups[-1]["peers"].append(parameter)
    return groups


class EntryPoint:
    """The text of one entry point, in one form."""

    def __init__(self, function, large, core):
        self.function, self.large, self.core = function, large, core
        owners = [p for p in function.parameters if p.kind in OWNER_KINDS and p.direction in ("in", "free")] \
            or [p for p in function.parameters if p.kind == "errhandler" and p.direction == "in"
                and function.chapter in ("communicator", "session")]
        self.owner = f"{owners[0].name}_" if owners else "nullptr"
        self.groups = buffer_groups(function)
        self.root = function.find("root")
        self.lines = []

    def member_of(self, parameter):
        return next((g for g in self.groups if parameter in g["members"]), None)

    def used(self, parameter):
        """The C++ condition under which an argument of a buffer is significant, or None for always."""
        group = self.member_of(parameter)
        if group is not None and len(group["buffers"]) == 1:
            return self.buffer_flag(group["buffers"][0])
        if self.root is not None and (group is not None or parameter.kind == "op"):
            return "root_ != proc_null"
        return None

    def no_peer(self, parameter):
        """The C++ condition under which data go to or come from MPI_PROC_NULL, or None where they cannot."""
        group = self.member_of(parameter)
        if group is None or len(group["peers"]) != 1:
            return None
        return f"{group['peers'][0].name}_ == proc_null"

    def buffer_flag(self, buffer):
        return f"{buffer.name}_used" if self.conditions(buffer) else None

    def conditions(self, buffer):
        parts = []
        if "@root" in buffer.flags:
            parts.append(f"Entry::is_root(*{self.owner}, root_)")
        if "@leaf" in buffer.flags:
            parts.append(f"Entry::is_leaf(*{self.owner}, root_)")
        if self.root is not None and not parts:
            parts.append("root_ != proc_null")
        if buffer.kind == "buffer_place":
            parts.append(f"{buffer.name}_ != in_place")
        if "get_accumulate" in self.function.core_name and buffer.name == "origin_addr":
            parts.append("Entry::takes_origin(*op_)")
        if self.function.chapter == "neighborhood":
            # Who has no neighbours has nothing to say.
            degree = "indegree" if buffer.writes else "outdegree"
            parts.append(f"neighbor_{degree}(*{self.owner}) > 0")
        return parts

    def text(self):
        function = self.function
        head = f"{signature(function, self.large)} noexcept {'' if self.hot() else 'try '}{{"
        if not function.implemented:
            return [head.replace("(" + c_parameters(function, self.large) + ")", self.unnamed()),
                    *self.missing(), self.tail()]
        any_time = ", Entry::AnyTime()" if "any_time" in function.flags else ""
        process = ", process" if "lanes" in function.flags else ""
        self.lines = [f'  Entry entry("{function.c_name(self.large)}"{any_time or process});']
        if not any_time:
            self.lines.append("  if (!entry.running()) [[unlikely]] return entry.not_running();")
        codes = [ParameterCode(self, p) for p in self.decoding_order()]
        at_once = "at_once" in function.flags
        results = [code for code in codes if at_once and code.direction == "out"]
        for code in codes:
            if code not in results:
                self.lines += code.decode()
        if at_once:
            self.lines += self.at_once(codes)
        for code in results:
            self.lines += code.decode()
        self.add_checks(codes)
        self.lines.append(f"  Outcome outcome{{mpi::{function.core_name}({self.arguments(codes)})}};")
        self.finish([ParameterCode(self, p) for p in function.parameters])
        self.lines.append("  return MPI_SUCCESS;")
        lines = [head] + self.lines + [self.tail()]
        helpers = []
        if "lanes" in function.flags:
            helpers, lines = self.behind_lanes(lines)
        return helpers + (self.behind_short_way(lines) if "sent" in function.flags else lines)

    def behind_lanes(self, lines):
        """The way of calls that hold only a lane's lock comes first; a process without lanes notices nothing of it.
        Functions that the entry point needs, and the entry point."""
        name, names = self.function.c_name(self.large), ", ".join(p.name for p in self.function.parameters)
        head = lines[0]
        inner = head.replace(f"P{name}(", f"{name}_usual(MpiProcess* process, ")
        beside = head.replace(f"P{name}(", f"{name}_beside_lanes(")
        helpers = [f"[[gnu::always_inline]] static inline {inner}", *lines[1:], "",
                   f"[[gnu::noinline]] static {beside}",
                   f'  const int code = has_lanes() ? {self.function.core_name}_on_lane("{name}", {names}) : not_on_lane;',
                   f"  return code != not_on_lane ? code : {name}_usual(current_slot().running, {names});", "}", ""]
        return helpers, [head, "  MpiProcess* const process = current_slot().running_without_lanes;",
                         f"  if (process == nullptr) [[unlikely]] return {name}_beside_lanes({names});",
                         f"  return {name}_usual(process, {names});", "}"]

    def behind_short_way(self, lines):
        """The short way needs few registers: the rest is a function of its own, which saves those that it takes."""
        name = self.function.c_name(self.large)
        names = ", ".join(parameter.name for parameter in self.function.parameters)
        head = lines[0].removesuffix(" {")
        rest = f"{name}_otherwise"
        return [f"[[gnu::noinline]] static {lines[0].replace(f'P{name}', rest)}", *lines[1:], "", head + " {",
                f"  if (gives_up_sent({names})) [[likely]] return MPI_SUCCESS;", f"  return {rest}({names});", "}"]

    def at_once(self, codes):
        """Before anything else is looked at: most messages are small, and their arguments right."""
        request = self.function.find("request")
        names = self.arguments(codes).removesuffix(", request_")
        if request is None:
            return [f"  if (sends_at_once({names}, TrafficClass::blocking)) [[likely]] return MPI_SUCCESS;"]
        return [f"  if (request != nullptr && sends_at_once({names}, TrafficClass::nonblocking)) [[likely]] {{",
                "    *request = entry.give_sent();", "    return MPI_SUCCESS;", "  }"]

    def hot(self):
        """A handler of exceptions costs a send ten instructions. What these functions allocate is caught further in
        (MpiProcess::out_of_memory)."""
        return self.function.chapter in ("point_to_point", "request")

    def tail(self):
        if self.hot():
            return "}"
        name = self.function.c_name(self.large)
        stopped = ""
        window = self.function.find("win")
        if window is not None and window.direction in ("in", "free"):
            # A process of the window has failed while the call waited.
            handle = f"{'*' if window.direction == 'free' else ''}{window.name}"
            stopped = f'}} catch (const Stopped& stop) {{ return stopped("{name}", {handle}, stop.why);\n'
        return f'{stopped}}} catch (const std::bad_alloc& error) {{ out_of_memory("{name}", error); }}'

    def missing(self):
        """What a function does that is not implemented: its error goes to the handler that an error of it would."""
        function = self.function
        lines = [f'  Entry entry("{function.c_name(self.large)}");',
                 "  if (!entry.running()) [[unlikely]] return entry.not_running();"]
        if of_files(function):
            return [*lines, "  return entry.unsupported_file();"]
        if "names_null" in function.flags:
            lines += ParameterCode(self, function.parameters[0]).name_of_null()
        for parameter in function.parameters:
            if f"{parameter.name}_" == self.owner:
                lines += ParameterCode(self, parameter).decode()
        return [*lines, f"  return entry.unsupported({self.owner});"]

    def unnamed(self):
        """The parameter list of a function that does not look at its arguments."""
        return "([[maybe_unused]] " + c_parameters(self.function, self.large).replace(", ", ", [[maybe_unused]] ") \
            + ")" if self.function.parameters else "()"

    def decoding_order(self):
        """The communicator, the root, buffers, then what depends on them."""
        def rank(parameter):
            if parameter.kind in OWNER_KINDS or f"{parameter.name}_" == self.owner:
                return 0
            if parameter.kind in ("root", "dest", "source") or parameter.kind == "op" and self.function.chapter == "window":
                return 1
            return 2 if KINDS[parameter.kind].group == "buffer" else 3
        return sorted(self.function.parameters, key=rank)

    def add_checks(self, codes):
        """With the knob `checks` off, counts are checked all the same: the core relies on products that fit 64 bits."""
        checks = [line for code in codes for line in code.checks()]
        counts = []
        for group in self.groups:
            checks += self.buffer_checks(group)
            counts += self.buffer_checks(group, only_counts=True)
        if checks:
            self.lines.append("  if (entry.checks()) [[likely]] {")
            self.lines += ["  " + line for line in checks]
            if counts:
                self.lines.append("  } else {")
                self.lines += ["  " + line for line in counts]
            self.lines.append("  }")

    def measures(self, parameter):
        """Whether a count is checked together with its datatype."""
        group = self.member_of(parameter)
        return group is not None and any(p.kind == "type" and p.direction == "in" for p in group["members"])

    def buffer_checks(self, group, only_counts=False):
        counts = [p for p in group["members"] if p.kind == "count" and p.direction == "in"]
        types = [p for p in group["members"] if p.kind == "type" and p.direction == "in"]
        if not types:
            return []
        if not counts:
            return [f"  if (!{p.name}_->committed) [[unlikely]] "
                    f'return entry.not_committed({self.owner}, "{p.name}", *{p.name}_);' for p in types]
        if counts[0].array:
            return self.block_checks(group, counts[0], types[0])
        buffers = [] if only_counts else group["buffers"]
        return self.count_check(counts[0], types[0]) + [
            line for buffer in buffers for line in self.null_buffer_check(buffer, counts[0], types[0])]

    def count_check(self, count, datatype):
        """One comparison also finds negative counts and types that are not committed."""
        used, no_peer = self.used(count), self.no_peer(count)
        condition = f"{used} && " if used else ""
        if "@each" in count.flags:
            blocks = self.block_count(self.member_of(count)["buffers"])
            return [f"  if ({condition}!Entry::good_blocks({count.name}, {blocks}, *{datatype.name}_)) [[unlikely]] "
                    f'return entry.bad_count({self.owner}, "{count.name}", {count.name}, {blocks}, '
                    f'"{datatype.name}", *{datatype.name}_);']
        excuse = f" && !({no_peer} && Entry::usable({count.name}, *{datatype.name}_))" if no_peer else ""
        return [f"  if ({condition}!Entry::good_count({count.name}, *{datatype.name}_){excuse}) [[unlikely]] "
                f'return entry.bad_count({self.owner}, "{count.name}", {count.name}, 1, "{datatype.name}", '
                f"*{datatype.name}_);"]

    def block_count(self, buffers):
        """How many blocks a buffer has where a count is that of each."""
        if "reduce_scatter" in self.function.core_name:
            return f"{self.owner}->size()"
        if self.function.chapter != "neighborhood":
            return f"{self.owner}->peer_count()"
        return f"neighbor_{'indegree' if buffers[0].writes else 'outdegree'}(*{self.owner})"

    def null_buffer_check(self, buffer, count, datatype):
        flag = self.buffer_flag(buffer)
        condition = f"{flag} && " if flag else ""
        return [f"  if ({buffer.name} == nullptr && {condition}"
                f"Entry::null_buffer_matters({count.name}, *{datatype.name}_)) [[unlikely]] "
                f'return entry.null_buffer({self.owner}, "{buffer.name}", {count.name});']

    def block_checks(self, group, counts, types):
        displacements = next((p for p in group["members"] if p.kind in ("displ", "aint") and p.array), None)
        nulls = " : ".join(
            [f"{b.name} == nullptr{' && ' + self.buffer_flag(b) if self.buffer_flag(b) else ''} ? \"{b.name}\""
             for b in group["buffers"]] + ["nullptr"])
        place = f'{{"{displacements.name}", IntegerArray({displacements.name})}}' if displacements else "{}"
        length = ParameterCode(self, counts).length()
        used = self.used(counts)
        lines = [f'  const BlockArguments blocks{{{{"{counts.name}", IntegerArray({counts.name})}}, {place}, '
                 f'"{types.name}", {nulls}}};',
                 f"  const int code = entry.check_blocks({self.owner}, blocks, {length}, "
                 f"{types.name}_{'.span()' if types.array else ''});",
                 "  if (code != MPI_SUCCESS) [[unlikely]] return code;"]
        opening = f"  if ({used}) {{" if used else "  {"
        return [opening, *("  " + line for line in lines), "  }"]

    def arguments(self, codes):
        by_name = {code.parameter.name: code for code in codes}
        arguments = ["entry.process()"]
        for parameter in core_parameters(self.core):
            code = by_name.get(parameter.name) or self.same_place(by_name, parameter)
            arguments.append(code.argument())
        if "tells_large" in self.core.flags:
            arguments.append("true" if self.large else "false")
        return ", ".join(arguments)

    def same_place(self, by_name, parameter):
        """An alias may name its parameters otherwise; they correspond by position."""
        index = self.core.parameters.index(parameter)
        return by_name[self.function.parameters[index].name]

    def finish(self, codes):
        after_error = [line for code in codes for line in code.finish_on_error()]
        if after_error:
            self.lines.append("  if (!outcome.good()) [[unlikely]] {")
            self.lines += ["  " + line for line in after_error]
            self.lines += [f"    return entry.fail({self.owner}, outcome);", "  }"]
        else:
            self.lines.append(f"  if (!outcome.good()) [[unlikely]] return entry.fail({self.owner}, outcome);")
        for code in codes:
            self.lines += code.finish()

    def implied(self):
        return implied_lengths(self.function)


def entry_points(functions, by_name):
    """One file's text for the functions of a chapter."""
    lines = [PROLOGUE.format(chapter=functions[0].chapter.replace("_", " "))]
    only = functions[0].abi
    if only:
        lines.append(f"#ifdef HAWSER_ABI_OF_{only.upper()}\n")
    for function in functions:
        if "hand" in function.flags:
            continue
        core = by_name[function.alias] if function.alias else function
        function.implemented = core.implemented
        for large in function.forms:
            lines += [*EntryPoint(function, large, core).text(), alias(function, large), ""]
    if only:
        lines.append("#endif")
    lines.append('}  // extern "C"\n#pragma GCC visibility pop\n}  // namespace hawser::binding')
    return "\n".join(lines) + "\n"
