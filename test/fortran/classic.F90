! The procedures of mpif.h and of the module mpi: point-to-point, collectives, datatypes, constants known by their
! address, strings, logicals, statuses, indices. -DUSE_MODULE takes the module.
module program_data
#ifdef USE_MODULE
  use mpi
  use check
  implicit none
#else
  use check
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, size, ierror
end module

program classic
  use program_data
  call MPI_Init(ierror)
  call expect(ierror == MPI_SUCCESS, 'MPI_Init')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call messages
  call requests
  call collectives
  call places
  call datatypes
  call strings
  call topologies
  call groups
  call inquiries
  call callbacks
  call MPI_Finalize(ierror)
  call verdict(75)
end program

subroutine messages
  use program_data
  integer :: status(MPI_STATUS_SIZE), n, next, before, request, copy(MPI_STATUS_SIZE)
  real(kind=8) :: out(10), in(10)
  character(len=12) :: text
  logical :: flag
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  out = rank + 0.5d0
  call MPI_Sendrecv(out, 10, MPI_DOUBLE_PRECISION, next, 5, in, 10, MPI_DOUBLE_PRECISION, before, 5, MPI_COMM_WORLD, &
                    status, ierror)
  call expect(all(in == before + 0.5d0), 'MPI_Sendrecv of reals')
  call expect(status(MPI_SOURCE) == before .and. status(MPI_TAG) == 5, 'status of MPI_Sendrecv')
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, n, ierror)
  call expect(n == 10, 'MPI_Get_count')
  copy = status
  call MPI_Test_cancelled(copy, flag, ierror)
  call expect(.not. flag, 'MPI_Test_cancelled')

  call MPI_Isend('from a rank!', 12, MPI_CHARACTER, next, 6, MPI_COMM_WORLD, request, ierror)
  call MPI_Recv(text, 12, MPI_CHARACTER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call expect(text == 'from a rank!', 'a string as a message')
  call expect(request == MPI_REQUEST_NULL, 'a request that ended')
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, ierror)
  call expect(.not. flag, 'MPI_Iprobe finds nothing')
end subroutine

subroutine requests
  use program_data
  integer, parameter :: n = 6
  integer :: all_requests(n), statuses(MPI_STATUS_SIZE, n), values(n), i, index, count, indices(n), finished
  logical :: flag
  values = -1
  do i = 1, n / 2
    call MPI_Irecv(values(i), 1, MPI_INTEGER, MPI_PROC_NULL, i, MPI_COMM_WORLD, all_requests(i), ierror)
    call MPI_Irecv(values(n / 2 + i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, all_requests(n / 2 + i), ierror)
  end do
  do i = 1, n / 2
    call MPI_Send(100 * i, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, ierror)
  end do
  call MPI_Waitall(n, all_requests, statuses, ierror)
  call expect(all(all_requests == MPI_REQUEST_NULL), 'requests after MPI_Waitall')
  call expect(all(statuses(MPI_SOURCE, 1:n / 2) == MPI_PROC_NULL), 'sources of statuses')
  call expect(all(statuses(MPI_TAG, n / 2 + 1:n) == [1, 2, 3]), 'tags of statuses')
  call expect(all(values(n / 2 + 1:n) == [100, 200, 300]), 'values of MPI_Waitall')

  all_requests = MPI_REQUEST_NULL
  call MPI_Waitany(n, all_requests, index, MPI_STATUS_IGNORE, ierror)
  call expect(index == MPI_UNDEFINED, 'MPI_Waitany without a request')
  call MPI_Irecv(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, all_requests(1), ierror)
  call MPI_Waitany(n, all_requests, index, MPI_STATUS_IGNORE, ierror)
  call expect(index == 1, 'MPI_Waitany counts from 1')
  do i = 2, n
    call MPI_Irecv(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, all_requests(i), ierror)
  end do
  call MPI_Testany(n, all_requests, index, flag, MPI_STATUS_IGNORE, ierror)
  call expect(flag .and. index == 2, 'MPI_Testany counts from 1')
  finished = 0
  do while (finished < n - 2)
    call MPI_Waitsome(n, all_requests, count, indices, MPI_STATUSES_IGNORE, ierror)
    call expect(count > 0 .and. all(indices(1:count) > 2), 'MPI_Waitsome counts from 1')
    finished = finished + count
  end do
  call MPI_Waitsome(n, all_requests, count, indices, MPI_STATUSES_IGNORE, ierror)
  call expect(count == MPI_UNDEFINED, 'MPI_Waitsome without a request')
  call MPI_Recv_init(values, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, all_requests(1), ierror)
  call MPI_Send_init(77, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, all_requests(2), ierror)
  call MPI_Startall(2, all_requests, ierror)
  call MPI_Waitall(2, all_requests, MPI_STATUSES_IGNORE, ierror)
  call expect(values(1) == 77, 'persistent requests')
  call MPI_Request_free(all_requests(1), ierror)
  call MPI_Request_free(all_requests(2), ierror)
  call expect(all_requests(1) == MPI_REQUEST_NULL, 'MPI_Request_free')
end subroutine

subroutine collectives
  use program_data
  integer :: i, sums(4), counts(size), places_of(size), gathered(2 * size), root_only(1), request, types(size)
  logical :: truth, every
  complex :: value, total
  sums = rank + [1, 2, 3, 4]
  call MPI_Bcast(sums, 4, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierror)
  call expect(all(sums == size - 1 + [1, 2, 3, 4]), 'MPI_Bcast')
  counts = [(i, i = 1, size)]
  counts = min(counts, 2)
  places_of = [(2 * (i - 1), i = 1, size)]
  gathered = -1
  call MPI_Gatherv([rank, rank], min(rank + 1, 2), MPI_INTEGER, gathered, counts, places_of, MPI_INTEGER, 0, &
                   MPI_COMM_WORLD, ierror)
  if (rank == 0) then
    call expect(all(gathered(1::2) == [(i, i = 0, size - 1)]) .and. gathered(2) == -1, 'MPI_Gatherv')
  else
    call expect(all(gathered == -1), 'MPI_Gatherv elsewhere')
  end if
  truth = rank /= 0 .or. size == 1
  call MPI_Allreduce(truth, every, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  call expect(every .eqv. size == 1, 'MPI_LAND of logicals')
  value = cmplx(rank, 1)
  call MPI_Reduce(value, total, 1, MPI_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) call expect(total == cmplx(size * (size - 1) / 2, size), 'sum of complex numbers')
  root_only = rank
  call MPI_Iallgather(root_only, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call expect(all(gathered(1:size) == [(i, i = 0, size - 1)]), 'MPI_Iallgather')
  counts = 1
  places_of = [(storage_size(i) / 8 * (i - 1), i = 1, size)]
  types = MPI_INTEGER
  call MPI_Alltoallw([(10 * rank + i, i = 0, size - 1)], counts, places_of, types, gathered, counts, places_of, types, &
                     MPI_COMM_WORLD, ierror)
  call expect(all(gathered(1:size) == [(10 * i + rank, i = 0, size - 1)]), 'MPI_Alltoallw')
end subroutine

subroutine places
  use program_data
  integer :: sum_of, all_of(size), i, type, counts(size)
  integer(kind=MPI_ADDRESS_KIND) :: where_(2)
  integer :: first, second
  sum_of = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, sum_of, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call expect(sum_of == size * (size + 1) / 2, 'MPI_IN_PLACE')
  all_of = -1
  all_of(rank + 1) = rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call expect(all(all_of == [(i, i = 0, size - 1)]), 'MPI_IN_PLACE of MPI_Allgather')
  counts = 1
  call MPI_Reduce_scatter(MPI_IN_PLACE, all_of, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call expect(all_of(1) == size * rank, 'MPI_Reduce_scatter')

  first = 11 + rank
  second = 22 + rank
  call MPI_Get_address(first, where_(1), ierror)
  call MPI_Get_address(second, where_(2), ierror)
  call MPI_Type_create_struct(2, [1, 1], where_, [MPI_INTEGER, MPI_INTEGER], type, ierror)
  call MPI_Type_commit(type, ierror)
  call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
  call read_again(first, second)
  call MPI_Type_free(type, ierror)
  call expect(type == MPI_DATATYPE_NULL, 'MPI_Type_free')
  call MPI_Get_address(MPI_BOTTOM, where_(1), ierror)
  call expect(where_(1) == 0, 'the address of MPI_BOTTOM')
contains
  subroutine read_again(a, b)
    integer :: a, b
    call MPI_F_sync_reg(a)
    call MPI_F_sync_reg(b)
    call expect(a == 11 .and. b == 22, 'MPI_BOTTOM')
  end subroutine
end subroutine

subroutine datatypes
  use program_data
  integer :: matrix(6, 4), column, row, i, j, size_of, ints(3), types(1), ni, na, nd, combiner, position
  integer :: block, in(4), pair(2), best(2)
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent, addresses(1)
  integer(kind=MPI_COUNT_KIND) :: large
  character(len=64) :: packed
  matrix = reshape([((10 * i + j, i = 1, 6), j = 1, 4)], [6, 4])
  call MPI_Type_vector(4, 1, 6, MPI_INTEGER, row, ierror)
  call MPI_Type_commit(row, ierror)
  call MPI_Sendrecv(matrix(2, 1), 1, row, rank, 1, in, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call expect(all(in == matrix(2, :)), 'a row by MPI_Type_vector')
  call MPI_Type_get_envelope(row, ni, na, nd, combiner, ierror)
  call expect(ni == 3 .and. na == 0 .and. nd == 1 .and. combiner == MPI_COMBINER_VECTOR, 'MPI_Type_get_envelope')
  call MPI_Type_get_contents(row, ni, na, nd, ints, addresses, types, ierror)
  call expect(all(ints == [4, 1, 6]) .and. size_of_type(types(1)) == storage_size(i) / 8, 'MPI_Type_get_contents')
  call MPI_Type_create_subarray(2, [6, 4], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, block, ierror)
  call MPI_Type_commit(block, ierror)
  call MPI_Sendrecv(matrix, 1, block, rank, 1, in, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call expect(all(in == [22, 32, 23, 33]), 'MPI_Type_create_subarray')
  call MPI_Type_size(block, size_of, ierror)
  call expect(size_of == 4 * storage_size(i) / 8, 'MPI_Type_size')
  call MPI_Type_size_x(block, large, ierror)
  call expect(large == size_of, 'MPI_Type_size_x')
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 24_MPI_ADDRESS_KIND, column, ierror)
  call MPI_Type_get_extent(column, lower, extent, ierror)
  call expect(lower == 0 .and. extent == 24, 'MPI_Type_create_resized')
  call MPI_Type_free(column, ierror)
  call MPI_Type_free(row, ierror)
  call MPI_Type_free(block, ierror)
  position = 0
  call MPI_Pack([5, 6], 2, MPI_INTEGER, packed, len(packed), position, MPI_COMM_WORLD, ierror)
  call expect(position == 2 * storage_size(i) / 8, 'position of MPI_Pack')
  position = 0
  call MPI_Unpack(packed, len(packed), position, in, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call expect(all(in(1:2) == [5, 6]), 'MPI_Unpack')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, column, ierror)
  call MPI_Type_size(column, size_of, ierror)
  call expect(size_of == 8, 'MPI_Type_match_size')
  call MPI_Type_create_f90_real(12, MPI_UNDEFINED, column, ierror)
  call MPI_Type_size(column, size_of, ierror)
  call expect(size_of == 8, 'MPI_Type_create_f90_real')
  call MPI_Type_create_f90_integer(12, column, ierror)
  call MPI_Type_size(column, size_of, ierror)
  call expect(size_of == 8, 'MPI_Type_create_f90_integer')
  pair = [rank, 100 + rank]
  call MPI_Allreduce(pair, best, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call expect(all(best == [size - 1, 99 + size]), 'MPI_MAXLOC of MPI_2INTEGER')
contains
  integer function size_of_type(type)
    integer, intent(in) :: type
    call MPI_Type_size(type, size_of_type, ierror)
  end function
end subroutine

subroutine strings
  use program_data
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_PROCESSOR_NAME) :: processor
  character(len=MPI_MAX_ERROR_STRING) :: message
  character(len=4) :: short
  character(len=20) :: value
  integer :: n, info, keys
  logical :: flag
  call MPI_Comm_set_name(MPI_COMM_WORLD, 'the world  ', ierror)
  name = 'xxxxxxxxxxxxxxx'
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, n, ierror)
  call expect(name == 'the world' .and. n == 9, 'MPI_Comm_get_name')
  call MPI_Get_processor_name(processor, n, ierror)
  call expect(n > 0 .and. len_trim(processor) == n, 'MPI_Get_processor_name')
  call MPI_Error_string(MPI_ERR_RANK, message, n, ierror)
  call expect(n > 0 .and. len_trim(message) == n, 'MPI_Error_string')
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, '  a key ', ' a value  ', ierror)
  call MPI_Info_get(info, 'a key', 20, value, flag, ierror)
  call expect(flag .and. value == 'a value', 'MPI_Info_get strips blanks')
  call MPI_Info_get(info, 'a key', 4, short, flag, ierror)
  call expect(flag .and. short == 'a va', 'MPI_Info_get cuts off')
  value = 'untouched'
  call MPI_Info_get(info, 'another', 20, value, flag, ierror)
  call expect(.not. flag .and. value == 'untouched', 'MPI_Info_get of nothing')
  n = len(value)
  call MPI_Info_get_string(info, 'a key', n, value, flag, ierror)
  call expect(flag .and. n == 7 .and. value == 'a value', 'MPI_Info_get_string')
  n = 0
  value = 'untouched'
  call MPI_Info_get_string(info, 'a key', n, value, flag, ierror)
  call expect(flag .and. n == 7 .and. value == 'untouched', 'MPI_Info_get_string of the length alone')
  call MPI_Info_get_valuelen(info, 'a key', n, flag, ierror)
  call expect(flag .and. n == 7, 'MPI_Info_get_valuelen')
  call MPI_Info_get_nthkey(info, 0, value, ierror)
  call expect(value == 'a key', 'MPI_Info_get_nthkey')
  call MPI_Info_get_nkeys(info, keys, ierror)
  call expect(keys == 1, 'MPI_Info_get_nkeys')
  call MPI_Info_free(info, ierror)
  call expect(info == MPI_INFO_NULL, 'MPI_Info_free')
end subroutine

subroutine topologies
  use program_data
  integer :: cart, row, dims(2), coords(2), from, to, n, i, graph, indegree, outdegree, got(2), sent, in(2), weights(1)
  logical :: periods(2), weighted
  dims = 0
  call MPI_Dims_create(size, 2, dims, ierror)
  call expect(dims(1) * dims(2) == size, 'MPI_Dims_create')
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart, ierror)
  periods = [.false., .true.]
  call MPI_Cart_get(cart, 2, dims, periods, coords, ierror)
  call expect(periods(1) .and. .not. periods(2), 'logicals of MPI_Cart_get')
  call MPI_Cart_rank(cart, coords, n, ierror)
  call expect(n == rank, 'MPI_Cart_rank')
  call MPI_Cart_shift(cart, 1, 1, from, to, ierror)
  call expect((to == MPI_PROC_NULL) .eqv. (coords(2) == dims(2) - 1), 'MPI_Cart_shift')
  call MPI_Cart_sub(cart, [.false., .true.], row, ierror)
  call MPI_Comm_size(row, n, ierror)
  call expect(n == dims(2), 'MPI_Cart_sub')
  call MPI_Comm_free(row, ierror)
  call MPI_Comm_free(cart, ierror)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + size - 1, size)], MPI_UNWEIGHTED, 1, &
       [mod(rank + 1, size)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
  call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted, ierror)
  call expect(indegree == 1 .and. outdegree == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
  call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, sent, 1, MPI_INTEGER, graph, ierror)
  call expect(sent == mod(rank + size - 1, size), 'MPI_Neighbor_alltoall')
  call MPI_Comm_free(graph, ierror)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [mod(rank + 1, size)], [7], MPI_INFO_NULL, .false., graph, ierror)
  call MPI_Dist_graph_neighbors(graph, 1, in, weights, 1, got, weights, ierror)
  call expect(got(1) == mod(rank + 1, size) .and. weights(1) == 7, 'MPI_Dist_graph_neighbors')
  call MPI_Comm_free(graph, ierror)
  call MPI_Graph_create(MPI_COMM_WORLD, size, [(2 * i, i = 1, size)], &
       [(mod(i + size - 1, size), mod(i + 1, size), i = 0, size - 1)], .false., graph, ierror)
  call MPI_Graph_neighbors(graph, rank, 2, got, ierror)
  call expect(got(2) == mod(rank + 1, size), 'MPI_Graph_neighbors')
  call MPI_Comm_free(graph, ierror)
end subroutine

subroutine groups
  use program_data
  integer :: world, part, ranges(3, 1), n, mapped(2), result, half, other, shared
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
  ranges(:, 1) = [0, size - 1, 2]
  call MPI_Group_range_incl(world, 1, ranges, part, ierror)
  call MPI_Group_size(part, n, ierror)
  call expect(n == (size + 1) / 2, 'MPI_Group_range_incl')
  call MPI_Group_translate_ranks(part, 1, [0], world, mapped, ierror)
  call expect(mapped(1) == 0, 'MPI_Group_translate_ranks')
  call MPI_Group_compare(world, part, result, ierror)
  call expect((result == MPI_IDENT) .eqv. (size == 1), 'MPI_Group_compare')
  call MPI_Comm_create(MPI_COMM_WORLD, part, half, ierror)
  call expect((half == MPI_COMM_NULL) .eqv. (mod(rank, 2) == 1), 'MPI_Comm_create')
  if (half /= MPI_COMM_NULL) call MPI_Comm_free(half, ierror)
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, other, ierror)
  call expect(other == MPI_COMM_NULL, 'MPI_Comm_split with MPI_UNDEFINED')
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, shared, ierror)
  call MPI_Comm_size(shared, n, ierror)
  call expect(n == size, 'MPI_Comm_split_type')
  call MPI_Comm_free(shared, ierror)
  call MPI_Group_free(part, ierror)
  call MPI_Group_free(world, ierror)
  call expect(world == MPI_GROUP_NULL, 'MPI_Group_free')
end subroutine

subroutine inquiries
  use program_data
  integer :: version, subversion, provided, class
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: value, sum_of
  double precision :: start
  call MPI_Initialized(flag, ierror)
  call expect(flag, 'MPI_Initialized')
  call MPI_Finalized(flag, ierror)
  call expect(.not. flag, 'MPI_Finalized')
  call MPI_Get_version(version, subversion, ierror)
  call expect(version >= 4, 'MPI_Get_version')
  call MPI_Query_thread(provided, ierror)
  call expect(provided >= MPI_THREAD_SINGLE, 'MPI_Query_thread')
  start = MPI_Wtime()
  call expect(MPI_Wtime() >= start .and. MPI_Wtick() > 0, 'MPI_Wtime')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
  sum_of = MPI_Aint_add(40_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND)
  call expect(sum_of == 42, 'MPI_Aint_add')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Send(version, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, ierror)
  call expect(ierror /= MPI_SUCCESS, 'a bad rank')
  call MPI_Error_class(ierror, class, ierror)
  call expect(class == MPI_ERR_RANK, 'MPI_Error_class')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
end subroutine

subroutine callbacks
  use program_data
  integer :: op, total(2), keyval, old_keyval, handler, twin, number
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  logical :: flag
  external add_twice, copy_attribute, delete_attribute, copy_old, handle_error
  integer :: deletions, errors
  common /calls/ deletions, errors
  deletions = 0
  errors = 0
  call MPI_Op_create(add_twice, .true., op, ierror)
  call MPI_Allreduce([1, 2], total, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call expect(all(total == [2 * size - 1, 4 * size - 2]), 'an operation of the program')
  call MPI_Op_free(op, ierror)

  extra = 5
  value = -7000000000_MPI_ADDRESS_KIND
  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, extra, ierror)
  call MPI_Keyval_create(copy_old, MPI_NULL_DELETE_FN, old_keyval, 3, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
  call MPI_Attr_put(MPI_COMM_WORLD, old_keyval, -40, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
  call MPI_Comm_get_attr(twin, keyval, value, flag, ierror)
  call expect(flag .and. value == -6999999995_MPI_ADDRESS_KIND, 'a copied attribute')
  call MPI_Attr_get(twin, old_keyval, number, flag, ierror)
  call expect(flag .and. number == -37, 'a copied attribute of MPI_Keyval_create')
  call MPI_Comm_free(twin, ierror)
  call expect(deletions == 1, 'an attribute deleted with its communicator')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
  call MPI_Attr_delete(MPI_COMM_WORLD, old_keyval, ierror)
  call expect(deletions == 2, 'MPI_Comm_delete_attr')
  call MPI_Comm_free_keyval(keyval, ierror)
  call MPI_Keyval_free(old_keyval, ierror)
  call expect(keyval == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')

  call MPI_Comm_create_errhandler(handle_error, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Send(number, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierror)
  call expect(errors == 1 .and. ierror /= MPI_SUCCESS, 'an error handler of the program')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  call MPI_Errhandler_free(handler, ierror)
end subroutine

subroutine add_twice(invec, inoutvec, len, datatype)
  implicit none
  integer :: len, datatype, invec(len), inoutvec(len)
  inoutvec = inoutvec + 2 * invec
end subroutine

subroutine copy_attribute(comm, keyval, extra, value_in, value_out, flag, ierror)
  use program_data, only: MPI_ADDRESS_KIND
  implicit none
  integer :: comm, keyval, ierror
  integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
  logical :: flag
  value_out = value_in + extra
  flag = .true.
  ierror = 0
end subroutine

subroutine delete_attribute(comm, keyval, value, extra, ierror)
  use program_data, only: MPI_ADDRESS_KIND
  implicit none
  integer :: comm, keyval, ierror, deletions, errors
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  common /calls/ deletions, errors
  deletions = deletions + 1
  ierror = 0
end subroutine

subroutine copy_old(comm, keyval, extra, value_in, value_out, flag, ierror)
  implicit none
  integer :: comm, keyval, extra, value_in, value_out, ierror
  logical :: flag
  value_out = value_in + extra
  flag = .true.
  ierror = 0
end subroutine

subroutine handle_error(comm, code)
  use program_data, only: MPI_COMM_WORLD, MPI_ERR_RANK
  implicit none
  integer :: comm, code, deletions, errors, class, ierror
  common /calls/ deletions, errors
  call MPI_Error_class(code, class, ierror)
  if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) errors = errors + 1
end subroutine
