#include "communicator/context_ids.h"

#include <bit>

#include "communicator/communicator.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

constexpr int id_bits = 32 - std::countr_zero(contexts_per_communicator);

}  // namespace

void ContextIds::open(ProcessIndex self, int processes) {
  HAWSER_ASSERT(self >= 0 && self < processes);
  self_ = static_cast<std::uint32_t>(self);
  number_bits_ = id_bits - std::bit_width(static_cast<std::uint32_t>(processes - 1));
  next_ = 2;
  free_.clear();
  in_use_ = 0;
}

std::uint32_t ContextIds::id(std::uint32_t number) const {
  return (self_ << number_bits_ | number) * contexts_per_communicator;
}

Result<std::uint32_t> ContextIds::take() {
  std::uint32_t number = 0;
  if (!free_.empty()) {
    number = free_.front();
    free_.pop_front();
  } else if (std::uint64_t{next_} >> number_bits_ == 0) {
    number = next_++;
  } else {
    return failure(ErrorClass::other,
                   "all {} context ids are in use; free communicators that you no longer need", next_);
  }
  ++in_use_;
  return id(number);
}

ProcessIndex ContextIds::chooser_of(std::uint32_t context) const {
  return static_cast<ProcessIndex>((context / contexts_per_communicator) >> number_bits_);
}

bool ContextIds::chosen_here(std::uint32_t context) const {
  return chooser_of(context) == static_cast<ProcessIndex>(self_);
}

void ContextIds::give_back(std::uint32_t context) {
  HAWSER_ASSERT(chosen_here(context) && in_use_ > 0);
  free_.push_back((context / contexts_per_communicator) & ((std::uint32_t{1} << number_bits_) - 1));
  --in_use_;
}

}  // namespace hawser
