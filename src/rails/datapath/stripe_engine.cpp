#include "rails/datapath/stripe_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/list_tail.h"
#include "base/planted_bug.h"

namespace hawser {
namespace {

// Of a long transfer, what is planned at once: two such pieces are under way. No longer than what the
// adapters at both ends take as one request, for a piece may become one stripe.
constexpr double seconds_of_piece = 0.02, shortest_piece = 4 << 20;
constexpr std::int64_t longest_piece = 1 << 30;
// Of several paths another one may turn out to be free, if this process is there to take it.
constexpr double shortest_movable_piece = 1 << 16;
// What is written stands before the packets that come after it, and so before those that bring the next
// transfers; and it was planned by what was known of the rails then. So another one is begun when on some
// rail no more is left to be done than its own size and this. Reads load the other end's way here, and their
// starts come as soon as those before them; they are bounded by tokens.
constexpr double seconds_of_backlog = 0.002;
// Nobody is told of one-sided stripes, so they may be so many times finer than others (V07 chapter 5).
constexpr std::int64_t finer_one_sided = 4, finest_one_sided = 4096;
rdma::SendRequest request_of(const StripedTransfer& transfer, const WorkEntry& entry,
                             const Subchannel& subchannel, std::uint32_t remote_key) {
  rdma::SendRequest request;
  request.id = entry.work_id();
  request.opcode = transfer.direction() == Direction::write ? rdma::Opcode::write : rdma::Opcode::read;
  request.segment_count = 1;
  request.segments[0] = transfer.segment({entry.offset, entry.size}, subchannel.rail.device_number());
  request.remote_address = transfer.remote().address + static_cast<std::uint64_t>(entry.offset);
  request.remote_key = remote_key;
  return request;
}

}  // namespace

void StripedTransfer::reset() {
  HAWSER_ASSERT(!link_.linked() && !written_.linked() && in_flight_ == 0);
  local_.clear();
  buffer_ = nullptr;
  rest_.clear();
  reissued_ = stopped_ = wants_finishes_ = finished_ = false;
  one_path_ = 0;
  posted_ = moved_ = 0;
  peer_ = nullptr;
  owner_ = nullptr;
}

void StripeEngine::add(StripedTransfer& transfer, const ByteRange& range) {
  transfer.rest_.push_back(range);
  if (transfer.link_.linked()) return;
  list_of(transfer).push_back(&transfer);
  added_reads_ += transfer.direction_ == Direction::read;
}

void StripeEngine::begin(StripedTransfer& transfer, const ByteRange& range) {
  add(transfer, range);
  if (list_of(transfer).front() == &transfer && transfer.peer_->paths().ready() > 0) post(transfer);
}

void StripeEngine::confirm(StripedTransfer& transfer) {
  while (WorkEntry* entry = transfer.acknowledged_.pop_front()) resources_.free_entry(entry);
  if (transfer.written_.linked()) written_.remove(&transfer);
}

void StripeEngine::stop(StripedTransfer& transfer) {
  transfer.stopped_ = true;
  transfer.rest_.clear();
  if (transfer.link_.linked()) list_of(transfer).remove(&transfer);
}

void StripeEngine::withdraw(StripedTransfer& transfer) {
  HAWSER_ASSERT(transfer.in_flight_ == 0);
  confirm(transfer);
  transfer.rest_.clear();
  if (transfer.link_.linked()) list_of(transfer).remove(&transfer);
}

// Posting.

bool StripeEngine::post_all() {
  backed_up_.clear();
  added_reads_ = 0;
  bool moved = post_from(to_write_, to_write_.front());
  if (read_tokens_ > 0) moved |= post_from(to_read_, to_read_.front());
  finishes_.post();
  return moved;
}

void StripeEngine::post_added_reads() {
  StripedTransfer* const first = first_of_last(to_read_, std::exchange(added_reads_, 0));
  if (read_tokens_ > 0) post_from(to_read_, first);
  finishes_.post();
}

// A transfer whose peer has no room now does not hold up the others.
bool StripeEngine::post_from(TransferList& list, StripedTransfer* first) {
  bool moved = false;
  for (StripedTransfer* transfer = first; transfer != nullptr;) {
    StripedTransfer* const next = list.next(transfer);
    if (transfer->peer_->paths().ready() == 0)
      (void)transfer->peer_->room();  // it is connected with
    else if (!backed_up(*transfer))
      moved |= post(*transfer);
    transfer = next;
  }
  return moved;
}

bool StripeEngine::waits_for(const VirtualChannel& peer) const {
  const auto any = [&](const TransferList& list) {
    for (const StripedTransfer* transfer = list.front(); transfer != nullptr; transfer = list.next(transfer))
      if (transfer->peer_ == &peer) return true;
    return false;
  };
  return any(to_write_) || any(to_read_);
}

bool StripeEngine::backed_up(const StripedTransfer& transfer) const {
  return transfer.direction_ == Direction::write &&
         std::find(backed_up_.begin(), backed_up_.end(), transfer.peer_) != backed_up_.end();
}

// What is posted cannot be moved any more when a rail turns slow: a long transfer is planned piece by piece.
bool StripeEngine::post(StripedTransfer& transfer) {
  if (transfer.light()) return post_light(transfer);
  if (!transfer.rest_.empty() && !transfer.local_.made() && !transfer.owner_->prepare(transfer))
    return give_up(transfer);
  VirtualChannel& peer = *transfer.peer_;
  const bool write = transfer.direction_ == Direction::write;
  bool moved = false;
  while (!transfer.rest_.empty() && (write || read_tokens_ > 0)) {
    const std::span<SubchannelView> views = views_of(transfer);
    const Outlook outlook = survey(transfer, views);
    const std::int64_t piece = piece_of(transfer, outlook);
    if (!outlook.any && !reached_by_adapters(transfer)) return give_up(transfer) || moved;
    if (!outlook.any || transfer.posted_ >= 2 * piece) return moved;
    ByteRange range = transfer.rest_.back();
    if (write && outlook.backlog > static_cast<double>(range.size) / outlook.fastest + seconds_of_backlog) {
      backed_up_.push_back(&peer);
      return moved;
    }
    transfer.rest_.pop_back();
    if (range.size > std::min(piece + piece / 4, outlook.longest)) {  // no short rest
      transfer.rest_.push_back({range.offset + piece, range.size - piece});
      range.size = piece;
    }
    if (!post_range(transfer, range, views)) return moved;
    moved = true;
  }
  if (transfer.rest_.empty()) list_of(transfer).remove(&transfer);
  return moved;
}

// Whether its next piece may take another path than the last one.
bool StripeEngine::may_move(const StripedTransfer& transfer) const {
  return transfer.peer_->paths().restless() && transfer.sides_ == Sides::two &&
         context_.program == ProgramState::waits;
}

// Where a transfer ends of which this range is being posted.
std::int64_t StripeEngine::end_of(const StripedTransfer& transfer, const ByteRange& range) {
  const std::int64_t posted = range.offset + range.size;
  if (transfer.rest_.empty()) return posted;
  const ByteRange& last = transfer.rest_.front();
  return std::max(posted, last.offset + last.size);
}

// How much of it is planned at once.
std::int64_t StripeEngine::piece_of(const StripedTransfer& transfer, const Outlook& outlook) const {
  const double piece = may_move(transfer)
                           ? std::max(outlook.ports * PathSpread::seconds_of_piece, shortest_movable_piece)
                           : std::max(outlook.rate * seconds_of_piece, shortest_piece);
  return static_cast<std::int64_t>(std::min(piece, static_cast<double>(outlook.longest)));
}

// Which subchannels can carry the transfer, and what they make together.
StripeEngine::Outlook StripeEngine::survey(StripedTransfer& transfer, std::span<SubchannelView> views) const {
  VirtualChannel& peer = *transfer.peer_;
  Outlook outlook;
  outlook.backlog = INFINITY;
  outlook.longest = longest_piece;
  std::uint32_t turn = transfer.one_path_;
  bool lacks = false;
  std::uint64_t ports = 0;  // that were counted
  for (SubchannelView& view : views) {
    const Subchannel& subchannel = peer.subchannels()[static_cast<std::size_t>(&view - views.data())];
    view.usable = view.usable && transfer.local_.usable(subchannel.rail.device_number()) &&
                  has_keys(transfer, subchannel);
    lacks |= lacks_keys(transfer, subchannel);
    // After damage: only the first usable path, then the second, and so on.
    if (view.usable && transfer.one_path_ > 0) view.usable = --turn == 0;
    outlook.any |= view.usable;
    if (!view.usable) continue;
    outlook.longest =
        std::min(outlook.longest, rdma::longest_message(subchannel.rail.attributes().address,
                                                        peer.remote().rails[subchannel.remote_rail].port));
    outlook.rate += view.bytes_per_second;
    const std::uint64_t port = std::uint64_t{1} << view.rail % 64;
    if ((ports & port) == 0) outlook.ports += view.nominal;
    ports |= port;
    outlook.fastest = std::max(outlook.fastest, view.bytes_per_second);
    outlook.backlog =
        std::min(outlook.backlog, static_cast<double>(view.bytes_queued) / view.bytes_per_second);
  }
  if (!outlook.any && transfer.one_path_ > 1) transfer.one_path_ = 1;  // round again
  if (lacks) [[unlikely]]
    transfer.owner_->on_keys_wanted(transfer);
  return outlook;
}

// Whether some connection that is ready has its keys at both ends, or will have new ones.
bool StripeEngine::reached_by_adapters(const StripedTransfer& transfer) const {
  bool any_ready = false;
  for (const Subchannel& subchannel : transfer.peer_->subchannels()) {
    if (!subchannel.in_service()) continue;
    any_ready = true;
    const bool here = transfer.light() || transfer.local_.usable(subchannel.rail.device_number());
    if (here && (transfer.remote_.keys[subchannel.remote_rail] != 0 || lacks_keys(transfer, subchannel)))
      return true;
  }
  return !any_ready;
}

// True: the rest is the owner's.
bool StripeEngine::give_up(StripedTransfer& transfer) {
  // What is being read must not land later.
  if (transfer.direction_ == Direction::read && transfer.in_flight_ > 0) return false;
  list_of(transfer).remove(&transfer);
  transfer.owner_->on_failed(transfer);
  return true;
}

// Whether anything of it was posted; what was not waits again.
bool StripeEngine::post_range(StripedTransfer& transfer, const ByteRange& range,
                              std::span<const SubchannelView> views) {
  StripeRequest request;
  request.bytes = range.size;
  request.smallest_stripe = context_.knobs.rail_stripe;
  if (transfer.sides_ == Sides::one)
    request.smallest_stripe = std::max(request.smallest_stripe / finer_one_sided, finest_one_sided);
  // Its other pieces wait for this one.
  const bool piece = may_move(transfer) && (transfer.begun() || !transfer.rest_.empty());
  request.traffic = piece ? TrafficClass::blocking : transfer.traffic_;
  StripePlan plan;
  transfer.peer_->paths().policy().plan(request, views, plan);
  bool posted = false;
  for (Stripe stripe : plan.stripes()) {
    stripe.offset += range.offset;
    const std::int64_t bytes = post_stripe(transfer, stripe);
    posted |= bytes > 0;
    context_.counters.bytes_of(transfer.traffic_) += static_cast<std::uint64_t>(bytes);
    if (bytes < stripe.bytes) transfer.rest_.push_back({stripe.offset + bytes, stripe.bytes - bytes});
  }
  measure_idle(*transfer.peer_);
  return posted;
}

// Were a part of a message to find out whether a subchannel still is slow, the message would wait for it.
void StripeEngine::measure_idle(VirtualChannel& peer) {
  const std::size_t filling = resources_.packet_bytes() - sizeof(PacketHeader) - context_.trailer();
  for (Subchannel& each : peer.subchannels()) {
    if (!peer.paths().weights().wants_measuring(each.index, context_.now)) continue;
    if (!each.in_service() || each.traffic.outstanding > 0) continue;
    if (each.rail.traffic.timed != RailTraffic::none_timed) continue;
    const std::uint32_t timed_from = std::exchange(each.traffic.timed_from, 0);
    peer.send_on(each, PacketKind::measure, {}, filling);
    each.traffic.timed_from = timed_from;
  }
}

// How many of its bytes were posted.
std::int64_t StripeEngine::post_stripe(StripedTransfer& transfer, const Stripe& stripe) {
  Subchannel& subchannel = transfer.peer_->subchannels()[stripe.subchannel];
  Rail& rail = subchannel.rail;
  const bool write = transfer.direction_ == Direction::write;
  if (!subchannel.room_for(transfer.requests(), static_cast<std::int32_t>(context_.knobs.rail_send_depth)))
    return 0;
  if (!write && read_tokens_ == 0) {
    ++context_.counters.read_tokens_waited;
    return 0;
  }
  const Load load = load_of(transfer);
  std::int64_t bytes = room_beside(transfer, subchannel, stripe.bytes);
  if (bytes == 0) return 0;
  bytes = subchannel.traffic.stripe_flow.room(bytes, subchannel.traffic.queued().of(load));
  CongestionWindow& port_flow = rail.traffic.flow_of(write ? PortSide::out : PortSide::in);
  if (bytes > 0 && !write) bytes = port_flow.room(bytes, rail.traffic.queued().of(load));
  if (bytes == 0) return 0;
  // What is written waits in the own adapter, which does no harm.
  if (write) port_flow.note_demand(bytes, rail.traffic.queued().of(load));
  return issue(transfer, {stripe.offset, bytes}, subchannel) ? bytes : 0;
}

// False: the adapter does not take it now.
bool StripeEngine::issue(StripedTransfer& transfer, const ByteRange& range, Subchannel& subchannel) {
  Rail& rail = subchannel.rail;
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = transfer.kind();
  entry.sequenced = false;
  entry.light = transfer.light();
  entry.packet_kind = PacketKind::finish;
  entry.transfer = &transfer;
  entry.offset = range.offset;
  entry.size = range.size;
  entry.bytes = static_cast<std::uint32_t>(range.size);  // of a light one
  if (rail.traffic.bytes_queued == 0) read_clock(context_);
  entry.posted = context_.now;
  entry.watched = 0;
  entry.before.queued = subchannel.traffic.queued().of(load_of(transfer));
  entry.before.delivered =
      (entry.light ? subchannel.traffic.packet_flow : subchannel.traffic.stripe_flow).delivered();
  if (entry.light)
    entry.before.others_posted = posted_by_others(subchannel);
  else
    entry.before.port_delivered = rail.traffic.flow_of(side_of(entry)).delivered();
  if (!post(transfer, entry, subchannel)) {
    resources_.free_entry(&entry);
    return false;
  }
  if (transfer.reissued_) upward_.subchannels->on_reissued(range.size);
  context_.counters.bytes_striped += static_cast<std::uint64_t>(range.size);
  ++transfer.in_flight_;
  transfer.posted_ += range.size;
  resources_.entries.place(entry, WorkEntry::Place::in_flight);
  if (!entry.light)
    transfer.peer_->paths().on_stripe_posted(subchannel, entry,
                                             may_move(transfer) ? end_of(transfer, range) : 0);
  subchannel.add(entry);
  context_.wake_sleeper();
  if (entry.kind == WorkEntry::Kind::put) confirmations_.on_put_in_flight(subchannel);
  if (!entry.light) context_.status.posted(subchannel.status_row, range.size);
  if (transfer.wants_finishes_) finishes_.add(entry);
  return true;
}

bool StripeEngine::post(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  if (entry.kind == WorkEntry::Kind::write) return post_write(transfer, entry, subchannel);
  return entry.kind == WorkEntry::Kind::put ? post_put(transfer, entry, subchannel)
                                            : post_read(transfer, entry, subchannel);
}

// A write and its finish, one entry: what completes the finish completes the write.
bool StripeEngine::post_write(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  entry.small = true;
  entry.buffer = resources_.small_packets.take();
  if (entry.buffer == nullptr) return false;
  const FinishBody body{transfer.remote_name_, entry.offset, entry.size};
  entry.sequence_number = 0;
  std::memcpy(entry.buffer->data + sizeof(PacketHeader), &body, sizeof(body));
  entry.bytes = sizeof(PacketHeader) + sizeof(body);
  rdma::SendRequest requests[2];
  requests[0] = request_of(transfer, entry, subchannel, remote_key(transfer, subchannel));
  requests[0].signaled = false;
  requests[1] = transfer.peer_->packets().request(subchannel, entry);
  const int posted = subchannel.queue_pair->post_send(requests);
  if (posted == 0) return false;
  // Half of it: the finish never goes out, so neither may anything behind it.
  if (posted == 1)
    upward_.subchannels->on_half_posted(subchannel);
  else
    transfer.peer_->window().note_acknowledged_to_peer();
  entry.ordinal = subchannel.traffic.sent++;
  ++context_.counters.stripes_written;
  return true;
}

bool StripeEngine::post_put(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  rdma::SendRequest request = request_of(transfer, entry, subchannel, remote_key(transfer, subchannel));
  rdma::Segment segments[rdma::longest_list];
  const auto list = transfer.local_.list(entry.offset, entry.size, subchannel.rail.device_number(), segments);
  request.inlined = list.empty() && entry.size <= resources_.inline_bytes;
  if (!confirmations_.post_put(entry, subchannel, request, list)) return false;
  ++context_.counters.stripes_put;
  return true;
}

bool StripeEngine::post_read(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  const rdma::SendRequest request = request_of(transfer, entry, subchannel, remote_key(transfer, subchannel));
  rdma::Segment segments[rdma::longest_list];
  const auto list = transfer.local_.list(entry.offset, entry.size, subchannel.rail.device_number(), segments);
  if (!post_one(*subchannel.queue_pair, request, list)) return false;
  --read_tokens_;
  ++context_.counters.stripes_read;
  return true;
}

// The peer's memory, over this subchannel.
std::uint32_t StripeEngine::remote_key(const StripedTransfer& transfer, const Subchannel& subchannel) {
  std::size_t rail = subchannel.remote_rail;
  if (planted(PlantedBug::wrong_key) && transfer.reissued_ && subchannel.connection_generation() % 2 == 1)
    rail ^= 1;
  return transfer.remote_.keys[rail];
}

// What became of stripes.

void StripeEngine::end_flight(WorkEntry& entry) {
  StripedTransfer& transfer = *entry.transfer;
  if (entry.kind == WorkEntry::Kind::read) ++read_tokens_;
  finishes_.on_end_of_flight(transfer);
  --transfer.in_flight_;
  transfer.posted_ -= entry.size;
}

void StripeEngine::on_done(WorkEntry& entry) {
  end_flight(entry);
  StripedTransfer& transfer = *entry.transfer;
  const ByteRange range{entry.offset, entry.size};
  transfer.moved_ += range.size;
  if (entry.kind == WorkEntry::Kind::put && planted(PlantedBug::early_flush)) {
    resources_.free_entry(&entry);
    transfer.owner_->on_confirmed(transfer, range);
    return;
  }
  if (entry.kind == WorkEntry::Kind::read) {
    finishes_.on_read(entry);
    resources_.free_entry(&entry);
  } else if (entry.kind == WorkEntry::Kind::put) {
    confirmations_.keep(entry);
  } else {
    resources_.small_packets.give_back(entry.buffer);
    entry.buffer = nullptr;
    resources_.entries.place(entry, WorkEntry::Place::retained);
    transfer.acknowledged_.push_back(&entry);
    if (!transfer.written_.linked()) written_.push_back(&transfer);
  }
  transfer.owner_->on_done(transfer, range);
}

void StripeEngine::on_confirmation(WorkEntry& confirmation) {
  Subchannel& subchannel = *confirmation.subchannel;
  const std::uint32_t before = confirmation.ordinal;
  confirmations_.on_read(confirmation);
  resources_.free_entry(&confirmation);
  while (WorkEntry* put = confirmations_.take_confirmed(subchannel, before)) {
    StripedTransfer& transfer = *put->transfer;
    const ByteRange range{put->offset, put->size};
    resources_.free_entry(put);
    transfer.owner_->on_confirmed(transfer, range);
  }
}

// The entry stays where it is until its connection is over.
void StripeEngine::on_refused(const WorkEntry& entry) {
  if (entry.transfer != nullptr && entry.transfer->sides_ == Sides::one) stop(*entry.transfer);
}

void StripeEngine::on_failed(WorkEntry& entry) {
  end_flight(entry);
  StripedTransfer& transfer = *entry.transfer;
  if (transfer.sides_ == Sides::one && transfer.stopped_) [[unlikely]] {
    resources_.free_entry(&entry);
    return transfer.owner_->on_stopped(transfer);
  }
  transfer.reissued_ = true;
  finishes_.forget(transfer);
  transfer.rest_.push_back({entry.offset, entry.size});
  ++context_.counters.stripes_reissued;
  context_.counters.bytes_reissued += static_cast<std::uint64_t>(entry.size);
  resources_.free_entry(&entry);
  if (transfer.link_.linked()) return;
  // Before those that were not begun: whoever waits waits for the oldest.
  TransferList& list = list_of(transfer);
  StripedTransfer* behind = list.front();
  while (behind != nullptr && behind->begun()) behind = list.next(behind);
  list.insert(behind, &transfer);
}

// It was done as far as the peer's adapter said.
void StripeEngine::take_back(WorkEntry& entry) {
  StripedTransfer& transfer = *entry.transfer;
  ++context_.counters.taken_back;
  ++transfer.in_flight_;
  transfer.posted_ += entry.size;
  transfer.moved_ -= entry.size;
  on_failed(entry);
}

void StripeEngine::take_back(Subchannel& subchannel, std::uint32_t received) {
  take_back_puts(subchannel);
  for (StripedTransfer* transfer = written_.front(); transfer != nullptr; transfer = written_.next(transfer))
    for (WorkEntry* entry = transfer->acknowledged_.front(); entry != nullptr;) {
      WorkEntry* const next = transfer->acknowledged_.next(entry);
      if (entry->subchannel == &subchannel &&
          entry->connection_generation == subchannel.connection_generation() &&
          sequence_distance(entry->ordinal, received) >= 0) {
        transfer->acknowledged_.remove(entry);
        take_back(*entry);
      }
      entry = next;
    }
}

}  // namespace hawser
