#include "communicator/reordering/grid_orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hawser {

namespace {

using Shape = std::vector<int>;

std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Goes through the cells in their order.
bool next_cell(const Shape& dims, Shape& cell) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (++cell[d] < dims[d]) return true;
    cell[d] = 0;
  }
  return false;
}

// Chooses the shapes of nested blocks.
class BlockShapes {
 public:
  BlockShapes(const Grid& grid, std::vector<int> sizes) : grid_(grid), sizes_(std::move(sizes)) {}

  struct Chain {
    Cost cost;                  // of each level
    std::vector<Shape> shapes;  // of each level
  };
  Chain best() const { return best_within(0, grid_.dims); }

 private:
  // Grids of many dimensions have very many shapes; many of them cut the same number of edges.
  static constexpr int most_shapes = 20000;
  static constexpr std::size_t most_ties = 12;

  struct Shapes {
    std::int64_t cut = 0;
    std::vector<Shape> tied;  // the first of those that cut the fewest
    int seen = 0;
  };

  // The edges between blocks of this shape in the whole grid.
  std::int64_t cut(const Shape& shape) const {
    std::int64_t edges = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const int blocks = grid_.dims[d] / shape[d];
      const int cuts = blocks == 1 ? 0 : grid_.periods[d] ? blocks : blocks - 1;
      edges += cuts * (grid_.size() / grid_.dims[d]);
    }
    return edges;
  }

  // All shapes of `cells` cells by whose extents those of `outer` are divisible; fixed are those before d.
  // There are some whenever cells divides what is left of outer.
  void collect(const Shape& outer, std::size_t d, int cells, Shape& shape, Shapes& found) const {
    if (d == outer.size()) {
      ++found.seen;
      const std::int64_t edges = cut(shape);
      if (found.tied.empty() || edges < found.cut) found.tied.clear();
      if (found.tied.empty()) found.cut = edges;
      if (edges == found.cut && found.tied.size() < most_ties) found.tied.push_back(shape);
      return;
    }
    std::int64_t rest = 1;
    for (std::size_t i = d + 1; i < outer.size(); ++i) rest *= outer[i];
    for (int extent = 1; extent <= std::min(outer[d], cells); ++extent) {
      if (outer[d] % extent != 0 || cells % extent != 0 || rest % (cells / extent) != 0) continue;
      shape[d] = extent;
      collect(outer, d + 1, cells / extent, shape, found);
      if (found.seen >= most_shapes) return;
    }
  }

  Chain best_within(std::size_t level, const Shape& outer) const {
    if (level == sizes_.size()) return {};
    Shapes found;
    Shape shape(outer.size());
    collect(outer, 0, sizes_[level], shape, found);
    Chain best;
    for (const Shape& candidate : found.tied) {
      Chain inner = best_within(level + 1, candidate);
      if (!best.shapes.empty() && inner.cost >= best.cost) continue;
      inner.shapes.insert(inner.shapes.begin(), candidate);
      best = std::move(inner);
    }
    best.cost.insert(best.cost.begin(), found.cut);
    return best;
  }

  const Grid& grid_;
  std::vector<int> sizes_;
};

// The slot of a cell when the grid is cut into nested blocks of these shapes.
std::int64_t slot_in_blocks(const Shape& dims, const std::vector<Shape>& shapes, Shape cell) {
  std::int64_t slot = 0;
  const Shape* outer = &dims;
  for (const Shape& shape : shapes) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      slot = slot * ((*outer)[d] / shape[d]) + cell[d] / shape[d];
      cell[d] %= shape[d];
    }
    outer = &shape;
  }
  for (std::size_t d = 0; d < dims.size(); ++d) slot = slot * (*outer)[d] + cell[d];
  return slot;
}

// Counts through coordinates to and fro, so that successive cells are neighbours: one digit more.
void add_digit(std::int64_t& number, int extent, int coordinate) {
  number = number * extent + (number % 2 != 0 ? extent - 1 - coordinate : coordinate);
}

// The cells, tile by tile. Within a tile the narrowest direction goes first.
std::vector<int> order_in_tiles(const Grid& grid, const Shape& tile) {
  std::vector<std::size_t> widest_first(tile.size());
  std::iota(widest_first.begin(), widest_first.end(), std::size_t{0});
  std::stable_sort(widest_first.begin(), widest_first.end(),
                   [&](std::size_t a, std::size_t b) { return tile[a] > tile[b]; });
  std::vector<std::pair<std::int64_t, std::int64_t>> keys;  // tile, place in it
  Shape cell(tile.size());
  do {
    std::int64_t tile_number = 0;
    for (std::size_t d = 0; d < tile.size(); ++d)
      add_digit(tile_number, (grid.dims[d] + tile[d] - 1) / tile[d], cell[d] / tile[d]);
    std::int64_t place = tile_number % 2;  // a tile begins where the one before ended
    for (const std::size_t d : widest_first)
      add_digit(place, std::min(tile[d], grid.dims[d] - cell[d] / tile[d] * tile[d]), cell[d] % tile[d]);
    keys.emplace_back(tile_number, place);
  } while (next_cell(grid.dims, cell));
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

// The widths that divide a dimension into 1, 2, 3, ... parts.
std::vector<int> widths_of(int extent) {
  std::vector<int> widths;
  for (int parts = 1; parts <= extent; ++parts) {
    const int width = (extent + parts - 1) / parts;
    if (widths.empty() || widths.back() != width) widths.push_back(width);
    if (width == 1) break;
  }
  return widths;
}

}  // namespace

int Grid::size() const { return static_cast<int>(product(dims)); }

std::vector<WeightedEdge> edges_of(const Grid& grid) {
  std::vector<WeightedEdge> edges;
  int step = grid.size();  // from one coordinate to the next
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    const int extent = grid.dims[d];
    step /= extent;
    for (int cell = 0; cell < grid.size(); ++cell) {
      const int coordinate = cell / step % extent;
      if (coordinate + 1 < extent)
        edges.push_back({cell, cell + step, 1});
      else if (grid.periods[d])
        edges.push_back({cell, cell - coordinate * step, 1});
    }
  }
  return edges;
}

std::vector<int> order_in_blocks(const Places& places, const Grid& grid) {
  std::vector<int> sizes;
  for (int level = 0; level < places.levels() && places.group_size(level) > 0; ++level)
    sizes.push_back(places.group_size(level));
  if (sizes.empty()) return {};
  const std::vector<Shape> shapes = BlockShapes(grid, std::move(sizes)).best().shapes;
  std::vector<int> order(static_cast<std::size_t>(grid.size()));
  Shape cell(grid.dims.size());
  int number = 0;
  do {
    order[static_cast<std::size_t>(slot_in_blocks(grid.dims, shapes, cell))] = number++;
  } while (next_cell(grid.dims, cell));
  return order;
}

std::vector<std::vector<int>> orders_in_strips(const Grid& grid, int run, std::size_t most) {
  constexpr std::size_t most_tiles = 4096;
  std::vector<std::pair<std::int64_t, Shape>> tiles;  // the surface of a run, roughly
  for (std::size_t along = 0; along < grid.dims.size(); ++along) {
    std::vector<std::vector<int>> widths;
    Shape counts, chosen(grid.dims.size());
    for (std::size_t d = 0; d < grid.dims.size(); ++d) {
      widths.push_back(d == along ? std::vector<int>{grid.dims[d]} : widths_of(grid.dims[d]));
      counts.push_back(static_cast<int>(widths.back().size()));
    }
    do {
      Shape tile;
      for (std::size_t d = 0; d < counts.size(); ++d)
        tile.push_back(widths[d][static_cast<std::size_t>(chosen[d])]);
      std::int64_t surface = product(tile) / tile[along];
      for (std::size_t d = 0; d < tile.size(); ++d) {
        if (tile[d] < grid.dims[d]) surface += run / tile[d];
      }
      tiles.emplace_back(surface, std::move(tile));
    } while (tiles.size() < most_tiles * (along + 1) && next_cell(counts, chosen));
  }
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  if (tiles.size() > most) tiles.resize(most);
  std::vector<std::vector<int>> orders;
  for (const auto& [surface, tile] : tiles) orders.push_back(order_in_tiles(grid, tile));
  return orders;
}

}  // namespace hawser
