#include "testbed/campaign/window_traffic.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "process/process_slot.h"

namespace hawser {
namespace {

using Kind = PlannedAccess::Kind;

// What is wrong with the bytes; empty: nothing.
std::string difference(const std::byte* found, const std::byte* expected, std::size_t size) {
  const auto [at, other] = std::mismatch(found, found + size, expected);
  if (at == found + size) return {};
  return fmt::format("byte {} of {} is {:02x}, not {:02x}", at - found, size, static_cast<unsigned>(*at),
                     static_cast<unsigned>(*other));
}

}  // namespace

// An operation under way, with its memory at this end, which is written to as soon as it may be.
class WindowTraffic::Access final : public Completion, private Packer {
 public:
  Access(Buffers& buffers, const PlannedAccess& planned, std::vector<std::byte> expected)
      : buffers_(buffers),
        planned_(planned),
        expected_(std::move(expected)),
        buffer_(buffers.take(static_cast<std::size_t>(planned.bytes) * (planned.in_pieces ? 2 : 1), true)) {
    if (planned.kind == Kind::put) copy(expected_.data(), 0, planned.bytes, true);
  }

  ByteSequence sequence() {
    if (planned_.in_pieces) return {nullptr, planned_.bytes, this};
    return {buffer_.data, planned_.bytes, nullptr};
  }
  void on_complete(Result<> result) override {
    if (over_) error_ = "it ended twice";
    if (!result) error_ = result.error().text;
    over_ = true;
  }
  bool over() const { return over_; }
  // Throws what is wrong.
  void finish() {
    std::vector<std::byte> got(expected_.size());
    copy(got.data(), 0, planned_.bytes, false);
    if (error_.empty()) error_ = difference(got.data(), expected_.data(), got.size());
    if (!error_.empty())
      throw std::runtime_error(fmt::format("{} of {} bytes at {} of rank {}'s window by rank {}: {}",
                                           planned_.kind == Kind::put ? "a put" : "a get", planned_.bytes,
                                           planned_.offset, planned_.target, planned_.origin, error_));
    buffers_.give_back(buffer_);
  }

  // It was not begun.
  void drop() { buffers_.give_back(buffer_); }

 private:
  void pack(std::int64_t offset, std::byte* out, std::int64_t bytes) override {
    copy(out, offset, bytes, false);
  }
  void unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) override {
    copy(const_cast<std::byte*>(in), offset, bytes, true);
  }
  void copy(std::byte* bytes, std::int64_t offset, std::int64_t count, bool into) {
    const std::int64_t step = planned_.in_pieces ? 2 : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte& own = buffer_.data[(offset + i) * step];
      (into ? own : bytes[i]) = into ? bytes[i] : own;
    }
  }

  Buffers& buffers_;
  const PlannedAccess& planned_;
  std::vector<std::byte> expected_;  // what is put, or must be got
  Buffers::Buffer buffer_;
  bool over_ = false;
  std::string error_;
};

WindowTraffic::WindowTraffic(SimulatedRank& rank, const WindowPlan& plan, Buffers& buffers)
    : rank_(rank),
      plan_(plan),
      buffers_(buffers),
      process_(*current_slot().running),
      me_(process_.rank()),
      size_(process_.size()) {}

WindowTraffic::~WindowTraffic() = default;

RemoteMemory& WindowTraffic::memory_of(int target) const {
  return *process_.channels().channel_of(target)->remote_memory();
}

void WindowTraffic::open() {
  const auto part = static_cast<std::size_t>(plan_.part), parts = static_cast<std::size_t>(size_);
  own_ = buffers_.take(part * (parts + 1), false);
  here_.assign(parts, std::vector<std::byte>(part, Buffers::blank));
  there_ = here_;
  std::vector<std::byte> still(part);
  fill_payload(still.data(), part, plan_.key + static_cast<std::uint64_t>(me_));
  std::memcpy(own_.data + part * parts, still.data(), part);
  // The window, once for each transport; what each has for the others.
  std::uint64_t reached = 0;
  std::vector<WindowToken> mine(parts);
  for (Transport* transport : process_.channels().channels()) {
    RemoteMemory* const memory = transport->remote_memory();
    if (memory == nullptr) continue;
    auto window = memory->register_window(own_.data, static_cast<std::int64_t>(own_.size));
    if (!window) continue;  // while all adapters are closed
    for (int peer = 0; peer < size_; ++peer)
      if (peer != me_ && process_.channels().channel_of(peer) == transport) {
        mine[static_cast<std::size_t>(peer)] = window.value();
        const RemoteCapabilities can = memory->capabilities(peer);
        if (can.put && can.get) reached |= std::uint64_t{1} << peer;
      }
    if (registered_ != nullptr) throw std::runtime_error("two transports have windows");
    registered_ = memory;
    token_ = window.value();
  }
  tokens_.resize(parts);
  reached_.resize(parts);
  std::vector<std::uint64_t> registered(parts);
  const std::uint64_t have = registered_ != nullptr;
  constexpr int words = sizeof(WindowToken) / sizeof(std::uint64_t);
  MPI_Alltoall(mine.data(), words, MPI_UINT64_T, tokens_.data(), words, MPI_UINT64_T, MPI_COMM_WORLD);
  MPI_Allgather(&have, 1, MPI_UINT64_T, registered.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int peer = 0; peer < size_; ++peer)
    if (registered[static_cast<std::size_t>(peer)] == 0) reached &= ~(std::uint64_t{1} << peer);
  MPI_Allgather(&reached, 1, MPI_UINT64_T, reached_.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
}

void WindowTraffic::close() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (registered_ != nullptr) registered_->unregister_window(token_);
  judge_own();
  buffers_.give_back(own_);
}

void WindowTraffic::begin(std::size_t phase) {
  if (plan_.epochs[phase].accesses.empty()) return;
  epoch_ = &plan_.epochs[phase];
  next_ = 0;
  carry_out(false);
}

void WindowTraffic::end(std::size_t phase) {
  if (plan_.epochs[phase].accesses.empty()) return;
  if (epoch_->busy == me_) rank_.compute(epoch_->computes);
  carry_out(true);
  for (int target = 0; target < size_; ++target) {
    const bool used =
        std::any_of(epoch_->accesses.begin(), epoch_->accesses.end(), [&](const PlannedAccess& each) {
          return each.origin == me_ && each.target == target && reaches(me_, target);
        });
    if (used) flush(target);
  }
  process_.wait_until([&] {
    return std::all_of(active_.begin(), active_.end(), [](const auto& each) { return each->over(); });
  });
  finish_done();
  // Whoever is behind the barrier sees everything, because all have flushed.
  MPI_Barrier(MPI_COMM_WORLD);
  replay();
  judge_own();
  MPI_Barrier(MPI_COMM_WORLD);
}

// True: all of it.
bool WindowTraffic::carry_out(bool wait) {
  for (; next_ < epoch_->accesses.size(); ++next_) {
    const PlannedAccess& planned = epoch_->accesses[next_];
    if (planned.origin != me_ || !reaches(me_, planned.target)) continue;
    if (!start(planned, wait)) return false;
    finish_done();
  }
  return true;
}

// False: it has to wait, which it may not.
bool WindowTraffic::start(const PlannedAccess& planned, bool wait) {
  if (planned.kind == Kind::flush) {
    if (wait) flush(planned.target);
    return wait;
  }
  const auto target = static_cast<std::size_t>(planned.target);
  const auto bytes = static_cast<std::size_t>(planned.bytes);
  std::vector<std::byte> expected(bytes);
  std::byte* const part = there_[target].data() + planned.offset;
  std::int64_t offset = static_cast<std::int64_t>(plan_.part) * me_ + planned.offset;
  if (planned.kind == Kind::put) {
    fill_payload(expected.data(), bytes, planned.key);
  } else if (planned.kind == Kind::get) {
    std::memcpy(expected.data(), part, bytes);
  } else {
    std::vector<std::byte> still(static_cast<std::size_t>(plan_.part));
    fill_payload(still.data(), still.size(), plan_.key + static_cast<std::uint64_t>(planned.target));
    std::memcpy(expected.data(), still.data() + planned.offset, bytes);
    offset = static_cast<std::int64_t>(plan_.part) * size_ + planned.offset;
  }
  auto access = std::make_unique<Access>(buffers_, planned, expected);
  const auto begun = [&] {
    RemoteMemory& memory = memory_of(planned.target);
    const RemotePlace place{tokens_[target], offset};
    return planned.kind == Kind::put ? memory.try_put(planned.target, place, access->sequence(),
                                                      TrafficClass::one_sided, access.get())
                                     : memory.try_get(planned.target, place, access->sequence(),
                                                      TrafficClass::one_sided, access.get());
  };
  if (wait) {
    process_.wait_until(begun);
  } else if (!begun()) {
    access->drop();
    return false;
  }
  if (planned.kind == Kind::put) std::memcpy(part, expected.data(), bytes);
  active_.push_back(std::move(access));
  return true;
}

void WindowTraffic::flush(int target) {
  struct Flush final : Completion {
    void on_complete(Result<> result) override {
      over = true;
      if (!result) error = result.error().text;
    }
    bool over = false;
    std::string error;
  } flush;
  memory_of(target).flush(target, flush);
  process_.wait_until([&] { return flush.over; });
  if (!flush.error.empty())
    throw std::runtime_error(fmt::format("a flush of rank {} by rank {}: {}", target, me_, flush.error));
}

void WindowTraffic::finish_done() {
  std::erase_if(active_, [](const std::unique_ptr<Access>& each) {
    if (!each->over()) return false;
    each->finish();
    return true;
  });
}

void WindowTraffic::replay() {
  for (const PlannedAccess& each : epoch_->accesses)
    if (each.kind == Kind::put && each.target == me_ && reaches(each.origin, me_))
      fill_payload(here_[static_cast<std::size_t>(each.origin)].data() + each.offset,
                   static_cast<std::size_t>(each.bytes), each.key);
}

void WindowTraffic::judge_own() const {
  const auto part = static_cast<std::size_t>(plan_.part);
  const std::byte* at = own_.data;
  for (int origin = 0; origin < size_; ++origin, at += part)
    if (const std::string error = difference(at, here_[static_cast<std::size_t>(origin)].data(), part);
        !error.empty())
      throw std::runtime_error(
          fmt::format("the window of rank {}, where rank {} writes: {}", me_, origin, error));
  if (const auto wrong = find_payload_error(at, part, plan_.key + static_cast<std::uint64_t>(me_));
      wrong >= 0)
    throw std::runtime_error(
        fmt::format("the window of rank {}, where nobody writes: byte {} of {}", me_, wrong, part));
}

}  // namespace hawser
