// The launcher's end of PMI-1, for any number of ranks: a state machine from bytes received to bytes to
// be sent, without sockets. Besides PMI-1 (programs of other MPIs) it speaks the few commands of
// MpiexecBootstrap, which need one round trip where PMI-1 needs many.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/pmi_wire.h"

namespace hawser {

struct PmiJob {
  std::string name;
  std::string process_mapping;
  int universe_size = 0;
  std::vector<int> app_number_of_rank;
};

class PmiServer {
 public:
  // Where a rank stands with MPI, as far as the launcher can tell.
  enum class Phase {
    absent,     // has not called MPI_Init
    active,     // between MPI_Init and MPI_Finalize
    finalized,  // has called MPI_Finalize (and may start again)
  };
  struct Abort {
    int rank = 0;
    int exit_code = 0;
    std::string reason;
    bool asked_for = true;  // by the rank; else found out here
  };

  // One rank cannot reach another.
  struct Unreached {
    int reporter = 0, accused = 0;
    std::string why;
  };

  explicit PmiServer(PmiJob job);

  // Takes nothing any more once the job is to be aborted.
  void receive(int rank, std::string_view bytes);
  // What is to be sent to the rank; empty if nothing.
  std::string take_output(int rank);
  // Ranks that have output, in no order; cleared by the call.
  std::vector<int> take_ranks_with_output() { return std::exchange(with_output_, {}); }

  // The rank has failed: the others are told, and fences go on without it.
  void lose(int rank, std::string_view why);
  // Whether all ranks have joined: the job has begun as a whole.
  bool started() const { return joined_ == ranks_.size(); }
  // What ranks said of others that they cannot reach; cleared by the call.
  std::vector<Unreached> take_unreached() { return std::exchange(unreached_, {}); }
  // Asks a rank whether another answers it. And who had an answer of whom; cleared by the call.
  void ask_whether_reached(int rank, int about);
  std::vector<std::pair<int, int>> take_reached() { return std::exchange(reached_, {}); }

  Phase phase(int rank) const { return at(rank).phase; }
  bool any_active() const { return active_ > 0; }
  const std::optional<Abort>& abort() const { return abort_; }

 private:
  struct Rank {
    PmiStream stream;
    std::string output;
    Phase phase = Phase::absent;
    enum class Waiting { no, barrier, fence } waiting = Waiting::no;
    // A command whose bytes have not all come yet, with their number; and whether a spawn is being read.
    std::string held_line;
    std::string library;  // the MPI that it joined with last
    bool in_spawn = false;
    std::string address;  // what it told last
    bool joined = false;
    bool lost = false;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void send(int rank, std::string_view text);
  void set_phase(int rank, Phase phase);
  // The rank joins, with this MPI library: all ranks must, or they would wait for each other for ever.
  void join(int rank, std::string library);
  // False if more bytes are needed first.
  bool step(int rank, std::string_view line);
  void answer(int rank, const PmiMessage& message);
  void answer_names(int rank, const PmiMessage& message);
  void put(int rank, const PmiMessage& message);
  void get(int rank, const PmiMessage& message);
  void lazy_get(int rank, const PmiMessage& message);
  void enter(int rank, Rank::Waiting how);
  void release_if_all();
  void release();
  // The rank that a message is about; none if it is rejected.
  std::optional<int> named_rank(int rank, const PmiMessage& message);
  // Ends the job: the rank sent what can mean nothing. `reason` goes behind the rank's name.
  void reject(int rank, std::string reason);
  // The number of bytes that follow a command's line; none if it is rejected.
  std::optional<std::size_t> length_of(int rank, const PmiMessage& message);
  void fence(int rank, std::string_view frame);
  void tell_where(int rank, const PmiMessage& message);

  PmiJob job_;
  int witness_ = -1;  // a rank that joined, whose library the others' is compared with
  std::vector<Rank> ranks_;
  std::vector<int> with_output_;
  int active_ = 0;
  std::size_t waiting_ = 0;
  std::size_t lost_ = 0;
  std::size_t joined_ = 0;
  std::vector<Unreached> unreached_;
  std::vector<std::pair<int, int>> reached_;
  std::optional<Abort> abort_;
  std::map<std::string, std::string, std::less<>> values_;  // PMI-1's key-value space
  std::map<std::string, std::string, std::less<>> names_;   // published names
  std::string frames_;                                      // put by fences since the last release
  std::string old_frames_;                                  // of all releases before
  std::map<std::pair<int, std::string>, std::string> lazy_values_;
};

// The ranks of a job ask for values one by one if a fence brings more bytes than this.
inline constexpr std::size_t eager_fence_bytes = 256 * 1024;
// What a rank may send at a time: one who goes beyond writes something else than PMI, and ends the job.
inline constexpr std::size_t longest_pmi_line = 64 * 1024;
inline constexpr std::size_t longest_pmi_frame = 64 * 1024 * 1024;

}  // namespace hawser
