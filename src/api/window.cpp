// Making and freeing windows, and asking about them (MPI-5.0 section 12.2).
#include "window/window.h"

#include "api/functions.h"
#include "api/node_memory.h"
#include "api/window_info.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

constexpr std::size_t max_name = 127;

Result<> check_intra(const Communicator& comm) {
  if (!comm.inter()) return {};
  return failure(ErrorClass::comm,
                 "the communicator is an intercommunicator; windows need an intracommunicator");
}

Result<> check_part(std::int64_t size, std::int64_t unit) {
  if (size < 0) return failure(ErrorClass::size, "size is {}, but must not be negative", size);
  if (unit <= 0) return failure(ErrorClass::disp, "disp_unit is {}, but must be positive", unit);
  return {};
}

// Collective over `comm`.
Result<> make(MpiProcess& process, Communicator& comm, const Info* info, WindowMemory memory,
              Ref<Window>& win) {
  auto hints = default_hints();
  if (!hints) return hints.take_error();
  HAWSER_TRY(take_hints(*hints.value(), info));
  auto made = process.windows().create(comm, std::move(memory));
  if (!made) return made.take_error();
  win = std::move(made).value();
  win->communicator().session = comm.session;
  win->error_handler = process.errors_are_fatal();
  win->hints = std::move(hints).value();
  return {};
}

Result<> allocate(MpiProcess& process, WindowFlavor flavor, std::int64_t size, std::int64_t unit,
                  const Info* info, Communicator& comm, void*& base, Ref<Window>& win) {
  HAWSER_TRY(check_intra(comm));
  HAWSER_TRY(check_part(size, unit));
  const bool adjacent =
      flavor == WindowFlavor::shared && !(info != nullptr && hint_is_true(*info, "alloc_shared_noncontig"));
  auto memory = NodeMemory::allocate(process, comm, size, adjacent ? Placement::adjacent : Placement::pages);
  if (!memory) return memory.take_error();
  WindowMemory part{.flavor = flavor, .size = size, .displacement_unit = unit};
  part.base = memory.value()->base_of(comm.rank());
  part.shared = std::move(memory).value();
  base = part.base;
  return make(process, comm, info, std::move(part), win);
}

// The lowest rank that has memory, for MPI_PROC_NULL.
int first_with_memory(const Window& window) {
  for (int rank = 0; rank < window.size(); ++rank)
    if (window.size_of(rank) > 0) return rank;
  return 0;
}

}  // namespace

Result<> win_create(MpiProcess& process, void* base, std::int64_t size, std::int64_t disp_unit, Info* info,
                    Communicator& comm, Ref<Window>& win) {
  HAWSER_TRY(check_intra(comm));
  HAWSER_TRY(check_part(size, disp_unit));
  if (base == nullptr && size > 0)
    return failure(ErrorClass::base, "base is a null pointer, but the size is {}", size);
  WindowMemory part{.flavor = WindowFlavor::create, .size = size, .displacement_unit = disp_unit};
  part.base = static_cast<std::byte*>(base);
  return make(process, comm, info, std::move(part), win);
}

Result<> win_allocate(MpiProcess& process, std::int64_t size, std::int64_t disp_unit, Info* info,
                      Communicator& comm, void*& baseptr, Ref<Window>& win) {
  return allocate(process, WindowFlavor::allocate, size, disp_unit, info, comm, baseptr, win);
}

Result<> win_allocate_shared(MpiProcess& process, std::int64_t size, std::int64_t disp_unit, Info* info,
                             Communicator& comm, void*& baseptr, Ref<Window>& win) {
  HAWSER_TRY(check_intra(comm));
  const ProcessTable& processes = process.processes();
  for (int rank = 0; rank < comm.size(); ++rank)
    if (processes.node_of(comm.process_of(rank)) != processes.node_of(process.rank()))
      return failure(ErrorClass::rma_shared,
                     "rank {} of the communicator is on another node; split it with MPI_COMM_TYPE_SHARED",
                     rank);
  return allocate(process, WindowFlavor::shared, size, disp_unit, info, comm, baseptr, win);
}

Result<> win_shared_query(MpiProcess&, Window& win, int rank, std::int64_t& size, std::int64_t& disp_unit,
                          void*& baseptr) {
  if (win.memory().flavor == WindowFlavor::dynamic)
    return failure(ErrorClass::rma_flavor,
                   "the window is dynamic; its memory is where the program attached it");
  if (rank != proc_null && (rank < 0 || rank >= win.size()))
    return failure(ErrorClass::rank, "rank is {}, but the ranks of the window are 0 to {}", rank,
                   win.size() - 1);
  if (rank == proc_null) rank = first_with_memory(win);
  // Memory that this process cannot load from has no size (MPI-5.0 section 12.2.3).
  std::byte* base = win.mapped_base_of(rank);
  if (base == nullptr && rank == win.rank()) base = win.memory().base;
  size = base == nullptr ? 0 : win.size_of(rank);
  disp_unit = win.displacement_unit_of(rank);
  baseptr = size == 0 ? nullptr : base;
  return {};
}

Result<> win_create_dynamic(MpiProcess& process, Info* info, Communicator& comm, Ref<Window>& win) {
  HAWSER_TRY(check_intra(comm));
  return make(process, comm, info, WindowMemory{.flavor = WindowFlavor::dynamic}, win);
}

Result<> win_attach(MpiProcess&, Window& win, void* base, std::int64_t size) {
  if (size < 0) return failure(ErrorClass::size, "size is {}, but must not be negative", size);
  if (win.memory().flavor != WindowFlavor::dynamic)
    return failure(ErrorClass::rma_flavor, "the window is not dynamic (MPI_Win_create_dynamic)");
  if (base == nullptr && size > 0)
    return failure(ErrorClass::base, "base is a null pointer, but the size is {}", size);
  return win.attach(base, size);
}

Result<> win_detach(MpiProcess&, Window& win, const void* base) {
  if (win.memory().flavor != WindowFlavor::dynamic)
    return failure(ErrorClass::rma_flavor, "the window is not dynamic (MPI_Win_create_dynamic)");
  return win.detach(base);
}

Result<> win_free(MpiProcess& process, Window& win) {
  const Ref<Window> kept(&win);
  HAWSER_TRY(win.attributes.remove_all(win, process.attribute_callbacks()));
  return win.free();
}

Result<> win_get_group(MpiProcess&, Window& win, Ref<Group>& group) {
  group = win.group();
  if (win.communicator().session) group->session = win.communicator().session;
  return {};
}

// --- Hints and names ---

Result<> win_set_info(MpiProcess&, Window& win, Info* info) { return take_hints(*win.hints, info); }

Result<> win_get_info(MpiProcess&, Window& win, Ref<Info>& info_used) {
  info_used = win.hints->duplicate();
  return {};
}

Result<> win_set_name(MpiProcess&, Window& win, std::string_view win_name) {
  win.name = win_name.substr(0, max_name);
  return {};
}

Result<> win_get_name(MpiProcess&, Window& win, std::string& win_name) {
  win_name = win.name;
  return {};
}

// --- Error handlers ---

Result<> win_set_errhandler(MpiProcess&, Window& win, ErrorHandler& errhandler) {
  if (errhandler.for_what != ErrorHandler::For::any && errhandler.for_what != ErrorHandler::For::window)
    return failure(ErrorClass::errhandler, "the error handler was not created for windows");
  win.error_handler = Ref<ErrorHandler>(&errhandler);
  return {};
}

Result<> win_get_errhandler(MpiProcess&, Window& win, Ref<ErrorHandler>& errhandler) {
  errhandler = win.error_handler;
  return {};
}

// The handler is called as for an error of MPI, but this call itself succeeds when it returns.
Result<> win_call_errhandler(MpiProcess& process, Window& win, int errorcode) {
  Error error;
  HAWSER_TRY(process.error_codes().describe(errorcode, error));
  process.report(AbiObject{.window = &win}, "MPI_Win_call_errhandler", error);
  return {};
}

}  // namespace hawser::mpi
