// The default policy: stripes sized so that all finish at the same time.
//
// A subchannel can start on a message when what its rail has queued is done, and then moves it at its weight;
// so the finish of a set of stripes is known, and the set with the earliest is taken. That alone gives what
// the papers' policies are for: all of like rails and in the end a share of a slow one; whole messages side
// by side when many are under way, stripes when one is waited for (EPC). Which paths and engines of a port
// are worth it (HSAM, BSS) is measured by PathSpread. A slow rail never delays a message: it is in the set
// only if the set without it is later. Rates and queues are estimates, so each stripe more must gain more
// than it costs, and the slow are trusted with a little less than their share.
//
// Cost: sorting of n subchannels and n steps, n^2 / 2 small operations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "rails/policy/policies.h"

namespace hawser {
namespace {

constexpr double ns_per_second = 1e9;
// What one stripe more costs: its request, its FIN, two completions, waiting for the last of more.
constexpr double stripe_cost_ns = 400;
// Share of what finish times say for a subchannel less than half as fast as the fastest: if it is late, all
// is.
constexpr double trust_in_slow = 0.97;
// While others are under way non-blocking messages are not cut finer than this (V07 6.2): each stripe costs
// both ends a request, which waits between the data of the other direction.
constexpr std::int64_t smallest_when_busy = 262144;
// Nor finer than this while anything is queued.
constexpr std::int64_t smallest_beside_others = 16384;
// One-sided stripes cost the other end nothing; and who flushes waits for the rail that has the most left to
// do.
constexpr std::int64_t smallest_one_sided = 16384;
// A small message changes rails only to be there so much earlier: those that stay behind one another arrive
// in order.
constexpr double worth_changing_ns = 20'000;
// Where none of its peer's is ahead of it, order is not at stake. Then one of a collective operation does not
// wait longer for those to others. (If all did so, windows of 64 KiB took 1 to 10 % longer.)
constexpr double worth_waiting_ns = 500;

// A path so much slower than another one of its rail is not preferred any more.
constexpr double much_slower = 0.25;
// Of so many paths of a rail the slowest one is left out: it is where flows meet most, and each that avoids
// it disturbs the others less. (bss does so, too.)
constexpr int paths_for_one_left_out = 4;
// But a shorter non-blocking message over one rail is there sooner over all of them, where none is under way
// with it or was with the one before.
constexpr std::int64_t shortest_that_leaves_out = 131072;

struct Candidate {
  std::uint16_t subchannel = 0;
  std::uint16_t rail = 0;
  std::uint16_t turn = 0;  // its place among equals
  double weight = 0;       // bytes per nanosecond
  double rate = 0;         // its share of what its rail reaches
  double capacity = 0;     // of its rail
  double free_ns = 0;      // when it can start, by what is queued on its rail
  double own_ns = 0;       // and by what is queued on the subchannel
  double first_ns = 0;     // when it would be done with the smallest stripe
};

class Automatic final : public SchedulingPolicy {
 public:
  Automatic(int home, int rotation)
      : first_(static_cast<std::size_t>(home)), rotation_(static_cast<std::size_t>(rotation)) {}
  const char* name() const override { return "auto"; }
  bool prefers() const override { return true; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override;
  int choose(std::int64_t bytes, TrafficClass traffic, std::span<const SubchannelView> views) override;
  PacketHold hold(int chosen, std::int64_t bytes, std::span<const SubchannelView> views) const override;

 private:
  void collect(const StripeRequest& request, std::span<const SubchannelView> views);
  std::size_t leave_out_slowest(std::size_t begin, std::size_t end, std::span<const SubchannelView> views);
  std::size_t earliest_set(const StripeRequest& request, double& finish_ns) const;
  double finish(double bytes, double smallest, std::size_t count) const;
  void share_out(const StripeRequest& request, std::size_t count);

  const std::size_t first_;  // where packets begin among equals
  std::size_t rotation_;     // where the look begins among equals; moves on with every message
  int sticky_ = -1;          // where small messages go
  int home_ = -1;            // and those of collective operations, when none is under way
  int last_ = -1;            // where the last one went
  bool spreads_ = false;     // the last packet was of a collective operation,
  bool alone_ = false;       // and none to the same peer was under way
  std::vector<Candidate> candidates_;
  bool queued_ = false;   // anything, on their rails
  bool relaxed_ = false;  // no other message is under way or expected, which finer stripes would delay
  std::vector<Weighted> parts_;
};

// In bytes per second.
double rate_of_stripes(const SubchannelView& view) { return std::max(view.bytes_per_second, 1.0); }
double rate_of_packets(const SubchannelView& view) {
  return std::min(rate_of_stripes(view), std::max(view.packet_rate, 1.0));
}

// What the subchannels of a rail reach together, in bytes per nanosecond: [begin, end) are all of it.
double rail_capacity(const Candidate* begin, const Candidate* end, double nominal) {
  double fastest = 0;
  double sum = 0;
  for (const Candidate* candidate = begin; candidate != end; ++candidate) {
    fastest = std::max(fastest, candidate->weight);
    sum += candidate->weight;
  }
  // Measured is more than nominal: then nominal is wrong. Nothing nominal known: engines do not add up.
  return std::min(sum, std::max(nominal / ns_per_second, fastest));
}

// Whether none of the rail is preferred that is nearly as fast as its fastest.
bool lacks_preferred(std::span<const SubchannelView> views, std::uint16_t rail) {
  double fastest = 0, preferred = 0;
  for (const SubchannelView& view : views) {
    if (!view.usable || view.rail != rail) continue;
    fastest = std::max(fastest, view.bytes_per_second);
    if (view.preferred) preferred = std::max(preferred, view.bytes_per_second);
  }
  return preferred < much_slower * fastest;
}

// Candidates [begin, end) are those of a rail, the fastest first. Returns where the others end.
std::size_t Automatic::leave_out_slowest(std::size_t begin, std::size_t end,
                                         std::span<const SubchannelView> views) {
  const auto path_of = [&](const Candidate& candidate) { return views[candidate.subchannel].path; };
  const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(begin);
  auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(end);
  std::uint64_t seen = 0;
  auto slowest = first;  // the fastest engine of its path, slower than those of the others
  for (auto each = first; each != last; ++each) {
    const std::uint64_t bit = std::uint64_t{1} << path_of(*each) % 64;
    if ((seen & bit) == 0) slowest = each;
    seen |= bit;
  }
  if (std::popcount(seen) < paths_for_one_left_out) return end;
  // What is much slower gets little, and has to show when it is better, as after a failure.
  if (slowest->weight < much_slower * first->weight) return end;
  const std::uint16_t left_out = path_of(*slowest);
  last = std::remove_if(first, last, [&](const Candidate& each) { return path_of(each) == left_out; });
  candidates_.erase(last, candidates_.begin() + static_cast<std::ptrdiff_t>(end));
  return static_cast<std::size_t>(last - candidates_.begin());
}

// The usable subchannels that messages prefer, in the order in which they would be done with a smallest
// stripe.
void Automatic::collect(const StripeRequest& request, std::span<const SubchannelView> views) {
  candidates_.clear();
  const bool was_queued = std::exchange(queued_, false);
  const std::size_t n = views.size();
  double fastest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint16_t>((rotation_ + i) % n);
    const SubchannelView& view = views[index];
    if (!view.usable || !(view.preferred || lacks_preferred(views, view.rail))) continue;
    const double weight = rate_of_stripes(view) / ns_per_second;
    fastest = std::max(fastest, weight);
    queued_ |= view.bytes_queued > 0;
    candidates_.push_back({index, view.rail, static_cast<std::uint16_t>(i), weight});
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    if (a.rail != b.rail) return a.rail < b.rail;
    return a.weight != b.weight ? a.weight > b.weight : a.turn < b.turn;
  });
  const bool leaves_out = queued_ || was_queued || request.traffic != TrafficClass::nonblocking ||
                          request.bytes >= shortest_that_leaves_out ||
                          (!candidates_.empty() && candidates_.front().rail != candidates_.back().rail);
  for (std::size_t begin = 0, end = 0; begin < candidates_.size(); begin = end) {
    while (end < candidates_.size() && candidates_[end].rail == candidates_[begin].rail) ++end;
    if (leaves_out) end = leave_out_slowest(begin, end, views);
    const double capacity = rail_capacity(&candidates_[begin], candidates_.data() + end,
                                          views[candidates_[begin].subchannel].nominal);
    double together = 0;
    for (std::size_t i = begin; i < end; ++i) together += candidates_[i].weight;
    for (std::size_t i = begin; i < end; ++i) {
      Candidate& candidate = candidates_[i];
      const SubchannelView& view = views[candidate.subchannel];
      candidate.rate = capacity * candidate.weight / together;
      if (candidate.weight < fastest / 2) candidate.rate *= trust_in_slow;
      candidate.capacity = capacity;
      candidate.own_ns =
          static_cast<double>(view.latency) + static_cast<double>(view.bytes_on_it) / candidate.rate;
      candidate.free_ns =
          std::max(static_cast<double>(view.latency) + static_cast<double>(view.bytes_queued) / capacity,
                   candidate.own_ns);
      candidate.first_ns = candidate.free_ns + static_cast<double>(request.smallest_stripe) / candidate.rate;
    }
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.first_ns != b.first_ns ? a.first_ns < b.first_ns : a.turn < b.turn;
  });
}

// When the first `count` candidates are done if they finish together, or, where only this message counts, as
// nearly as the smallest stripe allows; infinity when there is not enough for so many.
double Automatic::finish(double bytes, double smallest, std::size_t count) const {
  double rates = 0;
  double head_start = bytes;
  for (std::size_t i = 0; i < count; ++i) {
    rates += candidates_[i].rate;
    head_start += candidates_[i].rate * candidates_[i].free_ns;
  }
  const double done = head_start / rates;
  if (count == 1) return done;
  if (bytes < static_cast<double>(count) * smallest) return INFINITY;
  double latest = done;
  for (std::size_t i = 0; i < count; ++i)
    latest = std::max(latest, candidates_[i].free_ns + smallest / candidates_[i].rate);
  constexpr double rounding_ns = 1;
  return !relaxed_ && latest > done + rounding_ns ? INFINITY : latest;
}

std::size_t Automatic::earliest_set(const StripeRequest& request, double& finish_ns) const {
  const auto bytes = static_cast<double>(request.bytes);
  const bool busy = candidates_.front().free_ns > 2 * worth_changing_ns;
  std::int64_t smallest_now = request.smallest_stripe;
  if (queued_ && request.traffic == TrafficClass::nonblocking)
    smallest_now = std::max(smallest_now, smallest_beside_others);
  if (busy && request.traffic == TrafficClass::nonblocking)
    smallest_now = std::max(smallest_now, smallest_when_busy);
  if (busy && request.traffic == TrafficClass::one_sided)
    smallest_now = std::max(smallest_now, smallest_one_sided);
  const auto smallest = static_cast<double>(smallest_now);
  const std::size_t most = std::min(candidates_.size(), static_cast<std::size_t>(max_stripes - 1));
  std::size_t best = 1;
  finish_ns = INFINITY;
  for (std::size_t count = 1; count <= most; ++count) {
    const double done = finish(bytes, smallest, count) + static_cast<double>(count - 1) * stripe_cost_ns;
    if (done >= finish_ns) continue;
    finish_ns = done;
    best = count;
  }
  return best;
}

// Parts for the first `count` candidates, so that they finish together; but at least the smallest stripe
// each.
void Automatic::share_out(const StripeRequest& request, std::size_t count) {
  const double done = finish(static_cast<double>(request.bytes), 0, count);
  const auto smallest = static_cast<double>(request.smallest_stripe);
  parts_.clear();
  double given = 0, left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double part = (done - candidates_[i].free_ns) * candidates_[i].rate;
    parts_.push_back({candidates_[i].subchannel, std::max(part, smallest)});
    (part <= smallest ? given : left) += parts_.back().weight;
  }
  const double others = (static_cast<double>(request.bytes) - given) / left;
  for (Weighted& part : parts_)
    if (given > 0 && left > 0 && part.weight > smallest) part.weight *= others;
}

void Automatic::plan(const StripeRequest& whole, std::span<const SubchannelView> views, StripePlan& plan) {
  collect(whole, views);
  HAWSER_ASSERT(!candidates_.empty());
  StripeRequest request = whole;
  relaxed_ = !queued_ && whole.traffic != TrafficClass::nonblocking;
  if (relaxed_) request.smallest_stripe /= 2;
  double finish_ns = 0;
  std::size_t chosen = earliest_set(request, finish_ns);
  // For a message of one stripe what counts is when it would be done whole.
  const auto whole_ns = [&request](const Candidate& c) {
    const auto bytes = static_cast<double>(request.bytes);
    return std::max(c.free_ns + bytes / c.capacity, c.own_ns + bytes / c.rate);
  };
  const auto alone = std::min_element(
      candidates_.begin(), candidates_.end(),
      [&whole_ns](const Candidate& a, const Candidate& b) { return whole_ns(a) < whole_ns(b); });
  if (chosen == 1 || whole_ns(*alone) <= finish_ns) {
    std::swap(candidates_.front(), *alone);
    chosen = 1;
  }
  ++rotation_;
  share_out(request, chosen);
  cut_by_weight(request, parts_, plan);
}

bool none_under_way(std::span<const SubchannelView> views) {
  return std::all_of(views.begin(), views.end(),
                     [](const SubchannelView& v) { return v.packets_on_it == 0; });
}

double queue_ns(const SubchannelView& view) {
  return static_cast<double>(view.bytes_queued) / rate_of_stripes(view) * ns_per_second;
}

// When a packet would have arrived if nothing were ahead of it. `distances`: how far each rail is, is known.
double way_ns(std::int64_t bytes, const SubchannelView& view, double fastest, bool distances = false) {
  const double rate = rate_of_packets(view);
  const double moving = static_cast<double>(bytes) / rate * ns_per_second;
  double done = static_cast<double>(view.latency) + moving;
  // Only the primary network has a short way from post to arrival (V07 10.2.2). Where packets were timed it
  // is known, but not what else is ahead there, unless all that makes it slow is how many send that way.
  if (rate < fastest / 2 && std::isinf(view.packet_rate)) done += 5 * worth_changing_ns;
  if (rate < fastest / 2 && !std::isinf(view.packet_rate) && !distances) done += moving;
  if (!view.preferred) done += 1;
  return done;
}

// Whether some rail is so much farther than another one that it is worth while to leave it.
bool latencies_differ(std::span<const SubchannelView> views) {
  Nanoseconds shortest = never, longest = 0;
  for (const SubchannelView& view : views) {
    if (!view.usable) continue;
    shortest = std::min(shortest, view.latency);
    longest = std::max(longest, view.latency);
  }
  return static_cast<double>(longest - shortest) > worth_waiting_ns;
}

int Automatic::choose(std::int64_t bytes, TrafficClass traffic, std::span<const SubchannelView> views) {
  double fastest = 0;
  for (const SubchannelView& view : views)
    if (view.usable) fastest = std::max(fastest, rate_of_packets(view));
  spreads_ = traffic == TrafficClass::collective;
  alone_ = spreads_ && none_under_way(views);
  const int stay = alone_ ? home_ : spreads_ ? last_ : sticky_;
  const std::size_t first = alone_ ? first_ : rotation_;
  // Where to begin is chosen as if nobody sent packets, and a home not for a small difference.
  const bool begins = stay < 0;
  const bool differ = latencies_differ(views);
  const double margin = alone_ && begins ? worth_waiting_ns : 0;
  double best_ns = INFINITY;
  double stay_ns = INFINITY;
  int best = -1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::size_t index = (first + i) % views.size();
    const SubchannelView& view = views[index];
    if (!view.usable) continue;
    double done = way_ns(bytes, view, fastest, differ) + queue_ns(view);
    if (!begins || differ) done += static_cast<double>(view.packet_wait);
    if (static_cast<int>(index) == stay) stay_ns = done;
    if (done + (best >= 0 && !differ ? margin : 0) >= best_ns) continue;
    best_ns = done;
    best = static_cast<int>(index);
  }
  if (best < 0) return -1;
  // What follows stays behind it for the sake of order, unless that would take long.
  if (differ) {
    last_ = stay_ns <= best_ns + worth_waiting_ns ? stay : best;
    return (alone_ ? home_ : spreads_ ? last_ : sticky_) = last_;
  }
  const auto wait = [views](int i) {
    return static_cast<double>(views[static_cast<std::size_t>(i)].packet_wait);
  };
  // It does not stay on a slower rail for the sake of order.
  const auto slower_than = [&](const SubchannelView& stays, const SubchannelView& other) {
    return stays.rail != other.rail &&
           way_ns(bytes, stays, fastest) > way_ns(bytes, other, fastest) + worth_waiting_ns;
  };
  const bool slower =
      stay_ns < INFINITY && stay_ns > best_ns &&
      slower_than(views[static_cast<std::size_t>(stay)], views[static_cast<std::size_t>(best)]);
  const bool leaves = !(stay_ns <= best_ns + worth_changing_ns) || slower ||
                      (alone_ && wait(stay) > wait(best) + worth_waiting_ns);
  last_ = leaves ? best : stay;
  if (!spreads_) sticky_ = last_;
  if (alone_ && (stay_ns == INFINITY || slower)) home_ = last_;
  return last_;
}

// While even an idle one of the fastest rail would be there no more than worth_changing_ns earlier.
PacketHold Automatic::hold(int chosen, std::int64_t bytes, std::span<const SubchannelView> views) const {
  double fastest = 0, shortest = INFINITY;
  const SubchannelView& view = views[static_cast<std::size_t>(chosen)];
  bool one_rail = true;
  for (const SubchannelView& each : views) {
    if (!each.usable) continue;
    one_rail = one_rail && each.rail == view.rail;
    fastest = std::max(fastest, rate_of_packets(each));
    shortest = std::min(shortest, static_cast<double>(each.latency));
  }
  const double rate = rate_of_packets(view) / ns_per_second, best = fastest / ns_per_second;
  if (rate < best / 2) return {};
  const double most_wait = alone_ ? worth_waiting_ns : worth_changing_ns / 2;
  if (static_cast<double>(view.packet_wait) > most_wait || (alone_ && chosen != home_)) return {};
  constexpr std::int64_t usual_packet = 8192;
  for (const std::int64_t most : {std::max(bytes, usual_packet), bytes}) {
    const auto size = static_cast<double>(most);
    const double later = static_cast<double>(view.latency) + size / rate - shortest - size / best;
    if (!one_rail && std::max(later, static_cast<double>(view.latency) - shortest) > worth_waiting_ns)
      continue;
    const double slack = worth_changing_ns - most_wait - later;
    const double queued = std::min(slack * rate_of_stripes(view) / ns_per_second, 1e15);
    if (queued >= static_cast<double>(view.bytes_queued))
      return {.packets = any_packets,
              .most_bytes = most,
              .most_queued = static_cast<std::int64_t>(queued),
              .most_wait = static_cast<Nanoseconds>(most_wait),
              .least_ahead = spreads_ && !alone_ ? 1 : 0};
  }
  return {};
}

}  // namespace

std::unique_ptr<SchedulingPolicy> make_automatic(const PolicyParameters& parameters) {
  return std::make_unique<Automatic>(parameters.home, parameters.rotation);
}

}  // namespace hawser
