// The bootstrap of a process whose launcher speaks PMI-1: Hydra, Slurm's pmi2 plugin, and others.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "launch/bootstrap.h"
#include "launch/pmi_connection.h"

namespace hawser {

class PmiBootstrap final : public Bootstrap {
 public:
  // `environment` holds PMI_FD, PMI_RANK and PMI_SIZE, or PMI_PORT and PMI_ID.
  static Result<std::unique_ptr<Bootstrap>> connect(std::span<const std::string_view> environment);

  const char* name() const override { return "pmi-1"; }
  const JobLayout& layout() const override { return layout_; }
  Result<> put(std::string_view key, std::string_view value) override;
  Result<> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  void abort(int exit_code, std::string_view reason) override;
  Result<> finalize() override;
  void forget() override { connection_.forget(); }

 private:
  PmiBootstrap(int fd, int rank, int size);

  Result<> receive_identity(std::string_view id);
  Result<> initialize();
  Result<> set_part_limit(const PmiMessage& maxes);
  // Sends a line and waits for the answer with this command and (unless absent) rc=0.
  Result<PmiMessage> request(std::string_view line, std::string_view answer);
  Result<std::string> get_text(std::string_view key);

  JobLayout layout_;
  PmiConnection connection_;
  std::size_t part_limit_ = 0;
};

}  // namespace hawser
