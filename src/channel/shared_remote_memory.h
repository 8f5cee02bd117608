// SharedRemoteMemory: puts and gets between processes of a node in memory that they do not share, copied by
// the kernel (process_vm_writev) without the owner's attention. Few bytes are copied by the owner while it
// waits in MPI (served_operations.h). Where the kernel refuses, an operation ends with
// ErrorKind::unsupported.
#pragma once

#include <vector>

#include "channel/node_load.h"
#include "channel/remote_memory.h"
#include "channel/served_operations.h"
#include "channel/shared_segment.h"

namespace hawser {

class SharedRemoteMemory final : public RemoteMemory {
 public:
  // `self`: this process's place on the node; `processes`: who is there, by place; `rings`: to them, by
  // process; these and `load` must outlive this. `fence`: as ServedOperations has it. `may_copy`: whether the
  // kernel may copy at all.
  SharedRemoteMemory(const SharedSegment& segment, std::int32_t self,
                     const std::vector<ProcessIndex>& processes, const std::vector<RingSender*>& rings,
                     NodeLoad& load, bool fence, bool may_copy);

  RemoteCapabilities capabilities(ProcessIndex peer) const override;
  Result<WindowToken> register_window(std::byte* memory, std::int64_t size) override;
  void unregister_window(const WindowToken& window) override;
  bool try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from, TrafficClass traffic,
               Completion* end) override;
  bool try_get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into, TrafficClass traffic,
               Completion* end) override;
  // Never called: no atomic operation is among the capabilities.
  bool try_atomic(ProcessIndex, const RemotePlace&, const AtomicRequest&, std::uint64_t&,
                  Completion*) override {
    HAWSER_UNREACHABLE();
  }
  void flush(ProcessIndex peer, Completion& end) override;

  // Whether there is something to do or ends are to be told.
  bool pending() const { return !ended_.empty() || served_.active(); }
  bool progress(TransportEvents& events);
  ServedOperations& served() { return served_; }

 private:
  enum class Copyable : std::uint8_t { unknown, yes, no };

  std::int32_t place_of(ProcessIndex peer) const;
  std::uint64_t seal(const WindowToken& token) const;
  // Where it is in the owner's memory; 0: not within the window that the token names.
  std::uint64_t address_of(std::int32_t place, const RemotePlace& where, std::int64_t bytes) const;
  bool may_ask(std::uint64_t address);
  bool busy(std::int32_t owner) const;
  ServedOperations::Place place_in(std::int32_t owner, const RemotePlace& where, std::uint64_t address) const;
  template <class Copy>
  bool carry_out(std::int32_t place, std::uint64_t address, Completion* end, Copy&& copy);

  const SharedSegment& segment_;
  const std::int32_t self_;
  const std::vector<ProcessIndex>& processes_;
  const std::vector<RingSender*>& rings_;
  NodeLoad& load_;
  ServedOperations served_;
  mutable std::vector<Copyable> copyable_;  // by place
  std::vector<EndedOperation> ended_;
  std::vector<std::int32_t> liars_;
};

}  // namespace hawser
