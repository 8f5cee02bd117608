// A program that calls a virtual adapter with anything, and writes anything into the rings that it shares
// with it, for tests and fuzz targets: what it does is drawn by `Choices`, which is Random or made like it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "provider/local_link.h"

namespace hawser::verbs {

using fabric::DmaResult;
using fabric::Piece;

// The only memory there is: whatever else an address names is not there.
class Arena final : public fabric::LocalDmaPort {
 public:
  DmaResult copy(fabric::SpaceId to, std::span<const Piece> destination, fabric::SpaceId from,
                 std::span<const Piece> source) override {
    if (!within(source)) return DmaResult::lost;
    if (!within(destination)) return DmaResult::destination_gone;
    return LocalDmaPort::copy(to, destination, from, source);
  }
  bool read(fabric::SpaceId from, std::span<const Piece> source, std::byte* out) override {
    return within(source) && LocalDmaPort::read(from, source, out);
  }
  DmaResult write(fabric::SpaceId to, std::span<const Piece> destination, const std::byte* in) override {
    return within(destination) ? LocalDmaPort::write(to, destination, in) : DmaResult::destination_gone;
  }
  std::uint64_t start() const { return reinterpret_cast<std::uintptr_t>(memory_.data()); }
  std::uint64_t size() const { return memory_.size(); }

 private:
  bool within(std::span<const Piece> pieces) const {
    for (const Piece& piece : pieces) {
      if (piece.address < start() || piece.length > size() || piece.address - start() > size() - piece.length)
        return false;
    }
    return true;
  }
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
};

// A client without any sense. What it was given it remembers, and asks for again, or for something else.
template <class Choices>
class WildClient {
 public:
  WildClient(fabric::Fabric& fabric, const char* adapter, Arena& arena, Choices& random)
      : link_(fabric, *fabric.adapter(adapter), 1, nullptr, true),
        arena_(arena),
        random_(random),
        lid_(fabric.adapter(adapter)->port(1).lid()) {}

  void act(WildClient& other) {
    const double kind = random_.uniform();
    if (kind < 0.01) {
      join(other);
    } else if (kind < 0.3) {
      call();
    } else if (kind < 0.97) {
      post(other);
    } else {
      scribble();
    }
  }

 private:
  struct Ring {
    std::uint32_t queue_pair;
    SharedBytes memory;
    fabric::QpCapabilities capabilities;
  };
  static constexpr fabric::QpType types[] = {fabric::QpType::rc, fabric::QpType::uc, fabric::QpType::ud,
                                             fabric::QpType::xrc_send, fabric::QpType::xrc_recv};

  std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
  std::uint32_t any_number() {
    return numbers_.empty() || random_.chance(0.1) ? below(40) : numbers_[below(numbers_.size())];
  }
  std::uint32_t any_key() {
    return keys_.empty() || random_.chance(0.02) ? any_number() : keys_[below(keys_.size())];
  }
  std::uint64_t any_address() {
    return random_.chance(0.02) ? random_.next() : arena_.start() + random_.below(arena_.size() - 2900);
  }
  fabric::AddressVector any_path() {
    fabric::AddressVector path;
    path.destination_lid = static_cast<fabric::Lid>(below(6));
    path.port = static_cast<std::uint8_t>(below(10) == 0 ? below(256) : 1);
    path.is_global = random_.chance(0.1);
    path.source_gid_index = static_cast<std::uint8_t>(below(random_.chance(0.1) ? 256 : 1));
    path.service_level = static_cast<std::uint8_t>(below(random_.chance(0.1) ? 256 : 16));
    path.source_path_bits = static_cast<std::uint8_t>(below(random_.chance(0.1) ? 256 : 1));
    return path;
  }
  fabric::QpAttributes any_attributes() {
    fabric::QpAttributes a;
    a.state = static_cast<fabric::QpState>(below(8));
    a.current_state = static_cast<fabric::QpState>(below(8));
    a.path_mtu = 128u << below(7);
    a.migration_state = static_cast<fabric::MigrationState>(below(4));
    a.destination_qp = any_number();
    a.access_flags = below(16);
    a.path = any_path();
    a.alternate_path = any_path();
    a.pkey_index = static_cast<std::uint16_t>(below(3));
    a.rq_psn = a.sq_psn = random_.chance(0.1) ? static_cast<std::uint32_t>(random_.next()) : 5;
    a.max_rd_atomic = static_cast<std::uint8_t>(below(20));
    a.max_dest_rd_atomic = static_cast<std::uint8_t>(below(20));
    a.port = static_cast<std::uint8_t>(below(3));
    a.timeout = static_cast<std::uint8_t>(below(34));
    a.retry_count = static_cast<std::uint8_t>(below(9));
    a.rnr_retry = static_cast<std::uint8_t>(below(9));
    a.alternate_port = static_cast<std::uint8_t>(below(3));
    return a;
  }

  void call() {
    Request r;
    r.call = static_cast<Call>(below(static_cast<std::uint64_t>(Call::command) + 1));
    r.object = any_number();
    r.number = below(4);
    r.index = below(30);
    r.domain = any_number();
    r.send_queue = any_number();
    r.receive_queue = random_.chance(0.5) ? r.send_queue : any_number();
    r.shared_receive_queue = random_.chance(0.6) ? 0 : any_number();
    r.xrc_domain = random_.chance(0.6) ? 0 : any_number();
    r.capacity = below(random_.chance(0.05) ? 1u << 31 : 20);
    r.segments = below(random_.chance(0.05) ? 1u << 31 : 4);
    r.limit = below(20);
    r.access = below(256);
    r.address = any_address();
    r.length = random_.below(random_.chance(0.1) ? ~0ull : 10000);
    r.virtual_address = random_.chance(0.5) ? r.address : any_address();
    r.type = random_.chance(0.05) ? static_cast<fabric::QpType>(below(12)) : types[below(5)];
    r.mask = random_.chance(0.5) ? below(8) : static_cast<std::uint32_t>(random_.next());
    r.attributes = any_attributes();
    r.capabilities = {1 + below(8), 1 + below(8), below(4), below(4), below(100)};
    if (random_.chance(0.05)) r.capabilities.max_send_sge = static_cast<std::uint32_t>(random_.next());
    r.flags = below(8);
    r.lid = below(0x10000);
    // Enough memory for what it may be for, mostly.
    SharedBytes memory = link_.allocate(random_.chance(0.05) ? 64 : 1 << 16);
    const Reply reply = link_.call(r, &memory);
    if (reply.error != 0) return;
    if (reply.object != 0) numbers_.push_back(reply.object);
    if (r.call == Call::create_queue_pair) rings_.push_back({reply.object, memory, r.capabilities});
    if (reply.object != 0 && r.call != Call::create_queue_pair) others_.push_back(memory);
  }

  std::uint32_t make(Request r) {
    const SharedBytes memory = link_.allocate(1 << 18);
    const Reply reply = link_.call(r, &memory);
    EXPECT_EQ(reply.error, 0) << reply.why;
    numbers_.push_back(reply.object);
    if (r.call == Call::create_queue_pair) {
      rings_.push_back({reply.object, memory, r.capabilities});
    } else {
      others_.push_back(memory);
    }
    return reply.object;
  }
  // Everything for a queue pair, and one of a sensible type.
  std::uint32_t make_queue_pair(fabric::QpType type) {
    Request r;
    r.call = Call::create_domain;
    r.domain = make(r);
    r.call = Call::register_memory;
    r.address = r.virtual_address = arena_.start();
    r.length = arena_.size();
    r.access = fabric::access_local_write | fabric::access_remote_write | fabric::access_remote_read |
               fabric::access_remote_atomic;
    keys_.push_back(make(r));
    r.call = Call::create_completion_queue;
    r.capacity = 500;
    r.send_queue = r.receive_queue = make(r);
    r.call = Call::create_queue_pair;
    r.type = type;
    r.capabilities = {8, 8, 2, 2, 64};
    return make(r);
  }
  void to_rts(std::uint32_t pair, std::uint32_t peer, fabric::Lid lid, fabric::QpType type) {
    using namespace fabric;
    const bool rc = type == QpType::rc;
    Request r;
    r.call = Call::modify_queue_pair;
    r.object = pair;
    QpAttributes& a = r.attributes;
    a.port = 1;
    a.access_flags = access_remote_write | access_remote_read | access_remote_atomic;
    a.path.destination_lid = lid;
    a.path_mtu = 1024;
    a.destination_qp = peer;
    a.max_rd_atomic = a.max_dest_rd_atomic = 4;
    a.timeout = 8;
    a.retry_count = a.rnr_retry = 3;
    a.state = QpState::init;
    r.mask = mask_state | mask_pkey_index | mask_port | mask_access_flags;
    EXPECT_EQ(link_.call(r, nullptr).error, 0);
    a.state = QpState::rtr;
    r.mask = mask_state | mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn;
    if (rc) r.mask |= mask_max_dest_rd_atomic | mask_min_rnr_timer;
    EXPECT_EQ(link_.call(r, nullptr).error, 0);
    a.state = QpState::rts;
    r.mask = mask_state | mask_sq_psn;
    if (rc) r.mask |= mask_timeout | mask_retry_count | mask_rnr_retry | mask_max_rd_atomic;
    EXPECT_EQ(link_.call(r, nullptr).error, 0);
  }
  // A connection as it should be, so that there is something to spoil.
  void join(WildClient& other) {
    const fabric::QpType type = random_.chance(0.8) ? fabric::QpType::rc : fabric::QpType::uc;
    const std::uint32_t here = make_queue_pair(type), there = other.make_queue_pair(type);
    to_rts(here, there, other.lid_, type);
    other.to_rts(there, here, lid_, type);
  }

  void post(WildClient& other) {
    if (rings_.empty()) return;
    Ring& ring = rings_[below(rings_.size())];
    const QueuePairShape shape(ring.capabilities);
    auto& head = *reinterpret_cast<QueuePairHeader*>(ring.memory.bytes.get());
    std::byte* const memory = ring.memory.bytes.get();
    fabric::Segment segment{any_address(), below(3000), any_key()};
    if (random_.chance(0.5)) {
      std::byte* const at = shape.receives.slot(memory, head.receives.produced);
      const ReceiveSlot slot{random_.next(), std::min(ring.capabilities.max_recv_sge, below(5))};
      std::memcpy(at, &slot, sizeof slot);
      for (std::uint64_t i = 0; i < slot.segment_count; ++i)
        std::memcpy(at + sizeof slot + i * sizeof segment, &segment, sizeof segment);
      ++head.receives.produced;
    } else {
      SendSlot slot{};
      slot.id = random_.next();
      slot.opcode = below(random_.chance(0.02) ? 100 : 7);
      slot.flags = below(random_.chance(0.1) ? 64 : 8);
      slot.remote_address = any_address();
      slot.rkey = other.any_key();
      slot.remote_qp = other.any_number();
      slot.remote_srq = other.any_number();
      slot.window_key = any_number();
      slot.region_key = any_number();
      slot.invalidate_key = any_number();
      slot.window_length = below(2000);
      slot.path = any_path();
      slot.inline_length = below(ring.capabilities.max_inline_data + (random_.chance(0.02) ? 9 : 1));
      slot.segment_count = below(ring.capabilities.max_send_sge + (random_.chance(0.02) ? 9 : 1));
      std::byte* const at = shape.sends.slot(memory, head.sends.produced);
      std::memcpy(at, &slot, sizeof slot);
      for (std::uint32_t i = 0; i < std::min(slot.segment_count, ring.capabilities.max_send_sge); ++i)
        std::memcpy(at + sizeof slot + i * sizeof segment, &segment, sizeof segment);
      ++head.sends.produced;
    }
    link_.ring(random_.chance(0.95) ? ring.queue_pair : any_number());
  }

  // Over the indices as well as the slots.
  void scribble() {
    auto& from = random_.chance(0.5) || rings_.empty() ? others_ : others_of_pairs();
    if (from.empty()) return;
    const SharedBytes& memory = from[below(from.size())];
    const std::size_t at =
        random_.below(random_.chance(0.5) ? std::min<std::size_t>(memory.size, 512) : memory.size);
    for (std::size_t i = at; i < std::min(at + 16, memory.size); ++i)
      memory.bytes.get()[i] = static_cast<std::byte>(random_.next());
    if (!rings_.empty()) link_.ring(rings_[below(rings_.size())].queue_pair);
  }
  std::vector<SharedBytes>& others_of_pairs() {
    pair_memory_.clear();
    for (const Ring& ring : rings_) pair_memory_.push_back(ring.memory);
    return pair_memory_;
  }

  LocalLink link_;
  Arena& arena_;
  Choices& random_;
  const fabric::Lid lid_;
  std::vector<std::uint32_t> numbers_, keys_;
  std::vector<Ring> rings_;
  std::vector<SharedBytes> others_, pair_memory_;
};

}  // namespace hawser::verbs
