// Bootstrap: what a process learns from its launcher, and the exchange of small values with the other
// processes before any channel exists. Implementations: PMI-1, PMIx, singleton, the simulator's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

struct JobLayout {
  int rank = 0;
  int size = 1;
  int universe_size = 0;  // 0: unknown
  int app_number = -1;    // -1: unknown (MPI_APPNUM)
  std::string job_id;     // the same in all processes of the job, and unlike other jobs of this user
  std::vector<std::int32_t> node_of_rank;  // size entries, nodes numbered from 0; equal = may share memory
  // Given by our own mpiexec only: an inherited file descriptor of this node's shared-memory segment, and
  // its key exchange being unnecessary for one node. -1 otherwise.
  int node_segment_fd = -1;
  int machine_processes = 0;  // of the job on this machine, on all its virtual nodes; 0: unknown
  int machine_cores = 0;      // that its processes on this machine may use together; 0: unknown
  bool own_cores = false;     // it bound this process to cores that no other process of the job is bound to
  std::string host_name;      // of the (virtual) host, if the launcher told; empty: ask the machine
};

// A process of the job that has failed, says the launcher.
struct LostRank {
  int rank = 0;
  std::string why;
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual const char* name() const = 0;  // "mpiexec", "pmi-1", "pmix", "singleton", "simulator"
  virtual const JobLayout& layout() const = 0;

  // Makes `value` visible to all processes after the next fence. Values may be of any length and hold
  // any bytes (implementations split and encode). Keys: at most 40 characters of [a-z0-9_-]; a process
  // puts each key once (Hydra refuses a second time).
  virtual Result<> put(std::string_view key, std::string_view value) = 0;
  virtual Result<> fence() = 0;  // collective over the job
  // Comes to a fence without waiting for it, if the launcher can: false if it cannot. Then: whether all came.
  virtual bool enter_fence() { return false; }
  virtual bool fence_is_over() { return false; }
  // The value that process `rank` put under `key` before the last fence.
  virtual Result<std::string> get(int rank, std::string_view key) = 0;
  // As in AddressExchange (channel/exchange.h). Not while another thread waits in a fence.
  virtual void tell_address(std::string_view) {}
  virtual void ask_address(int) {}
  virtual std::vector<std::pair<std::int32_t, std::string>> take_addresses() { return {}; }
  // Another thread waits in a fence: nobody else may talk to the launcher.
  bool busy() const { return busy_; }
  void set_busy(bool busy) { busy_ = busy; }

  // Tells the launcher to end the whole job with this exit code. The caller exits afterwards.
  virtual void abort(int exit_code, std::string_view reason) = 0;
  // True if the launcher shows abort's reason to the user, so that the caller need not.
  virtual bool shows_reason() const { return false; }
  virtual Result<> finalize() = 0;

  // Whether the launcher goes on with the others when a process fails, tells them, and leaves it out of
  // fences. If so:
  virtual bool survives() const { return false; }
  // Who has failed since the last call. Does not wait.
  virtual std::vector<LostRank> take_lost() { return {}; }
  // A process cannot be reached. The launcher ends it, so that it has failed for everyone.
  virtual void report_lost(int, std::string_view) {}
  // To know who is cut off, it asks whether these processes answer; and who answered. Does not wait.
  virtual std::vector<int> take_questions() { return {}; }
  virtual void report_reached(int) {}
  // Readable when there is something to be taken; -1: there is none.
  virtual int lost_descriptor() const { return -1; }
  // In a forked child: closes its copy of the connection to the launcher, and says nothing there.
  virtual void forget() {}

 private:
  bool busy_ = false;
};

}  // namespace hawser
