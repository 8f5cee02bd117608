#include "window/window.h"

#include <fmt/core.h>

#include "base/assert.h"
#include "collective/algorithms/algorithms.h"
#include "collective/construction.h"
#include "mpi/failure.h"
#include "window/window_engine.h"

namespace hawser {

namespace {

// What each member tells the others of its memory.
struct Told {
  std::int64_t size;
  std::int64_t unit;
};

const char* maker_of(WindowFlavor flavor) {
  switch (flavor) {
    case WindowFlavor::create:
      return "MPI_Win_create";
    case WindowFlavor::allocate:
      return "MPI_Win_allocate";
    case WindowFlavor::dynamic:
      return "MPI_Win_create_dynamic";
    case WindowFlavor::shared:
      return "MPI_Win_allocate_shared";
  }
  return "";
}

Task gather(Operation& operation, Told* of_ranks) {
  operation.plan = Plan{};
  operation.plan.receive.base = reinterpret_cast<std::byte*>(of_ranks);
  operation.plan.receive.size = sizeof(Told);
  co_await algorithms::allgather_bruck(operation);
}

}  // namespace

WindowPeer::~WindowPeer() { HAWSER_ASSERT(queue.empty() && !waiting.linked()); }

Window::Window(WindowEngine& engine, Ref<Communicator> communicator, WindowMemory memory)
    : engine_(engine),
      communicator_(std::move(communicator)),
      stop_(engine.trouble(), communicator_->group(), communicator_->context()),
      memory_(std::move(memory)) {}

Window::~Window() {
  if (freed_) return;
  engine_.forget(*this);
  abandon();
}

Result<Ref<Window>> WindowEngine::create(Communicator& parent, WindowMemory memory) {
  auto communicator = duplicate(collectives_, parent);
  if (!communicator) return communicator.take_error();
  communicator.value()->name = parent.name;
  const Ref<Window> window(new Window(*this, std::move(communicator).value(), std::move(memory)));
  std::vector<Members::Member> members(static_cast<std::size_t>(window->size()));
  const SharedWindowMemory* const shared = window->memory_.shared.get();
  for (int rank = 0; rank < window->size() && shared != nullptr; ++rank) {
    Members::Member& member = members[static_cast<std::size_t>(rank)];
    member.mapped = shared->base_of(rank);
    member.control = reinterpret_cast<WindowControl*>(shared->control_of(rank));
  }
  const auto own = static_cast<std::size_t>(window->rank());
  if (window->memory_.flavor != WindowFlavor::dynamic) members[own].mapped = window->memory_.base;
  // Who has heard from all may reach into this process's memory at once.
  window->members_ = Members(members);
  windows_[window->id()] = window.get();
  std::vector<Told> told(members.size());
  told[own] = {window->memory_.size, window->memory_.displacement_unit};
  HAWSER_TRY(collectives_.run_task(window->communicator(),
                                   [&told](Operation& operation) { return gather(operation, told.data()); }));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].size = told[i].size;
    members[i].unit = told[i].unit;
  }
  window->members_ = Members(std::move(members));
  // Others may reach in from now on, whatever the program does.
  collectives_.waiting().expect();
  return window;
}

std::string WindowEngine::describe_unfreed() const {
  const Window* first = nullptr;
  int count = 0;
  for (const auto& [id, window] : windows_) {
    if (window->rank() != 0 || window->stopped()) continue;
    ++count;
    // One that has a name says more. Ids are used again, so their order is not that of the windows.
    if (first == nullptr || (first->name.empty() && !window->name.empty())) first = window;
  }
  if (count == 0) return {};
  const std::string& parent = first->communicator().name;
  return fmt::format("{} made by {} over {} ({} processes)",
                     first->name.empty() ? "a window" : fmt::format("window '{}',", first->name),
                     maker_of(first->memory().flavor),
                     parent.empty() ? "a communicator without a name" : parent, first->size()) +
         (count > 1 ? fmt::format(", and {} more", count - 1) : "");
}

WindowPeer& Window::make_peer(int rank) {
  std::unique_ptr<WindowPeer>& place = peers_[static_cast<std::size_t>(rank)];
  place = std::make_unique<WindowPeer>(*this, rank, engine_.link(group()->process_of(rank)));
  return *place;
}

void Window::wait_until(FunctionRef<bool()> done) {
  engine_.waiting().wait_until([&] { return done() || stop_.raised(); });
  if (stop_.raised() && !done()) throw Stopped{stop_.why()};
}

void Window::abandon() {
  for_each_peer([this](WindowPeer& to) { engine_.drop(to); });
  peers_.clear();
  unregister();
  freed_ = true;
}

Result<> Window::attach(void* base, std::int64_t size) {
  if (memory_.flavor != WindowFlavor::dynamic)
    return failure(ErrorClass::rma_flavor, "memory can be attached to dynamic windows only");
  return attached_.attach(base, size);
}

Result<> Window::detach(const void* base) {
  if (memory_.flavor != WindowFlavor::dynamic)
    return failure(ErrorClass::rma_flavor, "memory can be detached from dynamic windows only");
  return attached_.detach(base);
}

Result<> Window::free() {
  const bool open = access_ == Access::started || access_ == Access::locked ||
                    access_ == Access::locked_all || exposure_ != Exposure::none;
  if (open)
    return failure(ErrorClass::rma_sync,
                   "the window is freed while an epoch is open, which MPI_Win_complete, MPI_Win_wait or "
                   "MPI_Win_unlock would close");
  // What was done in a fence that no other one followed, and unlocks.
  Result<> over = finish_all(Until::done_at_target);
  HAWSER_TRY(barrier());
  // The origins have all that they got; this process may hear of it later, and the memory is read until then.
  wait_until([this] { return exposed_answers_ == 0; });
  engine_.forget(*this);
  unregister();
  freed_ = true;
  peers_.clear();
  memory_.shared.reset();
  return over;
}

}  // namespace hawser
