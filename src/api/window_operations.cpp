// One-sided operations (MPI-5.0 section 12.3). binding/ has checked ranks, counts and datatypes by
// themselves.
#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"
#include "window/window.h"

namespace hawser::mpi {

namespace {

std::uint64_t bytes_of(std::int64_t count, const Datatype& type) {
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(type.size);
}

void count_fetch(MpiProcess& process, std::uint64_t written, std::uint64_t read) {
  OneSidedCounters& counters = process.one_sided_counters();
  ++counters.fetches;
  counters.bytes_written += written;
  counters.bytes_read += read;
}

// The request of an operation on MPI_PROC_NULL, which is complete.
Result<> nothing_to_do(MpiProcess& process, Request** request) {
  if (request != nullptr) *request = &process.point_to_point().null_receive();
  return {};
}

Result<> check_displacement(const Window& win, const TargetData& target) {
  if (target.displacement >= 0 || win.memory().flavor == WindowFlavor::dynamic) return {};
  return failure(ErrorClass::disp, "target_disp is {} for rank {}, but must not be negative",
                 target.displacement, target.rank);
}

// An operator and a target's type, whose elements the origin's and the result's must be.
Result<> check_operands(const Operator& op, const TargetData& target, std::int64_t count,
                        const Datatype& other, const char* whose) {
  const bool nothing = bytes_of(target.count, *target.type) == 0 || bytes_of(count, other) == 0;
  if (nothing && op.predefined()) return {};
  HAWSER_TRY(op.check_accumulate(*target.type));
  if (target.type->elementary == other.elementary && target.type->pair == other.pair) return {};
  return failure(ErrorClass::type, "the elements of the {} and of the target are of different types", whose);
}

Result<> do_put(MpiProcess& process, const OriginData& origin, const TargetData& target, Window& win,
                Request** request) {
  if (target.rank == proc_null) [[unlikely]]
    return nothing_to_do(process, request);
  HAWSER_TRY(check_displacement(win, target));
  HAWSER_TRY(win.put(origin, target, request));
  OneSidedCounters& counters = process.one_sided_counters();
  ++counters.puts;
  counters.bytes_written += bytes_of(origin.count, *origin.type);
  return {};
}

Result<> do_get(MpiProcess& process, const ResultData& result, const TargetData& target, Window& win,
                Request** request) {
  if (target.rank == proc_null) [[unlikely]]
    return nothing_to_do(process, request);
  HAWSER_TRY(check_displacement(win, target));
  HAWSER_TRY(win.get(result, target, request));
  OneSidedCounters& counters = process.one_sided_counters();
  ++counters.gets;
  counters.bytes_read += bytes_of(target.count, *target.type);
  return {};
}

Result<> do_accumulate(MpiProcess& process, const OriginData& origin, const TargetData& target,
                       const Operator& op, Window& win, Request** request) {
  if (target.rank == proc_null) [[unlikely]]
    return nothing_to_do(process, request);
  HAWSER_TRY(check_displacement(win, target));
  HAWSER_TRY(check_operands(op, target, origin.count, *origin.type, "origin"));
  if (op.kind() == PredefinedOperator::no_op)
    return failure(ErrorClass::op, "MPI_NO_OP has no meaning where nothing is fetched (MPI_Get_accumulate)");
  HAWSER_TRY(win.accumulate(origin, target, op, request));
  OneSidedCounters& counters = process.one_sided_counters();
  ++counters.accumulates;
  counters.bytes_written += bytes_of(origin.count, *origin.type);
  return {};
}

Result<> do_get_accumulate(MpiProcess& process, const OriginData& origin, const ResultData& result,
                           const TargetData& target, const Operator& op, Window& win, Request** request) {
  if (target.rank == proc_null) [[unlikely]]
    return nothing_to_do(process, request);
  HAWSER_TRY(check_displacement(win, target));
  HAWSER_TRY(check_operands(op, target, result.count, *result.type, "result"));
  const bool writes = op.kind() != PredefinedOperator::no_op;
  if (writes) HAWSER_TRY(check_operands(op, target, origin.count, *origin.type, "origin"));
  HAWSER_TRY(win.get_accumulate(origin, result, target, op, request));
  const std::uint64_t bytes = bytes_of(target.count, *target.type);
  count_fetch(process, writes ? bytes : 0, bytes);
  return {};
}

Result<> check_single(const Window& win, const Datatype& type, const TargetData& target, const void* result) {
  if (!type.predefined)
    return failure(ErrorClass::type, "the datatype is derived, but this call needs a predefined one");
  if (result == nullptr) return failure(ErrorClass::buffer, "result_addr is a null pointer");
  return check_displacement(win, target);
}

// What can be compared bit by bit (MPI-5.0 section 12.3.5). Characters are not in the standard's list, but
// other implementations take them.
Result<> check_comparable(const Datatype& type) {
  if (type.elementary != Elementary::none && type.elementary != Elementary::pair) {
    switch (facts(type.elementary).element_class) {
      case ElementaryClass::integer:
      case ElementaryClass::logical:
      case ElementaryClass::byte:
      case ElementaryClass::character:
        return {};
      case ElementaryClass::none:
      case ElementaryClass::floating:
      case ElementaryClass::complex:
      case ElementaryClass::pair:
        break;
    }
  }
  return failure(ErrorClass::type, "MPI_Compare_and_swap takes integers, logicals and bytes, but not {}",
                 type.name.empty() ? "this datatype" : type.name);
}

}  // namespace

Result<> put(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
             Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count,
             Datatype& target_datatype, Window& win) {
  return do_put(process, {origin_addr, origin_count, &origin_datatype},
                {target_rank, target_disp, target_count, &target_datatype}, win, nullptr);
}

Result<> rput(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
              Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count,
              Datatype& target_datatype, Window& win, Request*& request) {
  return do_put(process, {origin_addr, origin_count, &origin_datatype},
                {target_rank, target_disp, target_count, &target_datatype}, win, &request);
}

Result<> get(MpiProcess& process, void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype,
             int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype,
             Window& win) {
  return do_get(process, {origin_addr, origin_count, &origin_datatype},
                {target_rank, target_disp, target_count, &target_datatype}, win, nullptr);
}

Result<> rget(MpiProcess& process, void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype,
              int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype,
              Window& win, Request*& request) {
  return do_get(process, {origin_addr, origin_count, &origin_datatype},
                {target_rank, target_disp, target_count, &target_datatype}, win, &request);
}

Result<> accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
                    Datatype& origin_datatype, int target_rank, std::int64_t target_disp,
                    std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win) {
  return do_accumulate(process, {origin_addr, origin_count, &origin_datatype},
                       {target_rank, target_disp, target_count, &target_datatype}, op, win, nullptr);
}

Result<> raccumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
                     Datatype& origin_datatype, int target_rank, std::int64_t target_disp,
                     std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win,
                     Request*& request) {
  return do_accumulate(process, {origin_addr, origin_count, &origin_datatype},
                       {target_rank, target_disp, target_count, &target_datatype}, op, win, &request);
}

Result<> get_accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
                        Datatype& origin_datatype, void* result_addr, std::int64_t result_count,
                        Datatype& result_datatype, int target_rank, std::int64_t target_disp,
                        std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win) {
  return do_get_accumulate(process, {origin_addr, origin_count, &origin_datatype},
                           {result_addr, result_count, &result_datatype},
                           {target_rank, target_disp, target_count, &target_datatype}, op, win, nullptr);
}

Result<> rget_accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count,
                         Datatype& origin_datatype, void* result_addr, std::int64_t result_count,
                         Datatype& result_datatype, int target_rank, std::int64_t target_disp,
                         std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win,
                         Request*& request) {
  return do_get_accumulate(process, {origin_addr, origin_count, &origin_datatype},
                           {result_addr, result_count, &result_datatype},
                           {target_rank, target_disp, target_count, &target_datatype}, op, win, &request);
}

Result<> fetch_and_op(MpiProcess& process, const void* origin_addr, void* result_addr, Datatype& datatype,
                      int target_rank, std::int64_t target_disp, Operator& op, Window& win) {
  if (target_rank == proc_null) return {};
  HAWSER_TRY(check_single(win, datatype, {target_rank, target_disp, 1, &datatype}, result_addr));
  HAWSER_TRY(op.check_accumulate(datatype));
  if (origin_addr == nullptr && op.kind() != PredefinedOperator::no_op)
    return failure(ErrorClass::buffer, "origin_addr is a null pointer");
  HAWSER_TRY(win.fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op));
  const std::uint64_t bytes = bytes_of(1, datatype);
  count_fetch(process, op.kind() == PredefinedOperator::no_op ? 0 : bytes, bytes);
  return {};
}

Result<> compare_and_swap(MpiProcess& process, const void* origin_addr, const void* compare_addr,
                          void* result_addr, Datatype& datatype, int target_rank, std::int64_t target_disp,
                          Window& win) {
  if (target_rank == proc_null) return {};
  HAWSER_TRY(check_single(win, datatype, {target_rank, target_disp, 1, &datatype}, result_addr));
  HAWSER_TRY(check_comparable(datatype));
  if (origin_addr == nullptr || compare_addr == nullptr)
    return failure(ErrorClass::buffer, "{} is a null pointer",
                   origin_addr == nullptr ? "origin_addr" : "compare_addr");
  HAWSER_TRY(
      win.compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp));
  count_fetch(process, bytes_of(1, datatype), bytes_of(1, datatype));
  return {};
}

}  // namespace hawser::mpi
