// The XRC domains of one adapter. Processes share a domain by opening the same file; one opened without a
// file is its opener's alone. A domain lasts as long as somebody has it open.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "fabric/adapter/objects.h"

namespace hawser::fabric {

class XrcDomains {
 public:
  struct File {
    std::uint64_t device = 0, inode = 0;
    auto operator<=>(const File&) const = default;
  };

  // `create`: a new domain where the file has none (else ENOENT). `exclusive`: EINVAL where it has one.
  Outcome open(const std::optional<File>& file, bool create, bool exclusive, std::uint32_t* number);
  void close(std::uint32_t number);
  std::size_t size() const { return domains_.size(); }

 private:
  struct Domain {
    std::optional<File> file;
    std::uint32_t openers = 0;
  };
  std::map<std::uint32_t, Domain> domains_;
  std::map<File, std::uint32_t> by_file_;
  std::uint32_t next_ = 1;
};

}  // namespace hawser::fabric
