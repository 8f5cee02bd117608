// The bootstrap of a process started under PMIx: Open MPI's mpirun, PRRTE, Slurm's pmix plugin.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "launch/bootstrap.h"

namespace hawser {

class PmixLibrary;

class PmixBootstrap final : public Bootstrap {
 public:
  // Null if there is no server to be reached (a program run by hand in a shell that a launcher started).
  // Collective over the job: the processes tell each other on which node they are.
  static Result<std::unique_ptr<Bootstrap>> connect();
  ~PmixBootstrap() override;

  const char* name() const override { return "pmix"; }
  const JobLayout& layout() const override { return layout_; }
  Result<> put(std::string_view key, std::string_view value) override;
  Result<> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  void abort(int exit_code, std::string_view reason) override;
  Result<> finalize() override;

 private:
  explicit PmixBootstrap(std::unique_ptr<PmixLibrary> library);
  Result<> read_layout();
  Result<> exchange_nodes();

  std::unique_ptr<PmixLibrary> library_;
  JobLayout layout_;
  bool uncommitted_ = false;
};

// The lowest rank in PMIx's list of local peers, such as "0,1,4"; -1 if the list does not hold `rank`.
int lowest_peer(std::string_view peers, int rank);

}  // namespace hawser
