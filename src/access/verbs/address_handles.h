// AddressHandles: the address handles of a datagram queue pair, one for each destination. On Ethernet the
// kernel asks the destination for its Ethernet address before it makes one, and waits up to a second for the
// answer. So threads ask for them, some at a time, and end when there is nothing to ask; who sends meanwhile
// is told to try again. A destination that did not answer is asked again after a pause that doubles.
//
// Where nobody may wait (an adapter in this process: VerbsFunctions::may_wait) handles are made in the call.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "access/verbs/verbs_device.h"

namespace hawser::rdma {

class AddressHandles {
 public:
  AddressHandles(VerbsDevice& device, std::uint8_t port);
  ~AddressHandles();  // waits for the threads: for a second at most, if a destination does not answer
  AddressHandles(const AddressHandles&) = delete;
  AddressHandles& operator=(const AddressHandles&) = delete;

  // Null: there is none yet, or the destination did not answer lately.
  ibv_ah* find(const PortAddress& to, std::uint8_t service_level);
  // Whether the destination answered lately, so that the kernel knows its Ethernet address and a call that
  // connects to it does not wait; else it is asked.
  bool answers(const PortAddress& to);

  // The own address changed: all are made anew, as soon as nothing posted uses them.
  void forget() { stale_ = true; }
  // Before a request is posted. False: handles must go first that others `in_use` may still need.
  bool tidy(bool in_use);

 private:
  using Clock = std::chrono::steady_clock;
  // What a handle is made of; service level 0 on Ethernet.
  struct Key {
    std::array<std::byte, sizeof(PortAddress)> port;
    std::uint8_t service_level;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const PortAddress& to, std::uint8_t service_level);
  struct Entry {
    ibv_ah* handle = nullptr;
    bool asked = false;
    std::uint32_t failures = 0;    // since it answered last
    Clock::time_point answered{};  // last
    Clock::time_point due{};       // after failures: when it may be asked again
  };
  struct Asked;  // what the threads have
  static void work(const std::shared_ptr<Asked>& asked);

  bool in_background() const;
  void ask(const Key& key, const PortAddress& to, Entry& entry);
  void take_answers();
  void note(Entry& entry, ibv_ah* made);
  void drop();

  VerbsDevice& device_;
  std::uint8_t port_;
  std::map<Key, Entry> entries_;
  std::vector<ibv_ah*> replaced_;  // by newer ones; requests under way may use them
  std::shared_ptr<Asked> asked_;
  std::uint32_t generation_ = 0;  // counts the own address's changes
  bool stale_ = false;
};

}  // namespace hawser::rdma
