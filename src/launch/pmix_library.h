// The PMIx library, loaded at run time: so Hawser has no link dependency on it, and processes that were not
// started under PMIx do not pay for it. Only what the bootstrap needs, as plain C++.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hawser {

class PmixLibrary {
 public:
  static Result<std::unique_ptr<PmixLibrary>> load();

  // Answers the status of PMIx_Init, of which PMIX_ERR_UNREACH means that there is no server.
  pmix_status_t initialize();
  Result<> finalize();
  const pmix_proc_t& self() const { return self_; }

  // A value of any integral type: servers differ in the types they use.
  std::optional<std::int64_t> get_number(std::uint32_t rank, const char* key);
  std::optional<std::string> get_text(std::uint32_t rank, const char* key);
  Result<std::string> get_bytes(std::uint32_t rank, const std::string& key);
  Result<> put_bytes(const std::string& key, std::string_view value);
  Result<> commit();
  Result<> fence(bool collect_data);
  void abort(int exit_code, const std::string& reason);

  std::string describe(pmix_status_t status) const;

 private:
  PmixLibrary() = default;

  // A PMIx call's result for `rank`; empty if there is none.
  struct ValueDeleter {
    void operator()(pmix_value_t* value) const;
  };
  using Value = std::unique_ptr<pmix_value_t, ValueDeleter>;
  pmix_status_t get(std::uint32_t rank, const char* key, Value& value);
  Result<> check(const char* function, pmix_status_t status) const;

  pmix_proc_t self_{};
  decltype(&PMIx_Init) init_ = nullptr;
  decltype(&PMIx_Finalize) finalize_ = nullptr;
  decltype(&PMIx_Get) get_ = nullptr;
  decltype(&PMIx_Put) put_ = nullptr;
  decltype(&PMIx_Commit) commit_ = nullptr;
  decltype(&PMIx_Fence) fence_ = nullptr;
  decltype(&PMIx_Abort) abort_ = nullptr;
  decltype(&PMIx_Error_string) error_string_ = nullptr;
};

}  // namespace hawser
