// The bootstrap of a rank started by our own mpiexec. What the rank must know stands in its environment, so
// that nothing is asked before the first fence; a fence sends all that was put and brings back all that
// the others put, in one round trip. The protocol is in doc/launch.md.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/bootstrap.h"
#include "launch/pmi_connection.h"

namespace hawser {

class MpiexecBootstrap final : public Bootstrap {
 public:
  // `environment` holds the variables of internal_variables.def and PMI_FD, PMI_RANK, PMI_SIZE.
  static Result<std::unique_ptr<Bootstrap>> connect(std::span<const std::string_view> environment);

  const char* name() const override { return "mpiexec"; }
  const JobLayout& layout() const override { return layout_; }
  Result<> put(std::string_view key, std::string_view value) override;
  Result<> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  void abort(int exit_code, std::string_view reason) override;
  bool shows_reason() const override { return true; }
  Result<> finalize() override;
  void forget() override { connection_.forget(); }
  bool survives() const override { return survives_; }
  std::vector<LostRank> take_lost() override;
  void report_lost(int rank, std::string_view why) override;
  std::vector<int> take_questions() override;
  void report_reached(int rank) override;
  void tell_address(std::string_view text) override;
  void ask_address(int rank) override;
  std::vector<std::pair<std::int32_t, std::string>> take_addresses() override;
  int lost_descriptor() const override { return survives_ ? connection_.descriptor() : -1; }

 private:
  MpiexecBootstrap(JobLayout layout, int fd, bool survives);
  Result<PmiMessage> receive_answer();
  static bool is_news(const PmiMessage& message);
  Result<> note_news(const PmiMessage& message);
  void receive_news();

  JobLayout layout_;
  PmiConnection connection_;
  std::string frame_;  // what was put since the last fence
  std::map<std::pair<int, std::string>, std::string> values_;
  // Set after a fence whose values were too many to hand to everyone: they are asked for one by one.
  bool ask_server_ = false;
  bool survives_;
  std::vector<LostRank> lost_;  // not taken yet
  std::vector<int> questions_;  // likewise
  std::vector<std::pair<std::int32_t, std::string>> addresses_;
};

}  // namespace hawser
