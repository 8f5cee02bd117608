// The stripes of large messages: planned when they are posted, over the subchannels that work then.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/planted_bug.h"
#include "rails/protocol/rendezvous.h"

namespace hawser {
namespace {

// Of a long transfer, what is planned at once: two such pieces are under way. No longer than what the
// adapters at both ends take as one request, for a piece may become one stripe.
constexpr double seconds_of_piece = 0.02, shortest_piece = 4 << 20;
constexpr std::int64_t longest_piece = 1 << 30;
// What is written stands before the packets that come after it, and so before those that bring the next
// transfers; and it was planned by what was known of the rails then. So another one is begun when on some
// rail no more is left to be done than its own size and this. Reads load the other end's way here, and their
// starts come as soon as those before them; they are bounded by tokens.
constexpr double seconds_of_backlog = 0.002;

}  // namespace

bool Rendezvous::post_stripes(Transfer& transfer, Direction direction) {
  if (!transfer.registration.made()) {
    transfer.in_packets = !register_bytes(transfer, direction == Direction::read);
    if (transfer.in_packets) return false;
    if (direction == Direction::write && !transfer.bytes.contiguous())
      transfer.bytes.packer->pack(0, transfer.registration.address, transfer.size);
  }
  VirtualChannel& peer = *transfer.peer;
  bool moved = false;
  // What is posted cannot be moved any more when a rail turns slow: a long transfer is planned piece by
  // piece.
  while (!transfer.remaining.empty() && (direction == Direction::write || read_tokens_ > 0)) {
    const std::span<SubchannelView> views = peer.views(direction == Direction::write ? 2 : 1);
    bool any = false;
    double rate = 0, fastest = 0, backlog = INFINITY;
    std::int64_t longest = longest_piece;
    std::uint32_t turn = transfer.damaged;
    for (SubchannelView& view : views) {
      const Subchannel& subchannel = peer.subchannels()[static_cast<std::size_t>(&view - views.data())];
      view.usable = view.usable && transfer.registration.usable(subchannel.rail.device_number()) &&
                    transfer.remote.keys[subchannel.remote_rail] != 0 &&
                    transfer.remote.device_generations[subchannel.remote_rail] ==
                        subchannel.ends.remote_device_generation;
      // After damage: only the first usable path, then the second, and so on.
      if (view.usable && transfer.damaged > 0) view.usable = --turn == 0;
      any |= view.usable;
      if (!view.usable) continue;
      longest = std::min(longest, rdma::longest_message(subchannel.rail.attributes().address,
                                                        peer.remote_rail(subchannel.remote_rail).port));
      rate += view.bytes_per_second;
      fastest = std::max(fastest, view.bytes_per_second);
      backlog = std::min(backlog, static_cast<double>(view.bytes_queued) / view.bytes_per_second);
    }
    const auto piece = static_cast<std::int64_t>(
        std::min(std::max(rate * seconds_of_piece, shortest_piece), static_cast<double>(longest)));
    if (!any && transfer.damaged > 1) transfer.damaged = 1;  // round again
    if (!any && !reached_by_adapters(transfer)) transfer.in_packets = true;
    if (!any || transfer.posted >= 2 * piece) return moved;
    if (direction == Direction::write &&
        backlog > static_cast<double>(transfer.remaining.back().size) / fastest + seconds_of_backlog) {
      backed_up_.push_back(&peer);
      return moved;
    }
    ByteRange range = transfer.remaining.back();
    transfer.remaining.pop_back();
    if (range.size > piece) {
      transfer.remaining.push_back({range.offset + piece, range.size - piece});
      range.size = piece;
    }
    StripeRequest request;
    request.bytes = range.size;
    request.smallest_stripe = context_.knobs.rail_stripe;
    request.traffic = transfer.traffic;
    StripePlan plan;
    peer.policy().plan(request, views, plan);
    bool posted = false;
    for (Stripe stripe : plan.stripes()) {
      stripe.offset += range.offset;
      const std::int64_t bytes = post_stripe(transfer, direction, stripe);
      context_.counters.bytes_of(request.traffic) += static_cast<std::uint64_t>(bytes);
      posted |= bytes > 0;
      if (bytes < stripe.bytes) transfer.remaining.push_back({stripe.offset + bytes, stripe.bytes - bytes});
    }
    if (!posted) return moved;
    moved = true;
  }
  return moved;
}

std::int64_t Rendezvous::post_stripe(Transfer& transfer, Direction direction, const Stripe& stripe) {
  Subchannel& subchannel = transfer.peer->subchannels()[stripe.subchannel];
  Rail& rail = subchannel.rail;
  const std::int32_t requests = direction == Direction::write ? 2 : 1;
  if (!subchannel.room_for(requests, static_cast<std::int32_t>(context_.knobs.rail_send_depth))) return 0;
  if (direction == Direction::read && read_tokens_ == 0) {
    ++context_.counters.read_tokens_waited;
    return 0;
  }
  std::int64_t bytes = subchannel.stripe_flow.room(stripe.bytes, subchannel.bytes_queued);
  CongestionWindow& port_flow = direction == Direction::read ? rail.read_flow : rail.write_flow;
  if (bytes > 0 && direction == Direction::read) bytes = port_flow.room(bytes, rail.bytes_queued);
  if (bytes == 0) return 0;
  // What is written waits in the own adapter, which does no harm.
  if (direction == Direction::write) port_flow.note_demand(bytes, rail.bytes_queued);
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = direction == Direction::write ? WorkEntry::Kind::write : WorkEntry::Kind::read;
  entry.sequenced = false;
  entry.transfer = transfer.name.place;
  entry.offset = stripe.offset;
  entry.size = bytes;
  entry.posted = context_.now;
  entry.watched = 0;
  entry.queued_before = subchannel.bytes_queued;
  entry.delivered_before = subchannel.stripe_flow.delivered();
  entry.port_delivered_before = port_flow.delivered();
  const bool posted = direction == Direction::write ? post_write(transfer, entry, subchannel)
                                                    : post_read(transfer, entry, subchannel);
  if (!posted) {
    resources_.free_entry(&entry);
    return 0;
  }
  if (transfer.reissued) upward_.subchannels->on_reissued(bytes);
  context_.counters.bytes_striped += static_cast<std::uint64_t>(bytes);
  ++transfer.in_flight;
  transfer.posted += bytes;
  resources_.entries.place(entry, WorkEntry::Place::in_flight);
  entry.subchannel = &subchannel;
  entry.connection_generation = subchannel.connection_generation();
  subchannel.outstanding += requests;
  rail.outstanding += requests;
  subchannel.bytes_queued += bytes;
  rail.bytes_queued += bytes;
  context_.status.posted(subchannel.status_row, bytes);
  subchannel.in_flight.push_back(&entry);
  return bytes;
}

// The peer's memory, over this subchannel.
static std::uint32_t key_over(const Transfer& transfer, const Subchannel& subchannel) {
  std::size_t rail = subchannel.remote_rail;
  if (planted(PlantedBug::wrong_key) && transfer.reissued) rail ^= 1;
  return transfer.remote.keys[rail];
}

// A write and its finish, one entry: what completes the finish completes the write.
bool Rendezvous::post_write(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  entry.small = true;
  entry.buffer = resources_.small_packets.take();
  if (entry.buffer == nullptr) return false;
  const FinishBody body{transfer.other, entry.offset, entry.size};
  entry.packet_kind = PacketKind::finish;
  entry.sequence_number = 0;
  std::memcpy(entry.buffer->data + sizeof(PacketHeader), &body, sizeof(body));
  entry.bytes = sizeof(PacketHeader) + sizeof(body);
  const std::size_t device = subchannel.rail.device_number();
  rdma::SendRequest requests[2];
  requests[0].id = entry.work_id();
  requests[0].opcode = rdma::Opcode::write;
  requests[0].signaled = false;
  requests[0].segment_count = 1;
  requests[0].segments[0] = {transfer.registration.address + entry.offset,
                             static_cast<std::uint32_t>(entry.size), transfer.registration.local_key(device)};
  requests[0].remote_address = transfer.remote.address + static_cast<std::uint64_t>(entry.offset);
  requests[0].remote_key = key_over(transfer, subchannel);
  requests[1] = transfer.peer->packet_request(subchannel, entry);
  const int posted = subchannel.queue_pair->post_send(requests);
  if (posted == 0) return false;
  // Half of it: the finish never goes out, so neither may anything behind it.
  if (posted == 1)
    upward_.subchannels->on_half_posted(subchannel);
  else
    transfer.peer->note_acknowledged_to_peer();
  entry.ordinal = subchannel.sent++;
  ++context_.counters.stripes_written;
  return true;
}

bool Rendezvous::post_read(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  rdma::SendRequest request;
  request.id = entry.work_id();
  request.opcode = rdma::Opcode::read;
  request.segment_count = 1;
  request.segments[0] = {transfer.registration.address + entry.offset, static_cast<std::uint32_t>(entry.size),
                         transfer.registration.local_key(subchannel.rail.device_number())};
  request.remote_address = transfer.remote.address + static_cast<std::uint64_t>(entry.offset);
  request.remote_key = key_over(transfer, subchannel);
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) return false;
  --read_tokens_;
  ++context_.counters.stripes_read;
  return true;
}

void Rendezvous::on_stripe_done(WorkEntry& entry) {
  const bool read = entry.kind == WorkEntry::Kind::read;
  Transfer& transfer = read ? fetches_[entry.transfer] : exposures_[entry.transfer];
  if (read) ++read_tokens_;
  --transfer.in_flight;
  transfer.posted -= entry.size;
  transfer.done += entry.size;
  if (read) {
    resources_.free_entry(&entry);
    if (transfer.done < transfer.size) return;
    HAWSER_ASSERT(transfer.remaining.empty() && transfer.in_flight == 0);
    end_fetch(transfer);
    return;
  }
  resources_.small_packets.give_back(entry.buffer);
  entry.buffer = nullptr;
  resources_.entries.place(entry, WorkEntry::Place::retained);
  transfer.acknowledged.push_back(&entry);
  if (written(transfer)) end_exposure(transfer);
}

void Rendezvous::take_back(const Subchannel& subchannel, std::uint32_t received) {
  for (std::uint32_t place = 0; place < exposures_.places(); ++place) {
    Transfer& transfer = exposures_[place];
    for (WorkEntry* entry = transfer.acknowledged.front(); entry != nullptr;) {
      WorkEntry* const next = transfer.acknowledged.next(entry);
      if (entry->subchannel == &subchannel &&
          entry->connection_generation == subchannel.connection_generation() &&
          sequence_distance(entry->ordinal, received) >= 0) {
        transfer.acknowledged.remove(entry);
        ++context_.counters.taken_back;
        ++transfer.in_flight;
        transfer.posted += entry->size;
        transfer.done -= entry->size;
        on_stripe_failed(*entry);
      }
      entry = next;
    }
  }
}

void Rendezvous::on_stripe_failed(WorkEntry& entry) {
  const bool read = entry.kind == WorkEntry::Kind::read;
  Transfer& transfer = read ? fetches_[entry.transfer] : exposures_[entry.transfer];
  if (read) ++read_tokens_;
  --transfer.in_flight;
  transfer.posted -= entry.size;
  transfer.reissued = true;
  transfer.remaining.push_back({entry.offset, entry.size});
  ++context_.counters.stripes_reissued;
  context_.counters.bytes_reissued += static_cast<std::uint64_t>(entry.size);
  resources_.free_entry(&entry);
  if (transfer.link.linked()) return;
  // Before those that were not begun: whoever waits waits for the oldest.
  TransferList& list = read ? to_read_ : to_write_;
  Transfer* behind = list.front();
  while (behind != nullptr && behind->begun()) behind = list.next(behind);
  list.insert(behind, &transfer);
}

}  // namespace hawser
