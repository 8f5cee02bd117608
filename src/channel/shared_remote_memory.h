// SharedRemoteMemory: puts and gets between processes of a node in memory that they do not share, copied by
// the kernel (process_vm_writev) without the owner's attention. Few bytes travel faster as messages.
#pragma once

#include <vector>

#include "channel/remote_memory.h"
#include "channel/shared_segment.h"

namespace hawser {

class SharedRemoteMemory final : public RemoteMemory {
 public:
  // `self`: this process's place on the node; `processes`: who is there, by place; must outlive this.
  // `may_copy`: whether the kernel may copy at all.
  SharedRemoteMemory(const SharedSegment& segment, std::int32_t self,
                     const std::vector<ProcessIndex>& processes, bool may_copy);

  RemoteCapabilities capabilities(ProcessIndex peer) const override;
  Result<WindowToken> register_window(std::byte* memory, std::int64_t size) override;
  void unregister_window(const WindowToken&) override {}
  bool try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from, TrafficClass traffic,
               Completion* end) override;
  bool try_get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into, TrafficClass traffic,
               Completion* end) override;
  // Never called: no atomic operation is among the capabilities.
  bool try_atomic(ProcessIndex, const RemotePlace&, const AtomicRequest&, std::uint64_t&,
                  Completion*) override {
    HAWSER_UNREACHABLE();
  }
  // Everything is done at once.
  void flush(ProcessIndex, Completion& end) override { ended_.push_back({&end, {}}); }

  // Whether ends are to be told.
  bool pending() const { return !ended_.empty(); }
  void tell_ends();

 private:
  struct Ended {
    Completion* end;
    Result<> result;
  };
  enum class Copyable : std::uint8_t { unknown, yes, no };

  std::int32_t place_of(ProcessIndex peer) const;
  std::uint64_t seal(const WindowToken& token) const;
  // Where it is in the owner's memory; 0: not within the window that the token names.
  std::uint64_t address_of(std::int32_t place, const RemotePlace& where, std::int64_t bytes) const;
  template <class Copy>
  bool carry_out(ProcessIndex peer, const RemotePlace& where, std::int64_t bytes, Completion* end,
                 Copy&& copy);

  const SharedSegment& segment_;
  const std::int32_t self_;
  const std::vector<ProcessIndex>& processes_;
  mutable std::vector<Copyable> copyable_;  // by place
  std::vector<Ended> ended_;
};

}  // namespace hawser
