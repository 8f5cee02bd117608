// Recursive bisection. Each division begins with the vertices as they are numbered and with parts grown from
// a vertex at the rim, improves each by exchanges in the manner of Kernighan and Lin with the gains kept up
// to date as Fiduccia and Mattheyses do, and takes the best.
#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>
#include <utility>

#include "communicator/reordering/graph_orders.h"

namespace hawser {

namespace {

class Bisection {
 public:
  // `looks`: how often a division may look at each edge of its vertices, about.
  Bisection(const EdgeGraph& graph, std::int64_t looks)
      : graph_(graph), looks_(looks), of_(static_cast<std::size_t>(graph.size())) {}

  // Puts the vertices of one part first, `size` of them. Edges to other vertices do not count.
  void divide(std::span<int> vertices, std::size_t size) {
    if (looks_ < looks_to_grow) return;
    std::vector<int> best(vertices.begin(), vertices.end());
    std::int64_t best_cut = -1;
    for (const Start start : {Start::compact, Start::least_cut, Start::as_numbered}) {
      if (best_cut >= 0 && looks_ < looks_to_compare) break;
      begin(vertices, size, start);
      const std::int64_t cut = improved_cut(vertices);
      if (best_cut >= 0 && cut >= best_cut) continue;
      best_cut = cut;
      std::copy(vertices.begin(), vertices.end(), best.begin());
      std::stable_partition(best.begin(), best.end(), [this](int v) { return state(v).side == Side::first; });
    }
    for (const int vertex : vertices) state(vertex).side = Side::outside;
    std::copy(best.begin(), best.end(), vertices.begin());
  }

 private:
  // For one part that is grown, and what it cuts; for more than one, and exchanges until nothing is gained.
  static constexpr std::int64_t looks_to_grow = 5;
  static constexpr std::int64_t looks_to_compare = 40;

  enum class Start : std::uint8_t { as_numbered, least_cut, compact };
  enum class Side : std::uint8_t { outside, first, second };
  struct State {
    Side side = Side::outside;
    bool locked = false;
    std::int64_t gain = 0;  // what the cut loses when the vertex changes sides
  };
  // What a vertex is worth, and the negative of its number: of equals the lower one.
  using Entry = std::pair<std::int64_t, int>;
  using Heap = std::priority_queue<Entry>;

  State& state(int vertex) { return of_[static_cast<std::size_t>(vertex)]; }

  void begin(std::span<const int> vertices, std::size_t size, Start start) {
    for (std::size_t i = 0; i < vertices.size(); ++i)
      state(vertices[i]).side = start == Start::as_numbered && i < size ? Side::first : Side::second;
    if (start != Start::as_numbered) grow(vertices, size, start);
  }

  // The last of those that are reached from a vertex, as far as there is a way.
  int farthest_from(int vertex) {
    std::vector<int> reached{vertex};
    state(vertex).locked = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(reached[i])) {
        State& other = state(neighbor.vertex);
        if (other.side == Side::outside || std::exchange(other.locked, true)) continue;
        reached.push_back(neighbor.vertex);
      }
    }
    for (const int v : reached) state(v).locked = false;
    return reached.back();
  }

  // Moves vertices to the first side, one beside the other: that which adds least to the cut, or that which
  // has most to do with the part and was beside it first.
  void grow(std::span<const int> vertices, std::size_t size, Start start) {
    set_gains(vertices);
    if (start == Start::compact) {
      for (const int vertex : vertices) state(vertex).gain = 0;
    }
    Heap beside;
    std::size_t unused = 0;
    int next = farthest_from(farthest_from(vertices[0]));
    for (std::size_t taken = 0; taken < size; ++taken) {
      while (!beside.empty() && state(-beside.top().second).side == Side::first) beside.pop();
      if (taken > 0 && !beside.empty()) {
        next = -beside.top().second;
      } else if (taken > 0) {
        while (state(vertices[unused]).side == Side::first) ++unused;
        next = vertices[unused];
      }
      state(next).side = Side::first;
      for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(next)) {
        State& other = state(neighbor.vertex);
        if (other.side != Side::second) continue;
        other.gain += (start == Start::compact ? 1 : 2) * neighbor.weight;
        beside.emplace(other.gain, -neighbor.vertex);
      }
    }
  }

  void set_gains(std::span<const int> vertices) {
    for (const int vertex : vertices) {
      State& own = state(vertex);
      own.gain = 0;
      for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(vertex)) {
        const Side side = state(neighbor.vertex).side;
        if (side != Side::outside) own.gain += side == own.side ? -neighbor.weight : neighbor.weight;
      }
    }
  }

  std::int64_t improved_cut(std::span<const int> vertices) {
    for (std::int64_t looks = looks_to_grow; looks + 2 <= looks_ && exchange(vertices) > 0;) looks += 2;
    std::int64_t cut = 0;
    for (const int vertex : vertices) {
      if (state(vertex).side != Side::first) continue;
      for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(vertex))
        cut += state(neighbor.vertex).side == Side::second ? neighbor.weight : 0;
    }
    return cut;
  }

  // Exchanges the best pairs, good or bad, each vertex once, and takes back what came after the best moment.
  // The gain.
  std::int64_t exchange(std::span<const int> vertices) {
    set_gains(vertices);
    Heap heaps[2];
    for (const int vertex : vertices) heap_of(vertex, heaps).emplace(state(vertex).gain, -vertex);
    const std::size_t patience = 50 + vertices.size() / 16;
    std::vector<int> moved;
    std::size_t kept = 0;
    std::int64_t gain = 0, best_gain = 0;
    while (moved.size() < kept + patience) {
      const int a = take(heaps[0]);
      if (a < 0) break;
      gain += move(a, heaps);
      moved.push_back(a);
      const int b = take(heaps[1]);
      if (b < 0) break;
      gain += move(b, heaps);
      moved.push_back(b);
      if (gain <= best_gain) continue;
      best_gain = gain;
      kept = moved.size();
    }
    for (std::size_t i = kept; i < moved.size(); ++i) turn(state(moved[i]));
    for (const int vertex : moved) state(vertex).locked = false;
    return best_gain;
  }

  Heap& heap_of(int vertex, Heap (&heaps)[2]) { return heaps[state(vertex).side == Side::first ? 0 : 1]; }
  static void turn(State& vertex) { vertex.side = vertex.side == Side::first ? Side::second : Side::first; }

  // Entries that are out of date are passed over: a newer one is there. Negative: no vertex is left.
  int take(Heap& heap) {
    for (; !heap.empty(); heap.pop()) {
      const auto [gain, negative] = heap.top();
      if (!state(-negative).locked && state(-negative).gain == gain) return -negative;
    }
    return -1;
  }

  std::int64_t move(int vertex, Heap (&heaps)[2]) {
    State& own = state(vertex);
    const std::int64_t gain = own.gain;
    own.locked = true;
    turn(own);
    for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(vertex)) {
      State& other = state(neighbor.vertex);
      if (other.side == Side::outside || other.locked) continue;
      other.gain += other.side == own.side ? -2 * neighbor.weight : 2 * neighbor.weight;
      heap_of(neighbor.vertex, heaps).emplace(other.gain, -neighbor.vertex);
    }
    return gain;
  }

  const EdgeGraph& graph_;
  std::int64_t looks_;
  std::vector<State> of_;
};

// Divides the slots of the groups from `begin` to `end`, whose first slots are `starts`, until each has its
// own.
void divide(Bisection& bisection, std::vector<int>& order, const std::vector<int>& starts, std::size_t begin,
            std::size_t end) {
  if (end - begin < 2) return;
  // At the boundary that is nearest to the middle.
  const int first = starts[begin], last = starts[end];
  std::size_t middle = begin + 1;
  const auto imbalance = [&](std::size_t group) { return std::abs(2 * starts[group] - first - last); };
  for (std::size_t group = middle; group < end; ++group)
    if (imbalance(group) < imbalance(middle)) middle = group;
  bisection.divide(
      std::span(order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)),
      static_cast<std::size_t>(starts[middle] - first));
  divide(bisection, order, starts, begin, middle);
  divide(bisection, order, starts, middle, end);
}

}  // namespace

std::vector<int> divided_order(const Places& places, const EdgeGraph& graph, std::int64_t work) {
  std::vector<int> order(static_cast<std::size_t>(graph.size()));
  std::iota(order.begin(), order.end(), 0);
  // The halvings that a vertex goes through.
  int halvings = 0;
  for (int level = 0; level < places.levels(); ++level)
    halvings = std::bit_width(places.starts(level).size());
  Bisection bisection(graph, work / (static_cast<std::int64_t>(graph.neighbor_count()) * halvings + 1));
  const std::vector<int> everything{0, graph.size()};
  for (int level = 0; level < places.levels(); ++level) {
    const std::vector<int>& outer = level == 0 ? everything : places.starts(level - 1);
    const std::vector<int>& starts = places.starts(level);
    const auto group_at = [&](int slot) {
      return static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), slot) - starts.begin());
    };
    for (std::size_t group = 0; group + 1 < outer.size(); ++group)
      divide(bisection, order, starts, group_at(outer[group]), group_at(outer[group + 1]));
  }
  return order;
}

}  // namespace hawser
