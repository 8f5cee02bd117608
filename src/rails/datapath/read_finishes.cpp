#include "rails/datapath/read_finishes.h"

#include <algorithm>
#include <utility>

#include "rails/datapath/virtual_channel.h"

namespace hawser {

// A finish keeps what is posted behind it on its queue pair from beginning before the reads are done. So it
// stands behind all reads of this pass, and only a transfer that was posted as a whole, over subchannels that
// had nothing to read before, has any.
//
// In a call of MPI, which may wait, the end of the read is seen at once, and a done holds nothing up.
void ReadFinishes::post_added() {
  for (std::size_t first = 0, end; first < added_.size(); first = end) {
    StripedTransfer& transfer = *added_[first]->transfer;
    for (end = first; end < added_.size() && added_[end]->transfer == &transfer;) ++end;
    const Reads reads(added_.data() + first, end - first);
    std::ranges::sort(reads, {},
                      [](const WorkEntry* read) { return std::pair(read->subchannel->index, read->offset); });
    transfer.sent_before_ = sent_to(*transfer.peer_);
    transfer.program_ = context_.program;
    transfer.finished_ = context_.program != ProgramState::waits &&
                         with(*transfer.peer_).choice(context_.program).suits() && post(transfer, reads);
    context_.open_reads.without_finishes |= !transfer.finished_;
    if (counts(transfer)) reads_ += transfer.in_flight_;
  }
  added_.clear();
}

// False: the peer is to be told in another way.
bool ReadFinishes::post(StripedTransfer& transfer, Reads reads) {
  if (!transfer.rest_.empty() || transfer.reissued_ || transfer.moved_ > 0 ||
      transfer.in_flight_ != static_cast<std::int32_t>(reads.size()))
    return false;
  const auto idle_before = [&](const WorkEntry* read) {
    return std::ranges::any_of(added_, [&](const WorkEntry* other) {
      return other->subchannel == read->subchannel && other->before.queued == 0;
    });
  };
  if (!std::ranges::all_of(reads, idle_before)) return false;
  for (std::size_t first = 0, end; first < reads.size(); first = end) {
    for (end = first; end < reads.size() && reads[end]->subchannel == reads[first]->subchannel;) ++end;
    if (!post_one(transfer, reads.subspan(first, end - first))) return false;
  }
  return true;
}

// For reads of one subchannel.
bool ReadFinishes::post_one(StripedTransfer& transfer, Reads reads) {
  Subchannel& subchannel = *reads.front()->subchannel;
  ReadFinishBody body{transfer.remote_name_, 0};
  for (const WorkEntry* read : reads) body.size += read->size;
  const std::uint32_t ordinal = subchannel.traffic.sent;
  if (!subchannel.peer.send_on(subchannel, PacketKind::read_finish, std::as_bytes(std::span(&body, 1)), 0,
                               true))
    return false;
  for (WorkEntry* read : reads) {
    read->ordinal = ordinal;
    read->packet_kind = PacketKind::read_finish;
  }
  return true;
}

void ReadFinishes::forget(StripedTransfer& transfer) {
  transfer.wants_finishes_ = false;
  if (counts(transfer)) reads_ -= transfer.in_flight_;
  transfer.finished_ = false;
}

ReadFinishes::Peer& ReadFinishes::with(const VirtualChannel& peer) {
  const auto place = static_cast<std::size_t>(peer.process());
  if (place >= peers_.size()) peers_.resize(place + 1);
  return peers_[place];
}

// Packets that the program caused.
std::uint32_t ReadFinishes::sent_to(const VirtualChannel& peer) {
  return peer.window().sent() - with(peer).told;
}

// A program that sends nothing while it computes does not do so in its next call, either, as far as is known.
void ReadFinishes::learn(const StripedTransfer& transfer) {
  Peer& peer = with(*transfer.peer_);
  const bool talked = sent_to(*transfer.peer_) != transfer.sent_before_;
  peer.choice(transfer.program_).on_read(talked, transfer.finished_);
  if (!talked && transfer.program_ == ProgramState::computes) peer.begins.on_read(false, false);
}

void ReadFinishes::on_read(const WorkEntry& read) {
  const StripedTransfer& transfer = *read.transfer;
  if (transfer.wants_finishes_ && transfer.program_ != ProgramState::waits && transfer.in_flight_ == 0 &&
      transfer.rest_.empty())
    learn(transfer);
  SubchannelTraffic& traffic = read.subchannel->traffic;
  WorkEntry* const behind = traffic.in_flight.front();
  if (behind == nullptr || behind->kind != WorkEntry::Kind::packet ||
      behind->packet_kind != PacketKind::read_finish)
    return;
  // It leaves only now.
  behind->posted = context_.now;
  behind->before.delivered = traffic.packet_flow.delivered();
}

}  // namespace hawser
