// What CollectiveEngine does with operations that cannot end any more, because a process has failed or the
// communicator was revoked (survival/).
#include "collective/engine.h"
#include "collective/record.h"
#include "mpi/failure.h"

namespace hawser {

namespace {
// Where some of a communicator's ranks make another one.
constexpr std::uint32_t construction_context = 2;
}  // namespace

Error CollectiveEngine::stopped(ErrorClass why) {
  return why == ErrorClass::revoked
             ? failure(why, "the communicator was revoked")
             : failure(why,
                       "a process of the communicator has failed (MPIX_Comm_shrink makes one without it)");
}

Communicator* CollectiveEngine::find(std::uint32_t context) const {
  const auto found = living_.find(context);
  return found == living_.end() ? nullptr : found->second;
}

Result<> CollectiveEngine::check_slowly(const Communicator& communicator) const {
  auto& record = static_cast<CollectiveRecord&>(*communicator.collective);
  if (record.checked != trouble_.version()) {
    record.checked = trouble_.version();
    record.stopped = trouble_.stops(*record.everyone(), communicator.context());
  }
  if (record.stopped == ErrorClass::success) return {};
  return stopped(record.stopped);
}

ErrorClass CollectiveEngine::why_stopped(const Operation& operation) const {
  for (const Participants* side : {&operation.participants(), &operation.other_participants()}) {
    if (side->group.get() == nullptr) continue;
    if (const ErrorClass why = trouble_.stops(*side->group, side->context); why != ErrorClass::success)
      return why;
  }
  return ErrorClass::success;
}

bool CollectiveEngine::never_begins(Operation& operation) {
  const ErrorClass why = why_stopped(operation);
  if (why == ErrorClass::success) return false;
  operation.fail(stopped(why));
  operation.skip();
  return true;
}

void CollectiveEngine::end_stopped() {
  for (auto* list : {&active_, &awaited_, &aside_})
    for (Operation* operation = list->front(); operation != nullptr; operation = list->next(operation))
      if (const ErrorClass why = why_stopped(*operation); why != ErrorClass::success)
        operation->end_early(stopped(why), why);
  // Nothing collective is begun there any more, and what was under way is of no use.
  for (const auto& [context, communicator] : living_)
    if (!check_slowly(*communicator)) {
      messages_.close_context(communicator->collective_context());
      messages_.close_context(context + construction_context);
    }
}

}  // namespace hawser
