// MulticastRails: multicast groups on this process's rails (channel/multicast.h). Each rail that is asked for
// has one more datagram queue pair, which is attached to all groups of the process, so that what other
// processes send does not take the receives of the handshake's.
//
// On InfiniBand the subnet's administrator is asked to let the port join, again and again with longer pauses
// if it does not answer or refuses: nobody waits for it, and until it does, joined() is without that rail. On
// Ethernet there is nobody to ask, and an adapter or network without multicast is one that never joins.
//
// A packet begins with a check that only processes of the job can make; with HAWSER_CHECKSUM it covers the
// payload, too.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "access/multicast_record.h"
#include "channel/multicast.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/timer_list.h"

namespace hawser {

class MulticastRails final : public Multicast {
 public:
  MulticastRails(RailContext& context, const RailResources& resources, TimerList& timers);

  // The job's secret is known.
  void start(const std::array<std::uint64_t, 2>& secret) { secret_ = secret; }

  void set_multicast_handler(MulticastHandler* handler) override { handler_ = handler; }
  std::int32_t payload_bytes() const override;
  void join(const MulticastKey& key, Member member) override;
  void stop_receiving(const MulticastKey& key) override;
  std::uint32_t joined(const MulticastKey& key) const override;
  void leave(const MulticastKey& key) override;
  bool send(const MulticastKey& key, int rail, std::span<const std::byte> header,
            std::span<const std::byte> payload) override;
  void set_due(Nanoseconds due) override;

  // Whether receive() has queue pairs to look at.
  bool active() const { return any_pair_; }
  // Takes packets and answers; true if there were any.
  bool receive();
  // Asks and asks again.
  void progress();
  Nanoseconds deadline() const { return due_; }
  Nanoseconds user_due() const { return user_due_; }
  // The subnet manager may have forgotten, or changed, what it knew of this port.
  void ask_anew(const Rail& rail);
  void on_device_gone(const Rail& rail);

 private:
  struct Membership {
    enum class State : std::uint8_t { wanted, asked, joined };
    State state = State::wanted;
    std::uint32_t attempts = 0;  // that brought nothing
    std::uint64_t transaction = 0;
    Nanoseconds due = 0;  // wanted, asked: to be asked (again)
    rdma::MulticastGroup group;
    bool attached = false;
  };
  struct Group {
    Member member = Member::sends_only;
    std::array<Membership, max_rails> on;
  };
  static constexpr std::size_t most_groups = 256;

  rdma::DatagramQueuePair* pair_of(const Rail& rail);
  rdma::DatagramQueuePair* administrator(const Rail& rail);
  rdma::Gid gid_of(const MulticastKey& key, const Rail& rail) const;
  void ask(const MulticastKey& key, Group& group, const Rail& rail);
  bool ask_administrator(const MulticastKey& key, Membership& at, const Rail& rail, bool leaves);
  void become_member(Group& group, const Rail& rail, const rdma::MulticastGroup& granted);
  void restart_if_stuck(int number);
  void take_answer(Rail& rail, std::span<const std::byte> bytes);
  bool take_packet(std::span<const std::byte> bytes);
  std::uint64_t check(std::span<const std::byte> header, std::span<const std::byte> payload) const;

  RailContext& context_;
  const RailResources& resources_;
  TimerList& timers_;
  MulticastHandler* handler_ = nullptr;
  std::optional<std::array<std::uint64_t, 2>> secret_;
  std::map<MulticastKey, Group> groups_;
  std::array<std::unique_ptr<rdma::DatagramQueuePair>, max_rails> pairs_;
  std::array<std::unique_ptr<rdma::DatagramQueuePair>, max_rails> administrators_;
  bool any_pair_ = false;                             // of either kind was made
  std::array<Nanoseconds, max_rails> no_room_since_;  // -1: there was, last
  std::uint64_t transactions_ = 0;
  Nanoseconds due_ = never, user_due_ = never;
};

}  // namespace hawser
