#include "message/transfer.h"

namespace hawser {

void copy_between(const ByteSequence& to, const ByteSequence& from) {
  const std::int64_t n = std::min(to.size, from.size);
  if (n == 0) return;
  if (from.contiguous()) {
    copy_into(to, from.data, n);
  } else if (to.contiguous()) {
    from.packer->pack(0, to.data, n);
  } else {
    constexpr std::int64_t piece_bytes = 8192;
    std::byte piece[piece_bytes];
    for (std::int64_t offset = 0; offset < n; offset += piece_bytes) {
      const std::int64_t m = std::min(piece_bytes, n - offset);
      from.packer->pack(offset, piece, m);
      to.packer->unpack(offset, piece, m);
    }
  }
}

}  // namespace hawser
