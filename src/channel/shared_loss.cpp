// A neighbour that has failed: what it said last is read, and what waits for it ends in error.
#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "channel/shared_memory_channel.h"

namespace hawser {

void SharedMemoryChannel::give_up(ProcessIndex process, const Error& error, TransportEvents& events) {
  const std::int32_t place = place_of(process);
  if (place < 0 || place == self_ || peer_of(process).lost) return;
  Peer& peer = peer_of(process);
  read_last_words(peer, events);
  peer.lost = true;
  died_[static_cast<std::size_t>(place)] = true;
  forget_port_user(segment_.ports(), place);
  pending_slots_ -= peer.pending.size();
  peer.pending.clear();
  std::erase(contradictions_, &peer);
  std::erase(polled_, &peer);
  if (std::exchange(peer.eager_size, 0) != 0) tell(peer.sink.end, error);
  end_sends(peer, error);
  end_fetches(peer, error);
  events.on_peer_lost(process, error);
}

void SharedMemoryChannel::tell_refused() {
  for (Completion* end : std::exchange(refused_, {}))
    tell(end, failure(ErrorKind::peer_lost, "the process has failed"));
}

// Messages that it had published before it failed are whole, but for the last, if that came in pieces.
void SharedMemoryChannel::read_last_words(Peer& peer, TransportEvents& events) {
  if (std::find(polled_.begin(), polled_.end(), &peer) == polled_.end()) admit_senders();
  while (const Slot* slot = peer.receiver.front()) drain(peer, slot, events);
  peer.receiver.close();
}

void SharedMemoryChannel::end_sends(Peer& peer, const Error& error) {
  std::erase_if(streams_, [&](const auto& stream) { return stream->peer == &peer; });
  for (std::uint32_t id = 0; id < exposed_.size(); ++id) {
    if (exposed_[id].peer != &peer) continue;
    Completion* const end = exposed_[id].end;
    exposed_[id] = {};
    free_exposed_.push_back(id);
    tell(end, error);
  }
}

void SharedMemoryChannel::end_fetches(Peer& peer, const Error& error) {
  std::vector<Fetch*> ended;
  for (auto* list : {&fetches_, &without_number_}) {
    for (Fetch* fetch = list->front(); fetch != nullptr;) {
      Fetch* const next = list->next(fetch);
      if (fetch->peer == &peer) {
        list->remove(fetch);
        ended.push_back(fetch);
      }
      fetch = next;
    }
  }
  // Those that are reported and were kept because it might still write to their places.
  for (Fetch* fetch : fetch_by_number_) {
    if (fetch == nullptr || fetch->peer != &peer || !fetch->reported) continue;
    fetch->left = true;
    retire_if_over(*fetch);
  }
  for (Fetch* fetch : ended) {
    Completion* const end = fetch->end;
    fetch->reported = fetch->left = true;
    retire_if_over(*fetch);
    tell(end, error);
  }
}

}  // namespace hawser
