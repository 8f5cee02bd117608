// Communicator: a group of processes and a context id of their own (MPI-5.0 chapter 7). Knows no
// messages: making communicators and talking over them is the business of collective/ and message/.
//
// Context ids: `context()` separates point-to-point messages, context()+1 collective operations,
// context()+2 the construction of communicators by MPI_Comm_create_group, +3 the communicator's own end (of
// MPI_COMM_WORLD, which has none, MPI_Comm_create_from_group), +4 the pairing of partitioned operations, and
// +5 their data. The last one of MPI_COMM_WORLD is that of the barrier when the job ends.
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
inline constexpr std::uint32_t pairing_context = 4;
inline constexpr std::uint32_t partition_context = 5;

// What collective/ keeps with a communicator (sequence numbers, shared memory); it dies with it, and
// thereby begins to give the context id back.
class CollectiveState {
 public:
  virtual ~CollectiveState() = default;
};

class Communicator final : public Counted {
 public:
  // The parts that the standard leaves to the user to change.
  std::string name;
  Ref<ErrorHandler> error_handler;  // never null once a communicator is in the program's hands
  Ref<Info> hints;                  // null: none
  Ref<Session> session;             // whose process sets it comes from; null: of the world model
  AttributeSet attributes;
  Ref<Counted> topology;  // Cartesian, graph or distributed graph; null: none
  std::unique_ptr<CollectiveState> collective;
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only

  // An intracommunicator; `rank` is the caller's.
  Communicator(Ref<Group> group, int rank, std::uint32_t context);
  // An intercommunicator; `local` is an intracommunicator over the local group, for its collectives.
  Communicator(Ref<Group> group, Ref<Group> remote, int rank, std::uint32_t context, Ref<Communicator> local);
  // Either whose context id is still being agreed upon (MPI_Comm_idup); set_context completes it.
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
  // The process behind a rank that can be sent to; 0 <= rank < peer_count().
  ProcessIndex process_of(int rank) const { return peers_->process_of(rank); }
  const Ref<Group>& group() const { return group_; }
  const Ref<Group>& remote_group() const { return remote_; }
  const Ref<Communicator>& local() const { return local_; }

  // comparison::identical, congruent, similar or unequal.
  int compare(const Communicator& other) const;

  // Once, for a communicator made without a context.
  void set_context(std::uint32_t context);
  bool usable() const { return usable_; }

 private:
  int rank_;
  int size_;
  std::uint32_t context_ = 0;
  bool usable_ = true;
  const Group* peers_;
  Ref<Group> group_;
  Ref<Group> remote_;
  Ref<Communicator> local_;
};

}  // namespace hawser
