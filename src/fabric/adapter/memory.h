// Memory regions and their keys: what a queue pair may touch. Every access of the model to a client's memory
// goes through a check here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/adapter/dma_port.h"
#include "fabric/adapter/types.h"

namespace hawser::fabric {

class Context;

struct ProtectionDomain {
  Context& context;
  std::uint32_t number = 0;
  std::uint32_t users = 0;  // regions, windows, queue pairs and shared receive queues in it
};

// A region, or a window onto part of one, which has a key of its own for remote access.
struct MemoryRegion {
  enum class Kind : std::uint8_t {
    region,
    window_1,  // for all queue pairs of the domain
    window_2,  // for the queue pair that it was bound on
  };
  ProtectionDomain* domain = nullptr;
  SpaceId space = 0;
  std::uint64_t address = 0;  // in the client
  std::uint64_t length = 0;
  std::uint64_t virtual_address = 0;  // what requests call the first byte; usually the address
  std::uint32_t access = 0;           // AccessFlags
  std::uint32_t key = 0;              // lkey and rkey
  Kind kind = Kind::region;
  std::uint32_t windows = 0;       // bound to it
  MemoryRegion* region = nullptr;  // of a window that is bound
  std::uint32_t queue_pair = 0;    // of a bound window of type 2
};

// Keys are an index and a tag that changes when the index is used again, so a stale key is found out.
class MemoryTable {
 public:
  static constexpr std::uint32_t tag_bits = 8;  // as ibv_inc_rkey takes it
  // `salt`: tables of different salt give out different keys.
  explicit MemoryTable(std::uint32_t salt = 0) : first_tag_(static_cast<std::uint8_t>(salt * 0x35)) {}
  static std::uint32_t number_of(std::uint32_t key) { return key >> tag_bits; }

  // Null when the table is full.
  MemoryRegion* add(const MemoryRegion& region);
  void remove(MemoryRegion& region);
  MemoryRegion* find(std::uint32_t key) const;
  std::size_t size() const { return live_; }

  // The region of `key`, if it is in the domain, allows all of `access`, and covers the range; else null.
  const MemoryRegion* check(std::uint32_t key, const ProtectionDomain* domain, std::uint64_t address,
                            std::uint64_t length, std::uint32_t access) const;
  // For access from afar through a queue pair: the key may be a window's.
  const MemoryRegion* check_remote(std::uint32_t key, const ProtectionDomain* domain,
                                   std::uint32_t queue_pair, std::uint64_t address, std::uint64_t length,
                                   std::uint32_t access) const;

  // ---- windows: what a bind request and the two ways to invalidate do; false when they may not ----
  bool bind(const SendRequest& request, const ProtectionDomain* domain, std::uint32_t queue_pair);
  bool invalidate(std::uint32_t key, const ProtectionDomain* domain, std::uint32_t queue_pair);
  void unbind(MemoryRegion& window);

 private:
  struct Slot {
    std::unique_ptr<MemoryRegion> region;
    std::uint8_t tag = 0;
  };
  std::uint8_t first_tag_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t live_ = 0;
};

// The part [offset, offset + length) of a scatter/gather list, checked and in addresses of the client. False
// when a key, a bound or a right is wrong; true with fewer bytes than asked for when the list is too short.
bool gather_pieces(const MemoryTable& table, const ProtectionDomain* domain,
                   std::span<const Segment> segments, std::uint64_t offset, std::uint64_t length,
                   std::uint32_t access, std::vector<Piece>& out);

inline std::uint64_t total_length(std::span<const Segment> segments) {
  std::uint64_t total = 0;
  for (const Segment& segment : segments) total += segment.length;
  return total;
}

}  // namespace hawser::fabric
