// The bootstrap of a process that no launcher started: a job of one.
#pragma once

#include <map>
#include <string>

#include "launch/bootstrap.h"

namespace hawser {

class SingletonBootstrap final : public Bootstrap {
 public:
  explicit SingletonBootstrap(std::string job_id);

  const char* name() const override { return "singleton"; }
  const JobLayout& layout() const override { return layout_; }
  Result<> put(std::string_view key, std::string_view value) override;
  Result<> fence() override { return {}; }
  Result<std::string> get(int rank, std::string_view key) override;
  void abort(int, std::string_view) override {}
  Result<> finalize() override { return {}; }

 private:
  JobLayout layout_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace hawser
