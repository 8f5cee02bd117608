#include "access/rdma.h"

#include <algorithm>

#include "base/assert.h"
#include "base/enum_names.h"
#include "base/failure.h"

namespace hawser::rdma {
namespace {

Error no_migration() {
  return failure(ErrorKind::unsupported, "this device has no automatic path migration");
}

}  // namespace

int common_kind(const PortAddress& one, const PortAddress& other) {
  for (int kind = 0; kind < gid_kinds; ++kind)
    if (((one.kinds & other.kinds) >> kind & 1) != 0) return kind;
  return -1;
}

// What came over the wire may be nonsense.
std::int64_t longest_message(const PortAddress& one, const PortAddress& other) {
  const int smaller = std::min(one.longest_message, other.longest_message);
  return std::int64_t{1} << std::clamp(smaller, 12, 31);
}

LocalEnd local_end(const PortAttributes& own, int kind) {
  const bool ethernet = own.address.link_layer == LinkLayer::ethernet;
  LocalEnd end{own.address.gids[0], own.address.lid, own.address.lmc, 0, static_cast<std::int8_t>(kind)};
  if (!ethernet || kind < 0) return end;
  const bool has = (own.address.kinds >> kind & 1) != 0;
  end.gid = has ? own.address.gids[static_cast<std::size_t>(form_of(kind))] : Gid{};
  end.gid_index = own.gid_indices[static_cast<std::size_t>(kind)];
  return end;
}

const char* status_name(Status status) {
  static constexpr EnumTexts<Status> texts{{{Status::success, "success"},
                                            {Status::flushed, "flushed"},
                                            {Status::retry_exceeded, "retries exceeded"},
                                            {Status::rnr_exceeded, "receiver not ready"},
                                            {Status::remote_access, "refused by the remote adapter"},
                                            {Status::local_error, "local error"},
                                            {Status::fatal, "device gone"},
                                            {Status::other, "other error"}}};
  return texts(status);
}

bool QueuePair::post_list(const SendRequest&, std::span<const Segment>) { HAWSER_UNREACHABLE(); }
Result<> QueuePair::load_alternate(const Route&, Nanoseconds) { return no_migration(); }

Result<> QueuePair::migrate() { return no_migration(); }

Result<> DatagramQueuePair::attach(const MulticastGroup&) {
  return failure(ErrorKind::unsupported, "this device has no multicast");
}

Result<> Device::open_again() {
  return failure(ErrorKind::unsupported, "this device cannot be opened again");
}

Result<MigrationState> QueuePair::migration_state() { return no_migration(); }

}  // namespace hawser::rdma
