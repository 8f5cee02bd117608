// Communicator: a group of processes and a context id of their own (MPI-5.0 chapter 7). Knows no
// messages: making communicators and talking over them is the business of collective/ and message/.
//
// A communicator uses several context ids:
//   context()     point-to-point messages
//   context() + 1 collective operations
//   context() + 2 construction of communicators by MPI_Comm_create_group
//   context() + 3 the end of the communicator. MPI_COMM_WORLD never ends; it uses this one for
//                 MPI_Comm_create_from_group
//   context() + 4 matching of partitioned operations
//   context() + 5 their data
// The last id of MPI_COMM_WORLD is for the barrier at the end of the job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/counted.h"
#include "communicator/attribute.h"
#include "communicator/error_handler.h"
#include "communicator/group.h"
#include "communicator/info.h"
#include "communicator/session.h"

namespace hawser {

inline constexpr std::uint32_t contexts_per_communicator = 8;
inline constexpr std::uint32_t contexts_in_use = 6;  // of these, by the communicator itself
inline constexpr std::uint32_t end_context = 3;
inline constexpr std::uint32_t pairing_context = 4;
inline constexpr std::uint32_t partition_context = 5;

class LaneMember;

// State that collective/ keeps with a communicator (sequence numbers, shared memory). It is destroyed with
// the communicator, which starts the release of the context id.
class CollectiveState {
 public:
  virtual ~CollectiveState() = default;
  // The program frees the communicator, and begins nothing collective there any more. What it began before,
  // messages included, may keep the communicator alive for longer.
  virtual void freed() = 0;
};

class Communicator final : public Counted {
 public:
  // What the user can change.
  std::string name;
  Ref<ErrorHandler> error_handler;  // never null once the program has the communicator
  Ref<Info> hints;                  // null: none
  Ref<Session> session;             // the session it was made from; null: the world model
  AttributeSet attributes;
  Ref<Counted> topology;  // Cartesian, graph or distributed graph; null: none
  std::unique_ptr<CollectiveState> collective;
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only
  // How many failures of the job the program has acknowledged here (MPIX_Comm_failure_ack): the first ones
  // that this process learned of.
  std::size_t failures_acknowledged = 0;

  // An intracommunicator; `rank` is the caller's.
  Communicator(Ref<Group> group, int rank, std::uint32_t context);
  // An intercommunicator; `local` is an intracommunicator over the local group, for its collectives.
  Communicator(Ref<Group> group, Ref<Group> remote, int rank, std::uint32_t context, Ref<Communicator> local);
  // The same without a context id, which is not known yet (MPI_Comm_idup); set_context sets it.
  Communicator(Ref<Group> group, int rank);
  Communicator(Ref<Group> group, Ref<Group> remote, int rank, Ref<Communicator> local);
  ~Communicator() override;

  int rank() const { return rank_; }
  int size() const { return size_; }  // of the local group
  std::uint32_t context() const { return context_; }
  std::uint32_t collective_context() const { return context_ + 1; }
  bool inter() const { return remote_.get() != nullptr; }
  // The number of ranks that can be sent to: of the remote group in an intercommunicator.
  int peer_count() const { return peers_->size(); }
  // Whether the rank is one of these and the communicator is not revoked: one comparison for both.
  bool may_send_to(int rank) const {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(reachable_peers_);
  }
  // The same, and it is on no lane for threads: one comparison for all.
  bool may_send_at_once_to(int rank) const {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(peers_at_once_);
  }
  // Its place on a lane, whose messages are used for those of context(); null: the process's own are.
  const Ref<LaneMember>& lane_member() const { return lane_member_; }
  void put_on_lane(Ref<LaneMember> place);
  // Whether it is one of these, and the communicator is revoked: what is begun then ends in error.
  [[gnu::cold]] bool was_peer(int rank) const { return revoked_ && rank >= 0 && rank < peer_count(); }
  // The process of a rank that can be sent to; 0 <= rank < peer_count().
  ProcessIndex process_of(int rank) const { return peers_->process_of(rank); }
  const Ref<Group>& group() const { return group_; }
  const Ref<Group>& remote_group() const { return remote_; }
  const Ref<Communicator>& local() const { return local_; }

  // comparison::identical, congruent, similar or unequal.
  int compare(const Communicator& other) const;

  // Once, for a communicator made without a context.
  void set_context(std::uint32_t context);
  bool usable() const { return usable_; }
  // Made without one, and so given to the program before all know it.
  bool was_early() const { return early_; }

  // Some process called MPIX_Comm_revoke: from now on nothing but agreeing and shrinking is done here.
  void revoke() {
    revoked_ = true;
    reachable_peers_ = peers_at_once_ = 0;
  }
  bool revoked() const { return revoked_; }

 private:
  int rank_;
  int size_;
  std::uint32_t context_ = 0;
  bool usable_ = true;
  bool early_ = false;
  bool revoked_ = false;
  int reachable_peers_;
  int peers_at_once_ = reachable_peers_;
  const Group* peers_;
  Ref<Group> group_;
  Ref<Group> remote_;
  Ref<Communicator> local_;
  Ref<LaneMember> lane_member_;
};

}  // namespace hawser
