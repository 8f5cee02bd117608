#include "rail_network.h"

#include <algorithm>
#include <cmath>

namespace rail_allocation {

void Transfer::fire(Cycles) {
  if (moves_)
    network_->finish(*this);
  else
    network_->absorb(*this);
}

// Channels: to and from each node, then for each level the links between a switch and those above it, by the
// subtree below, the ways chosen so far, and the way chosen now; first all that go up, then all that go down.
RailNetwork::RailNetwork(EventQueue& events, int nodes, double both_ways, Random& random)
    : events_(events), random_(random), both_ways_(both_ways) {
  powers_.push_back(1);
  while (powers_.back() < nodes) powers_.push_back(powers_.back() * arity);
  const auto ends = static_cast<std::size_t>(powers_.back()), levels = powers_.size() - 1;
  channels_.resize(2 * ends * levels);
  moving_.resize(channels_.size() + static_cast<std::size_t>(nodes));
}

int RailNetwork::level(int source, int destination) const {
  int level = 0;
  while (source / powers_[static_cast<std::size_t>(level + 1)] !=
         destination / powers_[static_cast<std::size_t>(level + 1)])
    ++level;
  return level;
}

int RailNetwork::switches(int source, int destination) const { return 2 * level(source, destination) + 1; }

std::vector<int> RailNetwork::choose_path(int source, int destination) {
  const int ends = powers_.back(), top = level(source, destination);
  std::vector<int> path{source};
  std::vector<int> chosen;  // the ways up, as one number for each level
  int ways = 0;
  for (int l = 0; l < top; ++l) {
    const int subtree = source / powers_[static_cast<std::size_t>(l + 1)];
    const int base = 2 * ends * (l + 1) + (subtree * powers_[static_cast<std::size_t>(l)] + ways) * arity;
    // Adaptive: one of those that fewest hold or wait for.
    const auto first = static_cast<int>(random_.below(arity));
    int best = first;
    for (int i = 1; i < arity; ++i)
      if (load(base + (first + i) % arity) < load(base + best)) best = (first + i) % arity;
    path.push_back(base + best);
    ways = ways * arity + best;
    chosen.push_back(ways);
  }
  for (int l = top - 1; l >= 0; --l) {
    const int subtree = destination / powers_[static_cast<std::size_t>(l + 1)];
    path.push_back(2 * ends * (l + 1) + ends + subtree * powers_[static_cast<std::size_t>(l + 1)] +
                   chosen[static_cast<std::size_t>(l)]);
  }
  path.push_back(ends + destination);
  return path;
}

void RailNetwork::start(Transfer& transfer) {
  transfer.network_ = this;
  transfer.path_ = choose_path(transfer.source, transfer.destination);
  advance(transfer);
}

void RailNetwork::advance(Transfer& transfer) {
  for (; transfer.held_ < transfer.path_.size(); ++transfer.held_) {
    Channel& channel = channels_[static_cast<std::size_t>(transfer.path_[transfer.held_])];
    // An interface sends one message at a time.
    const bool first = transfer.held_ == 0 && !transfer.sent_;
    if (channel.holders >= (first ? 1 : virtual_channels)) {
      channel.waiting.push_back(&transfer);
      if (!transfer.sent_ && transfer.flits <= static_cast<double>(buffer_flits * transfer.held_))
        events_.schedule(transfer, events_.now() + static_cast<Cycles>(transfer.flits));
      return;
    }
    ++channel.holders;
  }
  transfer.moves_ = true;
  transfer.since_ = events_.now();
  // The way through the switches, as time in which nothing leaves.
  transfer.left_ += static_cast<double>(switch_cycles * switches(transfer.source, transfer.destination));
  for_each_resource(transfer, [&](auto& moving) { moving.push_back(&transfer); });
  update_all(transfer);
  transfer.on_head();
}

// It waits, and all of it is in the network: its source may send something else.
void RailNetwork::absorb(Transfer& transfer) {
  const int first = transfer.path_.front();
  transfer.path_.erase(transfer.path_.begin());
  --transfer.held_;
  transfer.sent_ = true;
  release(first);
  transfer.on_sent();
}

void RailNetwork::finish(Transfer& transfer) {
  for_each_resource(transfer, [&](auto& moving) { std::erase(moving, &transfer); });
  update_all(transfer);
  for (const int channel : transfer.path_) release(channel);
  if (!transfer.sent_) transfer.on_sent();
  transfer.on_end();
}

void RailNetwork::release(int index) {
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  --channel.holders;
  if (channel.waiting.empty()) return;
  Transfer& next = *channel.waiting.front();
  channel.waiting.pop_front();
  advance(next);
}

void RailNetwork::update_all(const Transfer& around) {
  for_each_resource(around, [&](auto& moving) {
    for (Transfer* each : moving) update(*each);
  });
}

double RailNetwork::share_of_bus(int node, bool outward) {
  const auto& moving = bus(node);
  const auto same = std::count_if(moving.begin(), moving.end(),
                                  [&](const Transfer* each) { return (each->source == node) == outward; });
  const auto all = std::ssize(moving);
  if (same == 0 || all == 0) return 1;
  // Of all that moves in both directions, each has an equal part; no more than its direction alone has.
  const double both = same < all ? both_ways_ : 1.0;
  return std::min(both / static_cast<double>(all), 1.0 / static_cast<double>(same));
}

void RailNetwork::update(Transfer& transfer) {
  const Cycles now = events_.now();
  double rate = share_of_bus(transfer.destination, false);
  if (!transfer.sent_) rate = std::min(rate, share_of_bus(transfer.source, true));
  for (const int channel : transfer.path_)
    rate = std::min(rate, 1.0 / static_cast<double>(moving_[static_cast<std::size_t>(channel)].size()));
  transfer.left_ -= transfer.rate_ * static_cast<double>(now - transfer.since_);
  transfer.since_ = now;
  transfer.rate_ = rate;
  events_.schedule(transfer, now + static_cast<Cycles>(std::ceil(std::max(transfer.left_, 0.0) / rate)));
}

}  // namespace rail_allocation
