// Members: what a process knows of the memory of each member of a window: 32 bytes a member, or once for all
// where they are alike and none is mapped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "window/window_control.h"

namespace hawser {

class Members {
 public:
  struct Member {
    std::byte* mapped = nullptr;       // where it is for this process; null: cannot be read and written here
    WindowControl* control = nullptr;  // null: not shared between processes
    std::int64_t size = 0;
    std::int64_t unit = 1;
    friend bool operator==(const Member&, const Member&) = default;
  };

  Members() = default;
  explicit Members(std::vector<Member> members) : members_(std::move(members)) {
    for (const Member& member : members_) {
      if (member.control != nullptr) ++shared_;
      mask_ |= member == members_.front() ? 0 : ~std::size_t{0};
    }
    if (mask_ != 0) return;
    members_.resize(1);
    members_.shrink_to_fit();
  }

  const Member& at(int rank) const { return members_[static_cast<std::size_t>(rank) & mask_]; }
  // How many of them share their memory with this process, itself included.
  int shared() const { return shared_; }

 private:
  std::vector<Member> members_;
  std::size_t mask_ = 0;  // 0: one for all
  int shared_ = 0;
};

}  // namespace hawser
