#include "rails/decision/room_agreement.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser {
namespace {

// The place of a process in the order in which they wait for each other.
std::uint64_t place_of(ProcessIndex process) {
  std::uint64_t x = static_cast<std::uint64_t>(process) + 0x9E3779B97F4A7C15u;  // splitmix64: a permutation
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

// Entries.

RoomAgreement::Entry* RoomAgreement::find(ProcessIndex peer) {
  const auto found = entries_.find(peer);
  return found == entries_.end() ? nullptr : &found->second;
}

const RoomAgreement::Entry* RoomAgreement::find(ProcessIndex peer) const {
  const auto found = entries_.find(peer);
  return found == entries_.end() ? nullptr : &found->second;
}

RoomAgreement::Entry& RoomAgreement::obtain(ProcessIndex peer, std::int32_t pairs, Nanoseconds now) {
  if (Entry* known = find(peer)) return *known;
  if (entries_.empty()) moved_ = now;
  Entry& entry = entries_[peer];
  entry.peer = peer;
  entry.pairs = pairs;
  waiting_.push_back(&entry);
  return entry;
}

RoomAgreement::List& RoomAgreement::list_of(State state) {
  return state == State::waiting ? waiting_ : state == State::resting ? resting_ : kept_;
}

void RoomAgreement::move(Entry& entry, State state, Nanoseconds due) {
  const auto keeps = [](State each) { return each == State::asked || each == State::agreed; };
  if (keeps(entry.state) != keeps(state)) taken_ += keeps(state) ? kept(entry) : -kept(entry);
  if (keeps(state) && entry.unanswered) {
    entry.unanswered = false;
    --unanswered_count_;
  }
  asked_count_ += (state == State::asked) - (entry.state == State::asked);
  list_of(entry.state).remove(&entry);
  list_of(state).push_back(&entry);
  entry.state = state;
  entry.due = due;
  entry.begins = false;
}

void RoomAgreement::rest(Entry& entry, Nanoseconds now) {
  move(entry, State::resting, now + std::min(RoomTimes::first_rest << entry.rests, RoomTimes::longest_rest));
  entry.rests = static_cast<std::uint8_t>(std::min(entry.rests + 1, 10));
}

void RoomAgreement::erase(Entry& entry) {
  move(entry, State::waiting, 0);
  unanswered_count_ -= entry.unanswered;
  waiting_.remove(&entry);
  entries_.erase(entry.peer);
}

void RoomAgreement::forget(ProcessIndex peer) {
  if (Entry* entry = find(peer)) erase(*entry);
}

// Events.

bool RoomAgreement::want(ProcessIndex peer, std::int32_t pairs, Nanoseconds now) {
  if (find(peer) != nullptr) return false;
  obtain(peer, pairs, now);
  return true;
}

void RoomAgreement::on_request(ProcessIndex peer, std::int32_t pairs, Nanoseconds now) {
  obtain(peer, pairs, now).requests = true;
}

// Both have room.
void RoomAgreement::agree(Entry& entry, Nanoseconds now) {
  move(entry, State::agreed, now + RoomTimes::making_time);
  moved_ = now;
}

void RoomAgreement::begin(Entry& entry) {
  entry.begins = true;
  add(Action::Kind::connect, entry);
}

void RoomAgreement::on_question(ProcessIndex peer, std::int32_t pairs, Nanoseconds now) {
  Entry& entry = obtain(peer, pairs, now);
  entry.silences = 0;
  switch (entry.state) {
    case State::agreed:
      return add(Action::Kind::yes, entry);
    case State::asked:  // each asks the other one
      agree(entry, now);
      add(Action::Kind::yes, entry);
      if (self_ < peer) begin(entry);
      return;
    case State::waiting:
    case State::resting:
      if (room_for(kept(entry)) || stuck(now)) {
        beyond_ += !room_for(kept(entry));
        agree(entry, now);
        return add(Action::Kind::yes, entry);
      }
      if (asked_count_ > 0 && place_of(peer) < place_of(self_)) {
        unanswered_count_ += !entry.unanswered;
        entry.unanswered = true;
        return;
      }
      add(Action::Kind::not_now, entry);
      // It wants to, so it is asked as soon as there is room.
      if (entry.state == State::resting) move(entry, State::waiting, 0);
      return;
  }
}

void RoomAgreement::on_yes(ProcessIndex peer, std::int32_t pairs, Nanoseconds now) {
  Entry* const entry = find(peer);
  if (entry == nullptr || entry->state == State::agreed) return;
  // It may come so late that the room is gone.
  if (entry->state != State::asked && !room_for(pairs)) return add(Action::Kind::not_now, *entry);
  agree(*entry, now);
  begin(*entry);
}

void RoomAgreement::on_not_now(ProcessIndex peer, Nanoseconds now) {
  Entry* const entry = find(peer);
  if (entry == nullptr || (entry->state != State::asked && entry->state != State::agreed)) return;
  entry->silences = 0;
  if (entry->made == 0) rest(*entry, now);
}

void RoomAgreement::on_made(ProcessIndex peer, std::int32_t pairs) {
  Entry* const entry = find(peer);
  if (entry == nullptr) return;
  const bool keeps = entry->state == State::asked || entry->state == State::agreed;
  if (keeps) taken_ -= kept(*entry);
  entry->made = std::min(pairs, entry->pairs);
  if (keeps) taken_ += kept(*entry);
  if (entry->made == entry->pairs) erase(*entry);
}

void RoomAgreement::on_parted(ProcessIndex peer) {
  Entry* const entry = find(peer);
  if (entry != nullptr && entry->made > 0) erase(*entry);
}

void RoomAgreement::set_queue_pairs(std::int32_t count) {
  taken_ += count - queue_pairs_;
  queue_pairs_ = count;
}

// What there is room for.

void RoomAgreement::end_late(Nanoseconds now) {
  Entry* next = kept_.front();
  while (Entry* const entry = next) {
    next = kept_.next(entry);
    if (now < entry->due) continue;
    if (entry->state == State::agreed) {
      erase(*entry);
      lapsed_ = true;
    } else if (++entry->silences < RoomTimes::most_silences) {
      rest(*entry, now);
    } else {
      agree(*entry, now);
      begin(*entry);
    }
  }
}

void RoomAgreement::wake(Nanoseconds now) {
  Entry* next = resting_.front();
  while (Entry* const entry = next) {
    next = resting_.next(entry);
    if (now >= entry->due) move(*entry, State::waiting, 0);
  }
}

void RoomAgreement::let_in(Entry& entry, Nanoseconds now) {
  if (entry.unanswered) {
    agree(entry, now);
    add(Action::Kind::yes, entry);
  } else if (entry.requests) {
    agree(entry, now);
    add(Action::Kind::admit, entry);
  } else {
    move(entry, State::asked, now + RoomTimes::answer_time);
    add(Action::Kind::ask, entry);
  }
}

void RoomAgreement::settle(Nanoseconds now) {
  // Peers that wait for an answer come first: they keep room for it.
  for (List* list : {&waiting_, &resting_}) {
    Entry* next = unanswered_count_ > 0 ? list->front() : nullptr;
    while (Entry* const entry = next) {
      next = list->next(entry);
      if (!entry->unanswered) continue;
      if (room_for(kept(*entry))) {
        let_in(*entry, now);
      } else if (asked_count_ == 0) {
        entry->unanswered = false;
        --unanswered_count_;
        add(Action::Kind::not_now, *entry);
      }
    }
  }
  while (Entry* const first = waiting_.front()) {
    if (!room_for(kept(*first))) break;
    let_in(*first, now);
  }
}

void RoomAgreement::look(Nanoseconds now) {
  if (entries_.empty()) return;
  end_late(now);
  wake(now);
  settle(now);
  if (!stuck(now) || now < beyond_again_) return;
  ++beyond_;
  beyond_again_ = now + RoomTimes::patience;
  let_in(*waiting_.front(), now);
}

bool RoomAgreement::has_room(ProcessIndex peer) const {
  const Entry* const entry = find(peer);
  return entry != nullptr && (entry->state == State::asked || entry->state == State::agreed);
}

bool RoomAgreement::begins(ProcessIndex peer) const {
  const Entry* const entry = find(peer);
  return entry != nullptr && entry->begins;
}

std::int32_t RoomAgreement::excess() const {
  std::int32_t wanted = 0;
  int peers = RoomTimes::most_asked - asked_count_;
  for (const Entry* entry = waiting_.front(); entry != nullptr && peers > 0; entry = waiting_.next(entry)) {
    wanted += kept(*entry);
    --peers;
  }
  return taken_ + wanted - most_;
}

Nanoseconds RoomAgreement::deadline() const {
  Nanoseconds due = waiting_.empty() ? never : std::max(moved_ + RoomTimes::patience, beyond_again_);
  for (const List* list : {&kept_, &resting_})
    for (const Entry* entry = list->front(); entry != nullptr; entry = list->next(entry))
      due = std::min(due, entry->due);
  return due;
}

void RoomAgreement::check_invariants() const {
  std::int32_t taken = queue_pairs_;
  int asked = 0, unanswered = 0;
  for (const auto& [peer, entry] : entries_) {
    const bool keeps = entry.state == State::asked || entry.state == State::agreed;
    taken += keeps ? kept(entry) : 0;
    asked += entry.state == State::asked;
    unanswered += entry.unanswered;
    HAWSER_ASSERT(entry.peer == peer && entry.link.linked() && (!keeps || !entry.unanswered) &&
                  (entry.state == State::agreed || !entry.begins));
  }
  HAWSER_ASSERT(taken == taken_);
  HAWSER_ASSERT(asked == asked_count_ && unanswered == unanswered_count_);
}

}  // namespace hawser
