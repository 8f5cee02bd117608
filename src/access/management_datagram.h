// The datagrams of an InfiniBand subnet's administrator (architecture 13.4.2 and 15.2.1.1): a header, a mask
// that says which fields of the record are given, and from byte 56 on a record, whose layout is the
// attribute's (path_record.h, multicast_record.h). All numbers are big-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser::rdma {

// Of the administrator. The kernel may refuse queue pairs with this Q_Key to ordinary users.
inline constexpr std::uint32_t management_queue_pair = 1, management_key = 0x80010000;

using ManagementDatagram = std::array<std::byte, 256>;

namespace mad {

struct Field {
  std::size_t at, size;
};
inline constexpr Field version{0, 1}, management_class{1, 1}, class_version{2, 1}, method{3, 1}, status{4, 2},
    transaction{8, 8}, attribute{16, 2}, component_mask{48, 8};
inline constexpr std::size_t record = 56;
inline constexpr std::uint64_t administration = 3, administration_version = 2;
inline constexpr std::uint64_t get = 0x01, set = 0x02, get_response = 0x81, remove = 0x15;

inline void put(ManagementDatagram& bytes, Field field, std::uint64_t value) {
  for (std::size_t i = field.size; i-- > 0; value >>= 8) bytes[field.at + i] = static_cast<std::byte>(value);
}

inline std::uint64_t take(std::span<const std::byte> bytes, Field field) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes.subspan(field.at, field.size))
    value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

// A question; the record is still empty.
inline ManagementDatagram question(std::uint64_t what, std::uint64_t about, std::uint64_t number,
                                   std::uint64_t components) {
  ManagementDatagram bytes = {};
  put(bytes, version, 1);
  put(bytes, management_class, administration);
  put(bytes, class_version, administration_version);
  put(bytes, method, what);
  put(bytes, transaction, number);
  put(bytes, attribute, about);
  put(bytes, component_mask, components);
  return bytes;
}

// Whether these are the administrator's answer with such a record.
inline bool is_answer(std::span<const std::byte> bytes, std::uint64_t about) {
  return bytes.size() == sizeof(ManagementDatagram) && take(bytes, version) == 1 &&
         take(bytes, management_class) == administration &&
         take(bytes, class_version) == administration_version && take(bytes, method) == get_response &&
         take(bytes, attribute) == about;
}

}  // namespace mad
}  // namespace hawser::rdma
