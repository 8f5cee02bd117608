// Cartesian topologies (MPI-5.0 section 8.5).
#include "api/functions.h"
#include "api/reordering.h"
#include "api/topology_checks.h"
#include "collective/construction.h"
#include "communicator/topology.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<const CartesianTopology*> cartesian(const Communicator& comm) {
  const Topology* topology = topology_of(comm);
  if (topology == nullptr || topology->kind != topology_kind::cartesian)
    return failure(ErrorClass::topology, "the communicator has no Cartesian topology");
  return static_cast<const CartesianTopology*>(topology);
}

// The number of processes in the grid; at most `available`.
Result<int> grid_size(int ndims, const int* dims, int available) {
  if (ndims < 0) return failure(ErrorClass::dims, "ndims is {}, which is negative", ndims);
  std::int64_t product = 1;
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 1) return failure(ErrorClass::dims, "dims[{}] is {}, but must be positive", d, dims[d]);
    product *= dims[d];
    if (product > available)
      return failure(ErrorClass::dims, "the grid has more processes than the communicator, which has {}",
                     available);
  }
  return static_cast<int>(product);
}

ReorderingRule grid_rule(int ndims, const int* dims, const int* periods) {
  return [=](const Places& places) {
    return reorder_grid(places,
                        {std::vector<int>(dims, dims + ndims), std::vector<bool>(periods, periods + ndims)});
  };
}

void attach(Communicator& comm, std::vector<int> dims, std::vector<bool> periods) {
  comm.topology = make_counted<CartesianTopology>(std::move(dims), std::move(periods), comm.rank());
}

}  // namespace

Result<> cart_create(MpiProcess& process, Communicator& comm_old, int ndims, const int* dims,
                     const int* periods, bool reorder, Ref<Communicator>& comm_cart) {
  HAWSER_TRY(check_no_intercommunicator(comm_old));
  auto size = grid_size(ndims, dims, comm_old.size());
  if (!size) return size.take_error();
  RankOrder order;
  if (reorder) {
    auto agreed = agree_on_order(process, comm_old, size.value(), grid_rule(ndims, dims, periods));
    if (!agreed) return agreed.take_error();
    order = std::move(agreed).value();
  }
  HAWSER_TRY(create_in_order(process, comm_old, size.value(), order, comm_cart));
  if (comm_cart)
    attach(*comm_cart, std::vector<int>(dims, dims + ndims), std::vector<bool>(periods, periods + ndims));
  return {};
}

Result<> cartdim_get(MpiProcess&, Communicator& comm, int& ndims) {
  auto grid = cartesian(comm);
  if (!grid) return grid.take_error();
  ndims = grid.value()->dimensions();
  return {};
}

Result<> cart_get(MpiProcess&, Communicator& comm, int maxdims, int* dims, int* periods, int* coords) {
  auto found = cartesian(comm);
  if (!found) return found.take_error();
  const CartesianTopology& grid = *found.value();
  HAWSER_TRY(check_room("maxdims", maxdims, grid.dimensions()));
  for (std::size_t d = 0; d < grid.dims().size(); ++d) {
    dims[d] = grid.dims()[d];
    periods[d] = grid.periods()[d];
  }
  grid.coordinates_of(comm.rank(), coords);
  return {};
}

Result<> cart_rank(MpiProcess&, Communicator& comm, const int* coords, int& rank) {
  auto grid = cartesian(comm);
  if (!grid) return grid.take_error();
  if (coords == nullptr && !grid.value()->dims().empty())
    return failure(ErrorClass::arg, "coords is a null pointer");
  auto found = grid.value()->rank_of(coords);
  if (!found) return found.take_error();
  rank = found.value();
  return {};
}

Result<> cart_coords(MpiProcess&, Communicator& comm, int rank, int maxdims, int* coords) {
  auto grid = cartesian(comm);
  if (!grid) return grid.take_error();
  HAWSER_TRY(check_rank("rank", rank, comm.size()));
  HAWSER_TRY(check_room("maxdims", maxdims, grid.value()->dimensions()));
  grid.value()->coordinates_of(rank, coords);
  return {};
}

Result<> cart_shift(MpiProcess&, Communicator& comm, int direction, int disp, int& rank_source,
                    int& rank_dest) {
  auto grid = cartesian(comm);
  if (!grid) return grid.take_error();
  if (direction < 0 || direction >= grid.value()->dimensions())
    return failure(ErrorClass::arg, "the direction is {}, but the grid has {} dimensions", direction,
                   grid.value()->dimensions());
  rank_source = grid.value()->shifted(comm.rank(), direction, -std::int64_t{disp});
  rank_dest = grid.value()->shifted(comm.rank(), direction, disp);
  return {};
}

Result<> cart_sub(MpiProcess& process, Communicator& comm, const int* remain_dims,
                  Ref<Communicator>& newcomm) {
  auto found = cartesian(comm);
  if (!found) return found.take_error();
  const CartesianTopology& grid = *found.value();
  if (remain_dims == nullptr && !grid.dims().empty())
    return failure(ErrorClass::arg, "remain_dims is a null pointer");
  std::vector<int> coordinates(grid.dims().size());
  grid.coordinates_of(comm.rank(), coordinates.data());
  int color = 0;
  int key = 0;
  std::vector<int> dims;
  std::vector<bool> periods;
  for (std::size_t d = 0; d < coordinates.size(); ++d) {
    int& number = remain_dims[d] != 0 ? key : color;
    number = number * grid.dims()[d] + coordinates[d];
    if (remain_dims[d] == 0) continue;
    dims.push_back(grid.dims()[d]);
    periods.push_back(grid.periods()[d]);
  }
  auto made = split(process.collectives(), comm, color, key);
  if (!made) return made.take_error();
  newcomm = std::move(made).value();
  newcomm->error_handler = comm.error_handler;
  newcomm->session = comm.session;
  attach(*newcomm, std::move(dims), std::move(periods));
  return {};
}

Result<> cart_map(MpiProcess& process, Communicator& comm, int ndims, const int* dims, const int* periods,
                  int& newrank) {
  HAWSER_TRY(check_no_intercommunicator(comm));
  auto size = grid_size(ndims, dims, comm.size());
  if (!size) return size.take_error();
  const RankOrder order = order_over_nodes(process, comm, size.value(), grid_rule(ndims, dims, periods));
  newrank = new_rank_in(order, size.value(), comm.rank());
  return {};
}

}  // namespace hawser::mpi
