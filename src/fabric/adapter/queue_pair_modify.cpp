// ibv_modify_qp: which attributes a transition requires and allows, and which values are possible.
#include <bit>
#include <cerrno>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/queue_pair.h"

namespace hawser::fabric {
namespace {

// One allowed transition of one transport. `required` and `optional` are without mask_state.
struct Transition {
  QpState from, to;
  QpType type;
  std::uint32_t required, optional;
};

constexpr std::uint32_t connection = mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn;
constexpr std::uint32_t changeable_uc =
    mask_current_state | mask_access_flags | mask_alternate_path | mask_migration_state;
constexpr std::uint32_t changeable_rc = changeable_uc | mask_min_rnr_timer;
constexpr std::uint32_t drained_rc = mask_port | mask_path | mask_timeout | mask_retry_count |
                                     mask_rnr_retry | mask_max_rd_atomic | mask_max_dest_rd_atomic |
                                     mask_alternate_path | mask_access_flags | mask_pkey_index |
                                     mask_min_rnr_timer | mask_migration_state;

// IBA volume 1, section 11.2.5.2 and table 90, as ibv_modify_qp(3) tells them. To RESET and to ERR every
// state leads, without attributes.
constexpr Transition transitions[] = {
    {QpState::reset, QpState::init, QpType::rc, mask_pkey_index | mask_port | mask_access_flags, 0},
    {QpState::reset, QpState::init, QpType::uc, mask_pkey_index | mask_port | mask_access_flags, 0},
    {QpState::reset, QpState::init, QpType::ud, mask_pkey_index | mask_port | mask_qkey, 0},
    {QpState::init, QpState::init, QpType::rc, 0, mask_pkey_index | mask_port | mask_access_flags},
    {QpState::init, QpState::init, QpType::uc, 0, mask_pkey_index | mask_port | mask_access_flags},
    {QpState::init, QpState::init, QpType::ud, 0, mask_pkey_index | mask_port | mask_qkey},
    {QpState::init, QpState::rtr, QpType::rc, connection | mask_max_dest_rd_atomic | mask_min_rnr_timer,
     mask_alternate_path | mask_access_flags | mask_pkey_index},
    {QpState::init, QpState::rtr, QpType::uc, connection,
     mask_alternate_path | mask_access_flags | mask_pkey_index},
    {QpState::init, QpState::rtr, QpType::ud, 0, mask_pkey_index | mask_qkey},
    {QpState::rtr, QpState::rts, QpType::rc,
     mask_timeout | mask_retry_count | mask_rnr_retry | mask_sq_psn | mask_max_rd_atomic, changeable_rc},
    {QpState::rtr, QpState::rts, QpType::uc, mask_sq_psn, changeable_uc},
    {QpState::rtr, QpState::rts, QpType::ud, mask_sq_psn, mask_current_state | mask_qkey},
    {QpState::rts, QpState::rts, QpType::rc, 0, changeable_rc},
    {QpState::rts, QpState::rts, QpType::uc, 0, changeable_uc},
    {QpState::rts, QpState::rts, QpType::ud, 0, mask_current_state | mask_qkey},
    {QpState::rts, QpState::sqd, QpType::rc, 0, mask_sqd_notify},
    {QpState::rts, QpState::sqd, QpType::uc, 0, mask_sqd_notify},
    {QpState::rts, QpState::sqd, QpType::ud, 0, mask_sqd_notify},
    {QpState::sqd, QpState::sqd, QpType::rc, 0, drained_rc},
    {QpState::sqd, QpState::sqd, QpType::uc, 0,
     mask_path | mask_alternate_path | mask_access_flags | mask_pkey_index | mask_migration_state},
    {QpState::sqd, QpState::sqd, QpType::ud, 0, mask_pkey_index | mask_qkey},
    {QpState::sqd, QpState::rts, QpType::rc, 0, changeable_rc},
    {QpState::sqd, QpState::rts, QpType::uc, 0, changeable_uc},
    {QpState::sqd, QpState::rts, QpType::ud, 0, mask_current_state | mask_qkey},
    {QpState::sqe, QpState::rts, QpType::uc, 0, mask_current_state | mask_access_flags},
    {QpState::sqe, QpState::rts, QpType::ud, 0, mask_current_state | mask_qkey},
};

// The two ends of XRC are the two halves of RC: each may leave out what is the other's.
QpType table_type(QpType type) { return is_reliable(type) ? QpType::rc : type; }

std::uint32_t not_required(QpType type) {
  switch (type) {
    case QpType::rc:
    case QpType::uc:
    case QpType::ud:
      return 0;
    case QpType::xrc_send:
      return mask_max_dest_rd_atomic | mask_min_rnr_timer;
    case QpType::xrc_recv:
      return mask_retry_count | mask_rnr_retry | mask_max_rd_atomic;
  }
  HAWSER_UNREACHABLE();
}

Outcome check_transition(QpType type, QpState from, QpState to, std::uint32_t mask) {
  const std::uint32_t attributes = mask & ~static_cast<std::uint32_t>(mask_state);
  if (to == QpState::reset || to == QpState::err) {
    const std::uint32_t extra = attributes & ~static_cast<std::uint32_t>(mask_current_state);
    return extra == 0 ? Outcome{} : Outcome{EINVAL, "RESET and ERR take no attributes"};
  }
  for (const Transition& each : transitions) {
    if (each.from != from || each.to != to || each.type != table_type(type)) continue;
    const std::uint32_t required = each.required & ~not_required(type);
    if ((attributes & required) != required) return {EINVAL, "a required attribute is missing from the mask"};
    if ((attributes & ~(each.required | each.optional)) != 0) {
      return {EINVAL, "the mask names an attribute that cannot change here"};
    }
    return {};
  }
  return {EINVAL, "there is no such transition"};
}

}  // namespace

Outcome QueuePair::modify(const QpAttributes& wanted, std::uint32_t mask) {
  const QpState from = state();
  if ((mask & mask_current_state) != 0 && wanted.current_state != from) {
    return {EINVAL, "the current state is another"};
  }
  const QpState to = (mask & mask_state) != 0 ? wanted.state : from;
  if (to > QpState::err) return {EINVAL, "there is no such state"};
  if (Outcome checked = check_transition(configuration_.type, from, to, mask); !checked.ok()) return checked;
  if (Outcome checked = check_values(wanted, mask); !checked.ok()) return checked;
  apply(wanted, mask);
  change_state(to);
  return {};
}

Outcome QueuePair::check_path(const AddressVector& path, int port) const {
  if (!adapter_.valid_port(port)) return {EINVAL, "the adapter has no such port"};
  const bool ethernet = adapter_.services().parameters.link_layer == LinkLayer::ethernet;
  if (ethernet && !path.is_global) return {EINVAL, "on Ethernet a path needs a GID"};
  if (path.is_global && path.source_gid_index >= adapter_.port(port).gids().size()) {
    return {EINVAL, "the source GID index is too large"};
  }
  if (!ethernet && (path.destination_lid == 0 || path.destination_lid >= first_multicast_lid)) {
    return {EINVAL, "the destination LID is not unicast"};
  }
  if (path.service_level > 15) return {EINVAL, "service levels go up to 15"};
  return {};
}

Outcome QueuePair::check_values(const QpAttributes& wanted, std::uint32_t mask) const {
  const auto named = [&](std::uint32_t bit) { return (mask & bit) != 0; };
  const AdapterLimits& limits = adapter_.limits();
  if (named(mask_port) && !adapter_.valid_port(wanted.port)) return {EINVAL, "the adapter has no such port"};
  if ((named(mask_pkey_index) && wanted.pkey_index != 0) ||
      (named(mask_alternate_path) && wanted.alternate_pkey_index != 0)) {
    return {EINVAL, "the P_Key table has one entry"};
  }
  if (named(mask_path)) {
    const int port = named(mask_port) ? wanted.port : attributes_.port;
    if (Outcome checked = check_path(wanted.path, port); !checked.ok()) return checked;
  }
  if (named(mask_alternate_path)) {
    if (Outcome checked = check_path(wanted.alternate_path, wanted.alternate_port); !checked.ok())
      return checked;
    if (wanted.alternate_timeout > 31) return {EINVAL, "time-out codes go up to 31"};
  }
  if (named(mask_path_mtu) && (!std::has_single_bit(wanted.path_mtu) || wanted.path_mtu < 256 ||
                               wanted.path_mtu > adapter_.services().parameters.mtu)) {
    return {EINVAL, "the path MTU exceeds the port's"};
  }
  if (named(mask_timeout) && wanted.timeout > 31) return {EINVAL, "time-out codes go up to 31"};
  if (named(mask_retry_count) && wanted.retry_count > 7) return {EINVAL, "retry counts go up to 7"};
  if (named(mask_rnr_retry) && wanted.rnr_retry > 7) return {EINVAL, "retry counts go up to 7"};
  if (named(mask_min_rnr_timer) && wanted.min_rnr_timer > 31) return {EINVAL, "timer codes go up to 31"};
  if ((named(mask_max_rd_atomic) && wanted.max_rd_atomic > limits.max_rd_atomic) ||
      (named(mask_max_dest_rd_atomic) && wanted.max_dest_rd_atomic > limits.max_rd_atomic)) {
    return {EINVAL, "more reads at a time than the adapter has room for"};
  }
  if (!named(mask_migration_state)) return {};
  const bool has_alternate = named(mask_alternate_path) || adapter_.valid_port(attributes_.alternate_port);
  switch (wanted.migration_state) {
    case MigrationState::migrated:
      return {};
    case MigrationState::rearm:
      return has_alternate ? Outcome{} : Outcome{EINVAL, "there is no alternate path to arm"};
    case MigrationState::armed:
      return attributes_.migration_state == MigrationState::armed
                 ? Outcome{}
                 : Outcome{EINVAL, "ARMED is reached by REARM at both ends"};
  }
  return {EINVAL, "there is no such migration state"};
}

void QueuePair::apply(const QpAttributes& wanted, std::uint32_t mask) {
  const auto named = [&](std::uint32_t bit) { return (mask & bit) != 0; };
  QpAttributes& own = attributes_;
  if (named(mask_sqd_notify)) own.sqd_notify = wanted.sqd_notify;
  if (named(mask_access_flags)) own.access_flags = wanted.access_flags;
  if (named(mask_pkey_index)) own.pkey_index = wanted.pkey_index;
  if (named(mask_port)) own.port = own.path.port = wanted.port;
  if (named(mask_qkey)) own.qkey = wanted.qkey;
  if (named(mask_path)) {
    own.path = wanted.path;
    own.path.port = own.port;
  }
  if (named(mask_path_mtu)) own.path_mtu = wanted.path_mtu;
  if (named(mask_timeout)) own.timeout = wanted.timeout;
  if (named(mask_retry_count)) own.retry_count = wanted.retry_count;
  if (named(mask_rnr_retry)) own.rnr_retry = wanted.rnr_retry;
  if (named(mask_rq_psn)) own.rq_psn = wanted.rq_psn & 0xffffff;
  if (named(mask_max_rd_atomic)) own.max_rd_atomic = wanted.max_rd_atomic;
  if (named(mask_min_rnr_timer)) own.min_rnr_timer = wanted.min_rnr_timer;
  if (named(mask_sq_psn)) own.sq_psn = wanted.sq_psn & 0xffffff;
  if (named(mask_max_dest_rd_atomic)) own.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
  if (named(mask_destination_qp)) own.destination_qp = wanted.destination_qp & 0xffffff;
  if (named(mask_alternate_path)) {
    own.alternate_path = wanted.alternate_path;
    own.alternate_path.port = wanted.alternate_port;
    own.alternate_port = wanted.alternate_port;
    own.alternate_pkey_index = wanted.alternate_pkey_index;
    own.alternate_timeout = wanted.alternate_timeout;
  }
  if (!named(mask_migration_state)) return;
  if (wanted.migration_state == MigrationState::migrated && own.migration_state == MigrationState::armed) {
    migrate();  // on request
  } else if (wanted.migration_state != MigrationState::armed) {
    own.migration_state = wanted.migration_state;
  }
}

void QueuePair::change_state(QpState to) {
  const QpState from = state();
  if (to == QpState::err) return enter_error(CompletionStatus::flush_error);
  attributes_.state = to;
  switch (to) {
    case QpState::reset: {
      detach_packets();
      requester_.reset();
      congestion.reset();
      responder_.reset();
      ReceiveEntry entry;
      while (receives_.take(entry)) {
      }
      attributes_ = {};
      established_ = false;
      return;
    }
    case QpState::init:
      return;
    case QpState::rtr:
      responder_.start(attributes_.rq_psn);
      return;
    case QpState::rts:
      if (from == QpState::rtr) requester_.start(attributes_.sq_psn);
      kick();
      return;
    case QpState::sqd:
      drained_told_ = false;
      check_drained();
      return;
    case QpState::sqe:
    case QpState::err:
      HAWSER_UNREACHABLE();  // only errors lead there, see check_transition
  }
}

}  // namespace hawser::fabric
