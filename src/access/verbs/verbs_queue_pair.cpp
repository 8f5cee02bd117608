#include "access/verbs/verbs_queue_pair.h"

#include <algorithm>
#include <cerrno>

#include "access/verbs/verbs_translation.h"
#include "base/failure.h"

namespace hawser::rdma {
namespace {

// A receiver that computes posts no receives meanwhile, however long: never an error.
constexpr std::uint8_t retry_for_ever = 7;
// How long the peer's adapter waits before it tries again: 1.28 ms. A sender meets it only when the peer has
// not looked for long.
constexpr std::uint8_t receiver_not_ready_code = 14;
constexpr std::uint32_t psn_mask = 0xffffff;

// By Opcode.
constexpr ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
static_assert(opcodes[static_cast<int>(Opcode::write)] == IBV_WR_RDMA_WRITE &&
              opcodes[static_cast<int>(Opcode::read)] == IBV_WR_RDMA_READ);

ibv_sge segment_of(const Segment& from) {
  return {reinterpret_cast<std::uint64_t>(from.address), from.bytes, from.local_key};
}

[[gnu::always_inline]] inline void translate(const SendRequest& from, ibv_send_wr& to, ibv_sge* segments) {
  HAWSER_ASSERT(from.opcode < Opcode::receive);
  static_assert(max_segments == 2);
  segments[0] = segment_of(from.segments[0]);
  if (from.segment_count > 1) segments[1] = segment_of(from.segments[1]);
  to.wr_id = from.id;
  to.next = nullptr;
  to.sg_list = segments;
  to.num_sge = from.segment_count;
  to.opcode = opcodes[static_cast<int>(from.opcode)];
  to.send_flags = from.signaled * unsigned{IBV_SEND_SIGNALED} + from.inlined * unsigned{IBV_SEND_INLINE} +
                  from.solicited * unsigned{IBV_SEND_SOLICITED} + from.fenced * unsigned{IBV_SEND_FENCE};
  to.wr.rdma.remote_addr = from.remote_address;
  to.wr.rdma.rkey = from.remote_key;
}

}  // namespace

Result<std::unique_ptr<QueuePair>> VerbsQueuePair::make(VerbsDevice& device,
                                                        const QueuePairInitAttributes& shape) {
  auto& completions = static_cast<VerbsCompletionQueue&>(*shape.completions);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = completions.get();
  wanted.srq = static_cast<VerbsSharedReceiveQueue*>(shape.receives)->get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = static_cast<std::uint32_t>(shape.send_depth);
  wanted.cap.max_send_sge = device.send_segments();
  wanted.cap.max_inline_data = static_cast<std::uint32_t>(shape.inline_bytes);
  ibv_qp* const pair = device.functions().create_qp(device.domain(), &wanted);
  if (pair == nullptr)
    return refused(
        fmt::format("ibv_create_qp (RC, depth {}, inline {})", shape.send_depth, shape.inline_bytes),
        device.name(), errno);
  auto made = std::make_unique<VerbsQueuePair>(device, pair, completions, shape.port);
  HAWSER_TRY(made->initialize());
  return std::unique_ptr<QueuePair>(std::move(made));
}

VerbsQueuePair::~VerbsQueuePair() {
  const std::uint32_t gone = number();
  device_.functions().destroy_qp(pair_);
  completions_.forget(gone);
}

Result<> VerbsQueuePair::modify(ibv_qp_attr& attributes, int mask, const char* what) {
  if (const int error = device_.functions().modify_qp(pair_, &attributes, mask); error != 0)
    return refused(fmt::format("ibv_modify_qp ({})", what), device_.name(), error);
  return {};
}

Result<> VerbsQueuePair::initialize() {
  const auto partition = device_.partition_index(port_, 0);
  if (!partition) return Error(partition.error());
  ibv_qp_attr attributes{};
  attributes.pkey_index = partition.value();
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

Result<> VerbsQueuePair::make_ready_to_receive(const ConnectParameters& parameters) {
  const auto own = device_.port_attributes(port_);
  if (!own) return Error(own.error());
  parameters_ = parameters;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr = address_vector(own.value(), parameters.route);
  attributes.path_mtu = path_mtu(own.value().address, parameters.route);
  attributes.dest_qp_num = parameters.remote_queue_pair;
  attributes.rq_psn = parameters.receive_psn & psn_mask;
  attributes.max_dest_rd_atomic = parameters.outstanding_reads;
  attributes.min_rnr_timer = receiver_not_ready_code;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (parameters.route.partition != 0) {
    const auto partition = device_.partition_index(port_, parameters.route.partition);
    if (!partition) return Error(partition.error());
    attributes.pkey_index = partition.value();
    mask |= IBV_QP_PKEY_INDEX;
  }
  return modify(attributes, mask, "RTR");
}

Result<> VerbsQueuePair::make_ready_to_send() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = parameters_.send_psn & psn_mask;
  attributes.timeout = timeout_code(parameters_.retry_policy.acknowledge_time);
  attributes.retry_cnt = std::min<std::uint8_t>(parameters_.retry_policy.retries, 7);
  attributes.rnr_retry = retry_for_ever;
  attributes.max_rd_atomic = parameters_.outstanding_reads;
  return modify(attributes,
                IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_MAX_QP_RD_ATOMIC,
                "RTS");
}

Result<> VerbsQueuePair::make_error() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return modify(attributes, IBV_QP_STATE, "ERROR");
}

int VerbsQueuePair::post_send(std::span<const SendRequest> requests) {
  if (requests.size() == 1) [[likely]] {  // every small message
    ibv_send_wr request;
    ibv_sge segments[max_segments];
    translate(requests.front(), request, segments);
    ibv_send_wr* bad;
    return ibv_post_send(pair_, &request, &bad) == 0 ? 1 : 0;
  }
  return post_batches(requests);
}

bool VerbsQueuePair::post_list(const SendRequest& request, std::span<const Segment> segments) {
  HAWSER_ASSERT(segments.size() <= device_.send_segments() && !request.inlined);
  ibv_send_wr list;
  ibv_sge places[longest_list];
  translate(request, list, places);
  std::transform(segments.begin(), segments.end(), places, segment_of);
  list.num_sge = static_cast<int>(segments.size());
  ibv_send_wr* bad;
  return ibv_post_send(pair_, &list, &bad) == 0;
}

int VerbsQueuePair::post_batches(std::span<const SendRequest> requests) {
  int taken = 0;
  while (!requests.empty()) {
    const auto batch = requests.first(std::min<std::size_t>(requests.size(), verbs_batch));
    requests = requests.subspan(batch.size());
    ibv_send_wr chain[verbs_batch];
    ibv_sge segments[verbs_batch][max_segments];
    for (std::size_t i = 0; i < batch.size(); ++i) {
      translate(batch[i], chain[i], segments[i]);
      if (i > 0) chain[i - 1].next = &chain[i];
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(pair_, chain, &bad) != 0) [[unlikely]]
      return taken + (bad != nullptr ? static_cast<int>(bad - chain) : 0);
    taken += static_cast<int>(batch.size());
  }
  return taken;
}

Result<> VerbsQueuePair::load_alternate(const Route& route, Nanoseconds acknowledge_time) {
  const auto own = device_.port_attributes(route.port);
  if (!own) return Error(own.error());
  const auto partition = device_.partition_index(route.port, route.partition);
  if (!partition) return Error(partition.error());
  ibv_qp_attr attributes{};
  attributes.alt_pkey_index = partition.value();
  attributes.alt_ah_attr = address_vector(own.value(), route);
  attributes.alt_port_num = route.port;
  attributes.alt_timeout = timeout_code(acknowledge_time);
  attributes.path_mig_state = IBV_MIG_REARM;
  return modify(attributes, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE, "alternate path, REARM");
}

Result<> VerbsQueuePair::migrate() {
  const auto state = migration_state();  // adapters take the request in any state, and do nothing
  if (!state) return Error(state.error());
  if (state.value() != MigrationState::armed)
    return failure(ErrorKind::other, "queue pair {} on {} has no alternate path armed", number(),
                   device_.name());
  ibv_qp_attr attributes{};
  attributes.path_mig_state = IBV_MIG_MIGRATED;
  return modify(attributes, IBV_QP_PATH_MIG_STATE, "MIGRATED");
}

Result<MigrationState> VerbsQueuePair::migration_state() {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  if (const int error = device_.functions().query_qp(pair_, &attributes, IBV_QP_PATH_MIG_STATE, &made_with);
      error != 0)
    return refused("ibv_query_qp", device_.name(), error);
  switch (attributes.path_mig_state) {
    case IBV_MIG_ARMED:
      return MigrationState::armed;
    case IBV_MIG_REARM:
      return MigrationState::rearm;
    case IBV_MIG_MIGRATED:
      break;
  }
  return MigrationState::migrated;
}

}  // namespace hawser::rdma
