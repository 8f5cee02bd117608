// Info: an ordered list of (key, value) strings (MPI-5.0 chapter 10). Keys keep the order of their
// first setting, so that MPI_Info_get_nthkey is stable. Blanks count; Fortran strips them before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/result.h"

namespace hawser {

inline constexpr int max_info_key = 255;     // characters; both ABIs allow as many
inline constexpr int max_info_value = 1024;  // characters

class Info final : public Counted {
 public:
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only

  Result<> set(std::string_view key, std::string_view value);
  Result<> remove(std::string_view key);
  // Valid until the next change; null when there is no such key.
  const std::string* find(std::string_view key) const;
  int size() const { return static_cast<int>(entries_.size()); }
  Result<std::string_view> key_at(int n) const;
  Ref<Info> duplicate() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace hawser
