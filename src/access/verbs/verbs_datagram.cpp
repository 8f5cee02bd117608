#include "access/verbs/verbs_datagram.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "access/path_record.h"
#include "access/verbs/verbs_translation.h"

namespace hawser::rdma {
namespace {

constexpr std::uint32_t send_slots = 32;
constexpr std::uint32_t route_header = 40;  // stands before every datagram received
constexpr int most_bytes = 2048;            // no more is needed, whatever the MTU
constexpr std::size_t most_group_handles = 64;

std::uint64_t request_id(std::uint32_t generation, std::uint32_t slot) {
  return (std::uint64_t{generation} << 32) | slot;
}

}  // namespace

Result<std::unique_ptr<VerbsDatagramQueuePair>> VerbsDatagramQueuePair::make(VerbsDevice& device,
                                                                             std::uint8_t port,
                                                                             std::uint32_t key,
                                                                             std::uint32_t receives) {
  std::unique_ptr<VerbsDatagramQueuePair> made(new VerbsDatagramQueuePair(device, port, key, receives));
  HAWSER_TRY(made->open());
  return made;
}

VerbsDatagramQueuePair::~VerbsDatagramQueuePair() {
  device_.forget(*this);
  const VerbsFunctions& call = device_.functions();
  while (!attached_.empty()) detach(attached_.back());
  drop_group_handles();
  if (pair_ != nullptr) call.destroy_qp(pair_);
  if (sends_ != nullptr) call.destroy_cq(sends_);
  if (receives_ != nullptr) call.destroy_cq(receives_);
  if (region_ != nullptr) call.dereg_mr(region_);
}

Result<> VerbsDatagramQueuePair::open() {
  const VerbsFunctions& call = device_.functions();
  const auto attributes = device_.query_port(port_);
  if (!attributes) return Error(attributes.error());
  const int mtu = 128 << attributes.value().address.mtu;
  const bool management = key_ == management_key;
  bytes_ = std::min(mtu, management ? static_cast<int>(sizeof(ManagementDatagram)) : most_bytes);
  slot_bytes_ = static_cast<std::uint32_t>(bytes_) + route_header;
  while (!register_slots()) {
    if (receive_slots_ <= least_datagram_receives)
      return refused_memory("ibv_reg_mr for datagrams", device_.name(), errno);
    receive_slots_ = std::max(receive_slots_ / 2, least_datagram_receives);
  }
  sends_ = call.create_cq(device_.context(), send_slots, nullptr, nullptr, 0);
  // Receives that a reset took back may still stand in the queue.
  receives_ = call.create_cq(device_.context(), 2 * receive_slots_, nullptr, device_.channel(), 0);
  if (sends_ == nullptr || receives_ == nullptr)
    return refused("ibv_create_cq for datagrams", device_.name(), errno);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sends_;
  wanted.recv_cq = receives_;
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {send_slots, receive_slots_, 1, 1, 0};
  pair_ = call.create_qp(device_.domain(), &wanted);
  if (pair_ == nullptr) return refused("ibv_create_qp (UD)", device_.name(), errno);
  return start();
}

// False, with errno: so much memory cannot be locked.
bool VerbsDatagramQueuePair::register_slots() {
  const std::size_t all = std::size_t{slot_bytes_} * (receive_slots_ + send_slots);
  memory_ = std::make_unique_for_overwrite<std::byte[]>(all);
  region_ = device_.functions().reg_mr(device_.domain(), memory_.get(), all, IBV_ACCESS_LOCAL_WRITE);
  return region_ != nullptr;
}

Result<> VerbsDatagramQueuePair::start() {
  const auto partition = device_.partition_index(port_, 0);
  if (!partition) return Error(partition.error());
  const auto modify = [&](ibv_qp_state state, int mask) -> Result<> {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    attributes.port_num = port_;
    attributes.pkey_index = partition.value();
    attributes.qkey = key_;
    const int error = device_.functions().modify_qp(pair_, &attributes, IBV_QP_STATE | mask);
    if (error != 0) return refused("ibv_modify_qp (UD)", device_.name(), error);
    return {};
  };
  if (generation_ > 0) HAWSER_TRY(modify(IBV_QPS_RESET, 0));
  ++generation_;
  HAWSER_TRY(modify(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  free_sends_.clear();
  for (std::uint32_t i = 0; i < send_slots; ++i) free_sends_.push_back(receive_slots_ + i);
  for (std::uint32_t i = 0; i < receive_slots_; ++i)
    if (i != lent_ && !post_receive(i)) return refused("ibv_post_recv (UD)", device_.name(), ENOMEM);
  HAWSER_TRY(modify(IBV_QPS_RTR, 0));
  return modify(IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

bool VerbsDatagramQueuePair::ensure_well() {
  if (broken_) [[unlikely]]
    broken_ = !start();
  return !broken_;
}

bool VerbsDatagramQueuePair::post_receive(std::uint32_t index) {
  ibv_sge segment{reinterpret_cast<std::uint64_t>(slot(index)), slot_bytes_, region_->lkey};
  ibv_recv_wr request{request_id(generation_, index), nullptr, &segment, 1};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(pair_, &request, &bad) == 0;
}

void VerbsDatagramQueuePair::take_sent() {
  ibv_wc done;
  while (ibv_poll_cq(sends_, 1, &done) > 0) {
    if (done.wr_id >> 32 != generation_) continue;
    if (done.status != IBV_WC_SUCCESS) broken_ = true;
    free_sends_.push_back(static_cast<std::uint32_t>(done.wr_id));
  }
}

std::int32_t VerbsDatagramQueuePair::unsent() {
  if (free_sends_.size() == send_slots) return 0;
  take_sent();
  return static_cast<std::int32_t>(send_slots - free_sends_.size());
}

bool VerbsDatagramQueuePair::ready_to_send(std::size_t bytes) {
  HAWSER_ASSERT(bytes <= static_cast<std::size_t>(bytes_));
  take_sent();
  return ensure_well() && !free_sends_.empty();
}

bool VerbsDatagramQueuePair::post_send(std::uint32_t index, std::size_t bytes, ibv_ah* handle,
                                       std::uint32_t queue_pair) {
  ibv_sge segment{reinterpret_cast<std::uint64_t>(slot(index)), static_cast<std::uint32_t>(bytes),
                  region_->lkey};
  ibv_send_wr request{};
  request.wr_id = request_id(generation_, index);
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = handle;
  request.wr.ud.remote_qpn = queue_pair;
  request.wr.ud.remote_qkey = key_;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair_, &request, &bad) != 0) return false;
  free_sends_.pop_back();
  return true;
}

bool VerbsDatagramQueuePair::send(const DatagramAddress& to, std::span<const std::byte> bytes) {
  if (!ready_to_send(bytes.size())) return false;
  if (!handles_.tidy(free_sends_.size() != send_slots)) return false;
  ibv_ah* const handle = handles_.find(to.port, to.service_level);
  if (handle == nullptr) return false;
  const std::uint32_t index = free_sends_.back();
  std::memcpy(slot(index), bytes.data(), bytes.size());
  return post_send(index, bytes.size(), handle, to.queue_pair);
}

Result<> VerbsDatagramQueuePair::attach(const MulticastGroup& group) {
  if (std::ranges::find(attached_, group) != attached_.end()) return {};
  ibv_gid gid;
  std::memcpy(gid.raw, group.gid.data(), sizeof gid.raw);
  const int error = device_.functions().attach_mcast(pair_, &gid, group.lid);
  if (error != 0) return refused("ibv_attach_mcast", device_.name(), error);
  attached_.push_back(group);
  return {};
}

void VerbsDatagramQueuePair::detach(const MulticastGroup& group) {
  ibv_gid gid;
  std::memcpy(gid.raw, group.gid.data(), sizeof gid.raw);
  if (std::erase(attached_, group) > 0) device_.functions().detach_mcast(pair_, &gid, group.lid);
}

void VerbsDatagramQueuePair::drop_group_handles() {
  for (const auto& [group, handle] : group_handles_) device_.functions().destroy_ah(handle);
  group_handles_.clear();
  forget_groups_ = false;
}

// On Ethernet no one is asked for the address of a group: it follows from the GID.
ibv_ah* VerbsDatagramQueuePair::handle_of(const MulticastGroup& group) {
  for (const auto& [known, handle] : group_handles_)
    if (known == group) return handle;
  const auto own = device_.port_attributes(port_);
  if (!own) return nullptr;
  ibv_ah_attr attributes = group_vector(own.value(), port_, group);
  ibv_ah* const made = device_.functions().create_ah(device_.domain(), &attributes);
  if (made != nullptr) group_handles_.emplace_back(group, made);
  return made;
}

bool VerbsDatagramQueuePair::send_to_group(const MulticastGroup& to, std::span<const std::byte> header,
                                           std::span<const std::byte> bytes) {
  if (!ready_to_send(header.size() + bytes.size())) return false;
  if (forget_groups_ || group_handles_.size() >= most_group_handles) {
    if (free_sends_.size() != send_slots) return false;
    drop_group_handles();
  }
  ibv_ah* const handle = handle_of(to);
  if (handle == nullptr) return false;
  const std::uint32_t index = free_sends_.back();
  std::memcpy(slot(index), header.data(), header.size());
  if (!bytes.empty()) std::memcpy(slot(index) + header.size(), bytes.data(), bytes.size());
  constexpr std::uint32_t every_member = 0xffffff;
  return post_send(index, header.size() + bytes.size(), handle, every_member);
}

std::span<const std::byte> VerbsDatagramQueuePair::receive() {
  if (lent_ != no_slot) {
    const std::uint32_t index = lent_;
    lent_ = no_slot;
    if (!post_receive(index)) broken_ = true;
  }
  if (!ensure_well()) return {};
  ibv_wc done;
  // Who sends empty ones without end must not hold the process up.
  for (int looks = 0; looks < most_looks && ibv_poll_cq(receives_, 1, &done) > 0;) {
    if (done.wr_id >> 32 != generation_) continue;  // flushed before a restart: at most receive_slots_
    ++looks;
    const auto index = static_cast<std::uint32_t>(done.wr_id);
    if (done.status != IBV_WC_SUCCESS) {
      // At once: nothing may come any more that would have this called again.
      broken_ = true;
      if (!ensure_well()) return {};
      continue;
    }
    if (done.byte_len <= route_header) {
      if (!post_receive(index)) broken_ = true;
      continue;
    }
    lent_ = index;
    return {slot(index) + route_header, done.byte_len - route_header};
  }
  return {};
}

}  // namespace hawser::rdma
