// The door of a SocketChannel: who may come in, how long strangers may stand in it, and what if there is no
// room.
#include "base/failure.h"
#include "channel/socket_channel.h"

namespace hawser {
namespace {

// How long a connection may be silent before its hello, and how long while others wait at the door.
constexpr Nanoseconds verification_time = 10 * second, crowded_verification_time = 100 * millisecond;

}  // namespace

// Anybody may connect. Who has not said the secret holds one of a few places, for a limited time; others wait
// in the system's queue.
void SocketChannel::accept_some(TransportEvents& events) {
  bool exhausted = false;
  while (unverified_.size() < most_unverified_) {
    FileDescriptor accepted = accept_tcp(listener_, exhausted);
    if (!accepted.valid()) break;
    const std::uint64_t key = next_key_++;
    auto connection = std::make_unique<IncomingConnection>(std::move(accepted), now_);
    if (!ready_.add(connection->socket(), key, true, false)) continue;
    incoming_.emplace(key, std::move(connection));
    unverified_.push_back(key);
  }
  note_full(exhausted, events);
  if (!exhausted && unverified_.size() < most_unverified_) return;
  // What waits would be reported all the time, and nobody would ever sleep.
  ready_.remove(listener_);
  listening_ = false;
  listen_at_ = exhausted ? now_ + crowded_verification_time : now_;
  if (exhausted && !unverified_.empty()) turn_away(unverified_.front());
}

// Who waits at the door may be a stranger, so this must not end the job; but if it is one of us, the job
// waits.
void SocketChannel::note_full(bool full, TransportEvents& events) {
  if (!full) return descriptors_short_.end();
  if (!descriptors_short_.lasts(now_)) return;
  events.on_notice(
      fmt::format("cannot accept a connection, because all {} open files that the limit allows are in use. "
                  "Raise the limit (ulimit -n), or the job may wait for ever.",
                  descriptor_limit()));
}

Nanoseconds SocketChannel::patience() const {
  return unverified_.size() < most_unverified_ ? verification_time : crowded_verification_time;
}

void SocketChannel::watch_unverified() {
  while (!unverified_.empty() && now_ - incoming_.at(unverified_.front())->since >= patience())
    turn_away(unverified_.front());
  if (!listening_ && unverified_.size() < most_unverified_ && now_ >= listen_at_) listen_again();
}

void SocketChannel::listen_again() {
  listening_ = true;
  (void)ready_.add(listener_, listener_key, true, false);
}

void SocketChannel::turn_away(std::uint64_t key) {
  std::erase(unverified_, key);
  const auto found = incoming_.find(key);
  ready_.remove(found->second->socket());
  incoming_.erase(found);
}

Nanoseconds SocketChannel::deadline() const {
  if (!due_.empty() || !landed_.empty()) return now_;
  Nanoseconds deadline = never;
  if (!unverified_.empty()) deadline = incoming_.at(unverified_.front())->since + patience();
  if (!listening_ && unverified_.size() < most_unverified_) deadline = std::min(deadline, listen_at_);
  return deadline;
}

}  // namespace hawser
