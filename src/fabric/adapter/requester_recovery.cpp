// What the requester does with answers, and with their absence.
#include <algorithm>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/psn.h"
#include "fabric/adapter/requester.h"
#include "fabric/adapter/timing.h"

namespace hawser::fabric {

Nanoseconds Requester::timeout() const { return acknowledge_timeout(queue_pair_.attributes().timeout); }

// The time-out runs while an answer is awaited: from the packet that asks for it, since the other end owes
// none for those before, and this end may have to wait for its turn to send. The event is not moved at every
// acknowledgement: it looks at the deadline when it fires.
void Requester::watch() {
  if (deadline_ != never || timeout() == never || paused_) return;
  deadline_ = queue_pair_.adapter().now() + timeout();
  if (!timeout_event_.scheduled())
    queue_pair_.adapter().services().events.schedule(timeout_event_, deadline_);
}

void Requester::progressed() {
  retries_left_ = queue_pair_.attributes().retry_count;
  rnr_retries_left_ = queue_pair_.attributes().rnr_retry;
  lost_response_psn_.reset();
  deadline_ = never;
  if (psn_distance(last_request_psn_, unacked_psn_) > 0) watch();
}

void Requester::on_timeout(Nanoseconds now) {
  if (deadline_ == never) return;
  if (now < deadline_) {
    queue_pair_.adapter().services().events.schedule(timeout_event_, deadline_);
    return;
  }
  deadline_ = never;
  if (!use_retry()) return;
  go_back(unacked_psn_);
  queue_pair_.kick();
}

bool Requester::use_retry() {
  if (retries_left_ > 0) {
    constexpr std::uint8_t for_ever = 7;
    if (queue_pair_.attributes().retry_count != for_ever ||
        !queue_pair_.adapter().services().parameters.endless_retries)
      --retries_left_;
    ++retries_;
    return true;
  }
  if (!queue_pair_.migrate_on_failure()) queue_pair_.fail(CompletionStatus::retry_exceeded_error);
  return false;
}

void Requester::resend_all() {
  retries_left_ = queue_pair_.attributes().retry_count;
  deadline_ = never;
  if (unacked_psn_ != sent_psn_) go_back(unacked_psn_);
}

// Sending goes on at `psn`, unless it is to go on before it anyway.
void Requester::go_back(std::uint32_t psn) {
  for (std::uint64_t i = head_; i <= cursor_ && i < tail_; ++i) {
    const SendEntry& each = entry(i);
    if (!each.started) return;
    if (psn_distance(psn, psn_add(each.first_psn, each.psn_count)) >= 0) continue;
    const std::int32_t ahead = std::max(0, psn_distance(psn, each.first_psn));
    const std::uint64_t offset =
        each.expects_data() ? 0 : static_cast<std::uint64_t>(ahead) * queue_pair_.mtu();
    if (i < cursor_ || offset < cursor_offset_) {
      cursor_ = i;
      cursor_offset_ = offset;
      last_request_psn_ = psn;
    }
    return;
  }
}

void Requester::acknowledge_until(std::uint32_t psn) {
  if (psn_distance(psn, sent_psn_) > 0) return;  // of what was never sent
  const std::uint32_t heard = psn;
  if (psn_distance(heard, heard_psn_) > 0) {
    heard_psn_ = heard;
    retries_left_ = queue_pair_.attributes().retry_count;
  }
  // An acknowledgement of something behind a read means that the read's answer was lost.
  std::optional<std::uint32_t> lost;
  for (std::uint64_t i = head_; i < tail_; ++i) {
    const SendEntry& each = entry(i);
    if (!each.started || psn_distance(each.first_psn, psn) >= 0) break;
    if (!each.expects_data() || each.done) continue;
    const std::uint32_t missing =
        psn_add(each.first_psn, static_cast<std::uint32_t>(each.received / queue_pair_.mtu()));
    if (psn_distance(missing, psn) < 0) {
      psn = missing;
      lost = missing;
    }
    break;
  }
  if (psn_distance(psn, unacked_psn_) > 0) {
    unacked_psn_ = psn;
    progressed();
    // Nothing that has arrived is sent again.
    while (cursor_ < tail_ && entry(cursor_).started) {
      const SendEntry& next = entry(cursor_);
      const std::uint32_t end = psn_add(next.first_psn, next.psn_count);
      if (psn_distance(psn, end) >= 0 && (!next.expects_data() || next.done)) {
        ++cursor_;
        cursor_offset_ = 0;
        continue;
      }
      const std::int32_t ahead = psn_distance(psn, next.first_psn);
      if (!next.expects_data() && ahead > 0) {
        cursor_offset_ = std::max(cursor_offset_, static_cast<std::uint64_t>(ahead) * queue_pair_.mtu());
      }
      break;
    }
    complete_in_order();
  }
  if (lost) response_lost(*lost, heard);
}

// Asked for again once, unless something that was sent after the second request is answered, and it is not.
void Requester::response_lost(std::uint32_t psn, std::uint32_t heard) {
  if (lost_response_psn_ == psn && psn_distance(heard, asked_again_psn_) <= 0) return;
  lost_response_psn_ = psn;
  asked_again_psn_ = sent_psn_;
  if (use_retry()) {
    go_back(psn);
    queue_pair_.kick();
  }
}

void Requester::receive_acknowledge(const Packet& packet) {
  const FabricServices& services = queue_pair_.adapter().services();
  if (packet.congestion_echo && services.parameters.congestion_control)
    queue_pair_.congestion.notify(services.parameters, services.events.now());
  // Of an older try, or of nothing we know.
  if (psn_distance(packet.psn, unacked_psn_) < 0 || psn_distance(packet.psn, sent_psn_) >= 0) return;
  if (packet.syndrome == Syndrome::positive) {
    acknowledge_until(psn_add(packet.psn, 1));
    queue_pair_.kick();
    return;
  }
  acknowledge_until(packet.psn);
  if (queue_pair_.state() == QpState::err) return;
  switch (packet.syndrome) {
    case Syndrome::positive:
    case Syndrome::lost:
      HAWSER_UNREACHABLE();
    case Syndrome::sequence_error:
      if (!use_retry()) return;
      go_back(packet.psn);
      queue_pair_.kick();
      return;
    case Syndrome::receiver_not_ready: {
      constexpr std::uint8_t for_ever = 7;
      if (queue_pair_.attributes().rnr_retry != for_ever && rnr_retries_left_-- == 0) {
        queue_pair_.fail(CompletionStatus::receiver_not_ready_retry_exceeded_error);
        return;
      }
      ++retries_;
      go_back(packet.psn);
      paused_ = true;
      deadline_ = never;
      queue_pair_.adapter().services().events.schedule(
          pause_event_, queue_pair_.adapter().now() + receiver_not_ready_time(packet.rnr_timer));
      return;
    }
    case Syndrome::invalid_request:
      return queue_pair_.fail(CompletionStatus::remote_invalid_request_error);
    case Syndrome::remote_access_error:
      return queue_pair_.fail(CompletionStatus::remote_access_error);
    case Syndrome::remote_operation_error:
      return queue_pair_.fail(CompletionStatus::remote_operation_error);
  }
}

void Requester::on_pause_end(Nanoseconds) {
  paused_ = false;
  queue_pair_.kick();
}

// ---- answers with data ----

// The oldest. Answers to later ones are not taken before its own has come, or the responder, which remembers
// only as many results as may be outstanding, could forget the one that is missing.
SendEntry* Requester::find_unanswered() {
  for (std::uint64_t i = head_; i < tail_; ++i) {
    SendEntry& each = entry(i);
    if (!each.started) return nullptr;
    if (each.expects_data() && !each.done) return &each;
  }
  return nullptr;
}

namespace {

std::optional<CompletionStatus> status_of(DmaResult placed) {
  switch (placed) {
    case DmaResult::done:
      return CompletionStatus::success;
    case DmaResult::destination_gone:
      return CompletionStatus::local_protection_error;
    case DmaResult::lost:
      return std::nullopt;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace

// Nothing when the answer counts as lost, because the other end's memory is gone.
std::optional<CompletionStatus> Requester::place_response(SendEntry& entry, Packet& packet) {
  Adapter& adapter = queue_pair_.adapter();
  const SpaceId space = queue_pair_.context().space();
  std::vector<Piece> pieces;
  if (!gather_pieces(adapter.memory(), queue_pair_.configuration().domain, entry.segments, entry.received,
                     packet.length, access_local_write, pieces)) {
    return CompletionStatus::local_protection_error;
  }
  if (packet.length == 0) return CompletionStatus::success;
  if (packet.kind == PacketKind::atomic_response) {
    std::byte bytes[sizeof packet.atomic_result];
    std::copy_n(reinterpret_cast<const std::byte*>(&packet.atomic_result), sizeof bytes, bytes);
    return status_of(adapter.services().dma.write(space, pieces, bytes));
  }
  return status_of(adapter.place_payload(packet, 0, space, pieces));
}

void Requester::receive_response(Packet& packet) {
  SendEntry* answered = find_unanswered();
  if (answered == nullptr) return;
  const auto done = static_cast<std::uint32_t>(answered->received / queue_pair_.mtu());
  const std::int32_t ahead = psn_distance(packet.psn, psn_add(answered->first_psn, done));
  // A gap: everything before the missing part counts as acknowledged, and it is asked for again.
  if (ahead > 0) return acknowledge_until(packet.psn);
  if (ahead < 0) return;
  const std::optional<CompletionStatus> placed = place_response(*answered, packet);
  if (!placed) return;
  if (placed != CompletionStatus::success) {
    acknowledge_until(answered->first_psn);
    answered->failure = *placed;
    complete_in_order();
    return;
  }
  answered->received += packet.length;
  const std::uint32_t end = psn_add(packet.psn, packet.psn_count);
  if (end == psn_add(answered->first_psn, answered->psn_count)) {
    answered->done = true;
    --data_requests_;
  }
  acknowledge_until(end);
  queue_pair_.kick();
}

}  // namespace hawser::fabric
