// Members: what a process knows of the memory of each member of a window: 24 bytes a member, or once for all
// where they are alike and none is mapped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hawser {

class Members {
 public:
  struct Member {
    std::byte* mapped = nullptr;  // where it is for this process; null: cannot be reached by loads and stores
    std::int64_t size = 0;
    std::int64_t unit = 1;
    friend bool operator==(const Member&, const Member&) = default;
  };

  Members() = default;
  explicit Members(std::vector<Member> members) : members_(std::move(members)) {
    for (const Member& member : members_)
      if (!(member == members_.front())) return;
    members_.resize(1);
    members_.shrink_to_fit();
    mask_ = 0;
  }

  const Member& at(int rank) const { return members_[static_cast<std::size_t>(rank) & mask_]; }

 private:
  std::vector<Member> members_;
  std::size_t mask_ = ~std::size_t{0};  // 0: one for all
};

}  // namespace hawser
