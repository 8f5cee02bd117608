#include "rails/recovery/multicast_rails.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/siphash.h"

namespace hawser {
namespace {

constexpr Nanoseconds first_join_pause = 20 * millisecond, longest_join_pause = 4 * second;
constexpr Nanoseconds look_at_down_rails = 1 * second;
constexpr Nanoseconds stuck_after = 20 * millisecond;
constexpr std::size_t check_bytes = 8;

bool on_infiniband(const Rail& rail) {
  return rail.attributes().address.link_layer == rdma::LinkLayer::infiniband;
}

bool has_multicast(const Rail& rail) {
  return rail.up() && rail.attributes().address.transport == rdma::Transport::verbs;
}

}  // namespace

MulticastRails::MulticastRails(RailContext& context, const RailResources& resources, TimerList& timers)
    : context_(context), resources_(resources), timers_(timers) {
  no_room_since_.fill(-1);
}

std::int32_t MulticastRails::payload_bytes() const {
  std::int32_t least = 0;
  for (const auto& rail : resources_.rails) {
    if (!has_multicast(*rail)) continue;
    const std::int32_t bytes = rail->datagrams().datagram_bytes();
    least = least == 0 ? bytes : std::min(least, bytes);
  }
  constexpr auto taken = static_cast<std::int32_t>(check_bytes + header_bytes);
  return std::max(least - taken, 0);
}

rdma::DatagramQueuePair* MulticastRails::pair_of(const Rail& rail) {
  auto& its = pairs_[rail.number()];
  if (its == nullptr && !rail.dead) {
    auto made = rail.device().make_datagram_queue_pair(rail.port(), datagram_key(context_));
    if (made) its = std::move(made).value();
    any_pair_ |= its != nullptr;
  }
  return its.get();
}

rdma::DatagramQueuePair* MulticastRails::administrator(const Rail& rail) {
  auto& its = administrators_[rail.number()];
  if (its == nullptr && !rail.dead && rail.attributes().sm_lid != 0) {
    auto made = rail.device().make_datagram_queue_pair(rail.port(), rdma::management_key);
    if (made) its = std::move(made).value();
    any_pair_ |= its != nullptr;
  }
  return its.get();
}

// ff12: a group that somebody made for a time, within a subnet. Then what no other job and no other group
// has.
rdma::Gid MulticastRails::gid_of(const MulticastKey& key, const Rail& rail) const {
  struct Name {
    std::uint32_t context, generation, rail, half;
  } name = {key.context, key.generation, rail.number(), 0};
  rdma::Gid gid = {0xff, 0x12, 0x48, 0x57};
  for (std::size_t at = 4; at < gid.size(); at += 6, ++name.half) {
    const std::uint64_t word = siphash(*secret_, std::as_bytes(std::span(&name, 1)));
    std::memcpy(&gid[at], &word, 6);
  }
  return gid;
}

void MulticastRails::join(const MulticastKey& key, Member member) {
  if (!secret_ || (groups_.size() >= most_groups && !groups_.contains(key))) return;
  Group& group = groups_[key];
  const bool more = member == Member::receives && group.member != Member::receives;
  if (more) group.member = member;
  for (const auto& rail : resources_.rails) {
    Membership& at = group.on[rail->number()];
    if (at.state == Membership::State::joined && more) become_member(group, *rail, at.group);
    if (has_multicast(*rail) && at.state == Membership::State::wanted && context_.now >= at.due)
      ask(key, group, *rail);
  }
}

void MulticastRails::ask(const MulticastKey& key, Group& group, const Rail& rail) {
  Membership& at = group.on[rail.number()];
  const Nanoseconds pause =
      std::min(longest_join_pause, first_join_pause << std::min(at.attempts, 10u)) +
      static_cast<Nanoseconds>(context_.random.below(static_cast<std::uint64_t>(first_join_pause)));
  ++at.attempts;
  at.due = context_.now + pause;
  due_ = std::min(due_, at.due);
  timers_.run_before(at.due);
  if (!on_infiniband(rail)) return become_member(group, rail, {gid_of(key, rail), 0, 0});
  at.state = Membership::State::asked;
  if (transactions_ == 0) transactions_ = context_.random.next();
  at.transaction = ++transactions_;
  ask_administrator(key, at, rail, false);
}

bool MulticastRails::ask_administrator(const MulticastKey& key, Membership& at, const Rail& rail,
                                       bool leaves) {
  rdma::DatagramQueuePair* const asked = administrator(rail);
  if (asked == nullptr) return false;
  const rdma::PortAttributes& own = rail.attributes();
  rdma::DatagramAddress to;
  to.port.gids = own.address.gids;  // of the same subnet
  to.port.lid = own.sm_lid;
  to.queue_pair = rdma::management_queue_pair;
  to.service_level = own.sm_sl;
  rdma::MembershipQuestion question;
  question.transaction = at.transaction;
  question.group = gid_of(key, rail);
  question.port = own.address.gids[0];
  question.key = datagram_key(context_);
  question.leaves = leaves;
  return asked->send(to, rdma::encode(question));
}

void MulticastRails::become_member(Group& group, const Rail& rail, const rdma::MulticastGroup& granted) {
  Membership& at = group.on[rail.number()];
  rdma::DatagramQueuePair* const pair = pair_of(rail);
  if (pair == nullptr) return;
  if (at.attached && at.group != granted) {
    pair->detach(at.group);
    at.attached = false;
  }
  at.group = granted;
  if (group.member == Member::receives && !at.attached) {
    if (!pair->attach(granted)) return;  // asked for again later
    at.attached = true;
    ++context_.counters.multicast_groups;
  }
  at.state = Membership::State::joined;
  at.attempts = 0;
  at.due = never;
}

void MulticastRails::stop_receiving(const MulticastKey& key) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  found->second.member = Member::sends_only;
  for (const auto& rail : resources_.rails) {
    Membership& at = found->second.on[rail->number()];
    if (std::exchange(at.attached, false) && pairs_[rail->number()] != nullptr)
      pairs_[rail->number()]->detach(at.group);
  }
}

std::uint32_t MulticastRails::joined(const MulticastKey& key) const {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return 0;
  std::uint32_t rails = 0;
  for (const auto& rail : resources_.rails)
    if (rail->up() && found->second.on[rail->number()].state == Membership::State::joined)
      rails |= 1u << rail->number();
  return rails;
}

void MulticastRails::leave(const MulticastKey& key) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  for (const auto& rail : resources_.rails) {
    Membership& at = found->second.on[rail->number()];
    if (at.attached && pairs_[rail->number()] != nullptr) pairs_[rail->number()]->detach(at.group);
    // If that is lost, the administrator finds out when the port goes down.
    if (at.state == Membership::State::joined && on_infiniband(*rail) && rail->up())
      ask_administrator(key, at, *rail, true);
  }
  groups_.erase(found);
}

std::uint64_t MulticastRails::check(std::span<const std::byte> header,
                                    std::span<const std::byte> payload) const {
  const std::uint64_t of_header = siphash(*secret_, header);
  return context_.knobs.checksum ? of_header ^ siphash({(*secret_)[1], (*secret_)[0]}, payload) : of_header;
}

bool MulticastRails::send(const MulticastKey& key, int number, std::span<const std::byte> header,
                          std::span<const std::byte> payload) {
  HAWSER_ASSERT(header.size() == header_bytes);
  const auto found = groups_.find(key);
  const auto at = static_cast<std::size_t>(number);
  if (found == groups_.end() || pairs_[at] == nullptr || !resources_.rails[at]->up()) return false;
  const Membership& membership = found->second.on[at];
  if (membership.state != Membership::State::joined) return false;
  std::array<std::byte, check_bytes + header_bytes> whole;
  const std::uint64_t checked = check(header, payload);
  std::memcpy(whole.data(), &checked, check_bytes);
  std::memcpy(whole.data() + check_bytes, header.data(), header_bytes);
  if (!pairs_[at]->send_to_group(membership.group, whole, payload)) {
    restart_if_stuck(number);
    return false;
  }
  no_room_since_[at] = -1;
  ++context_.counters.multicast_sent;
  return true;
}

// Nothing leaves, and the port is active: the queue pair hangs.
void MulticastRails::restart_if_stuck(int number) {
  Nanoseconds& since = no_room_since_[static_cast<std::size_t>(number)];
  if (since < 0) since = context_.now;
  if (context_.now - since < stuck_after) return;
  pairs_[static_cast<std::size_t>(number)]->restart();
  since = -1;
}

void MulticastRails::set_due(Nanoseconds due) {
  const bool sooner = due < user_due_;
  user_due_ = due;
  if (sooner) context_.wake_sleeper();
}

bool MulticastRails::take_packet(std::span<const std::byte> bytes) {
  std::uint64_t checked = 0;
  if (bytes.size() < check_bytes + header_bytes) return false;
  std::memcpy(&checked, bytes.data(), check_bytes);
  const auto header = bytes.subspan(check_bytes, header_bytes);
  const auto payload = bytes.subspan(check_bytes + header_bytes);
  if (checked != check(header, payload)) return false;
  ++context_.counters.multicast_received;
  if (handler_ != nullptr) handler_->on_multicast(header, payload);
  return true;
}

void MulticastRails::take_answer(Rail& rail, std::span<const std::byte> bytes) {
  const auto answer = rdma::decode_membership(bytes);
  if (!answer) {
    ++context_.counters.dropped_malformed;
    return;
  }
  for (auto& [key, group] : groups_) {
    Membership& at = group.on[rail.number()];
    if (at.state != Membership::State::asked || at.transaction != answer->transaction) continue;
    at.state = Membership::State::wanted;  // a refusal: asked again at `due`
    if (answer->status == 0 && answer->group.gid == gid_of(key, rail) &&
        128 << answer->mtu >= rail.datagrams().datagram_bytes())
      become_member(group, rail, answer->group);
    return;
  }
}

bool MulticastRails::receive() {
  constexpr int most_at_once = 64;
  bool any = false;
  for (const auto& rail : resources_.rails) {
    const std::uint16_t number = rail->number();
    for (int taken = 0; pairs_[number] != nullptr && taken < most_at_once; ++taken) {
      const std::span<const std::byte> bytes = pairs_[number]->receive();
      if (bytes.empty()) break;
      any = true;
      if (!take_packet(bytes)) ++context_.counters.multicast_dropped;
    }
    for (int taken = 0; administrators_[number] != nullptr && taken < most_at_once; ++taken) {
      const std::span<const std::byte> bytes = administrators_[number]->receive();
      if (bytes.empty()) break;
      any = true;
      take_answer(*rail, bytes);
    }
  }
  return any;
}

void MulticastRails::progress() {
  if (context_.now < due_) return;
  due_ = never;
  for (auto& [key, group] : groups_)
    for (const auto& rail : resources_.rails) {
      Membership& at = group.on[rail->number()];
      if (at.state == Membership::State::joined) continue;
      if (!has_multicast(*rail))
        due_ = std::min(due_, context_.now + look_at_down_rails);
      else if (context_.now >= at.due)
        ask(key, group, *rail);
      else
        due_ = std::min(due_, at.due);
    }
}

void MulticastRails::ask_anew(const Rail& rail) {
  for (auto& [key, group] : groups_) {
    Membership& at = group.on[rail.number()];
    at.state = Membership::State::wanted;
    at.attempts = 0;
    at.due = context_.now;
    due_ = context_.now;
  }
  if (due_ != never) timers_.run_soon();
}

void MulticastRails::on_device_gone(const Rail& rail) {
  pairs_[rail.number()].reset();
  administrators_[rail.number()].reset();
  for (auto& [key, group] : groups_) group.on[rail.number()].attached = false;
  ask_anew(rail);
}

}  // namespace hawser
