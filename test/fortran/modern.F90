! The module mpi_f08: handles with types, arrays that are not contiguous, large counts, absent ierror, callbacks.
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, save :: copies = 0, deletions = 0, errors = 0, queries = 0, frees = 0
contains
  subroutine add_twice(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) inout = inout + 2 * in
  end subroutine
  subroutine copy_attribute(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_attribute(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    integer :: class
    call MPI_Error_class(error_code, class)
    if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) errors = errors + 1
    if (class == MPI_ERR_UNSUPPORTED_OPERATION) errors = errors + 10
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 3
    status%MPI_TAG = 4
    ierror = MPI_SUCCESS
  end subroutine
  subroutine free_state(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program modern
  use mpi_f08
  use check
  use procedures
  implicit none
  integer :: rank, size, ierror
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call expect(ierror == MPI_SUCCESS, 'MPI_Comm_size')
  call handles
  call sections
  call sections_later
  call large_counts
  call callbacks
  call strings_and_memory
  call constants
  call MPI_Finalize()
  call verdict(40)
contains
  subroutine handles
    type(MPI_Comm) :: twin
    type(MPI_Status) :: status
    type(MPI_Request) :: request, all_requests(2)
    integer :: number, f_status(MPI_STATUS_SIZE), index, n
    logical :: flag
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call expect(twin /= MPI_COMM_WORLD .and. twin /= MPI_COMM_NULL, 'MPI_Comm_dup')
    call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 1, twin, request)
    call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, twin, status)
    call expect(number == mod(rank + size - 1, size) .and. status%MPI_SOURCE == number .and. status%MPI_TAG == 1, 'a status')
    call MPI_Status_f082f(status, f_status)
    call expect(f_status(MPI_SOURCE) == number, 'MPI_Status_f082f')
    call MPI_Get_count(status, MPI_INTEGER, n)
    call expect(n == 1, 'MPI_Get_count')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(request == MPI_REQUEST_NULL, 'MPI_Wait')
    all_requests = MPI_REQUEST_NULL
    call MPI_Irecv(number, 1, MPI_INTEGER, MPI_PROC_NULL, 0, twin, all_requests(2))
    call MPI_Waitany(2, all_requests, index, status)
    call expect(index == 2 .and. status%MPI_SOURCE == MPI_PROC_NULL, 'MPI_Waitany')
    call MPI_Testall(2, all_requests, flag, MPI_STATUSES_IGNORE)
    call expect(flag, 'MPI_Testall')
    call MPI_Comm_free(twin)
    call expect(twin == MPI_COMM_NULL, 'MPI_Comm_free')
  end subroutine

  ! Blocking calls with sections of arrays.
  subroutine sections
    integer :: matrix(8, 6), line(6), got(12), back(6), expected(8, 6), i, sum_of(3)
    real(kind=8) :: reals(10)
    type(MPI_Datatype) :: pair
    do i = 1, 6
      matrix(:, i) = 100 * i + [1, 2, 3, 4, 5, 6, 7, 8] + 1000 * rank
    end do
    call MPI_Sendrecv(matrix(2, :), 6, MPI_INTEGER, rank, 0, line, 6, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(line == matrix(2, :)), 'a row is sent')
    call MPI_Sendrecv(line(6:1:-1), 6, MPI_INTEGER, rank, 0, back, 6, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(back == matrix(2, 6:1:-1)), 'a negative stride')
    expected = matrix
    expected(1:8:2, 2:5:3) = reshape([(i, i = 1, 8)], [4, 2])
    call MPI_Sendrecv([(i, i = 1, 8)], 8, MPI_INTEGER, rank, 0, matrix(1:8:2, 2:5:3), 8, MPI_INTEGER, rank, 0, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(matrix == expected), 'a section is received, the rest untouched')
    got = -1
    call MPI_Sendrecv([7, 8, 9], 3, MPI_INTEGER, rank, 0, got(1:12:2), 6, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call expect(all(got == [7, -1, 8, -1, 9, -1, -1, -1, -1, -1, -1, -1]), 'less is received than there is room')
    reals = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, reals(1:10:3), 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call expect(all(reals(1:10:3) == size * (size + 1) / 2) .and. reals(2) == rank + 1, 'a reduction of a section')
    sum_of = [1, 2, 3] * (rank + 1)
    call MPI_Bcast(sum_of(1:3:2), 2, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    call expect(all(sum_of == [size, 2 * (rank + 1), 3 * size]), 'MPI_Bcast of a section')
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Sendrecv(matrix(3, :), 3, pair, rank, 0, back, 6, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(back == matrix(3, :)), 'a datatype of two elements')
    call MPI_Type_free(pair)
    call assumed_size(matrix)
  end subroutine
  subroutine assumed_size(array)
    integer, intent(inout) :: array(*)
    integer :: first(2)
    call MPI_Sendrecv(array, 2, MPI_INTEGER, rank, 0, first, 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(first == array(1:2)), 'an array of assumed size')
  end subroutine

  ! Calls that return before the data have moved.
  subroutine sections_later
    integer, asynchronous :: matrix(6, 4, 2), source(6, 4, 2), got(24), wide(12)
    character(len=3), asynchronous :: words(6), told(3)
    type(MPI_Request) :: all_requests(2)
    type(MPI_Datatype) :: holes
    integer :: i, expected(6, 4, 2)
    source = reshape([(i, i = 1, 48)], [6, 4, 2])
    matrix = 0
    call MPI_Irecv(matrix(1:6:2, :, 2), 12, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, all_requests(1))
    call MPI_Isend(source(6:1:-2, 4:1:-1, 1), 12, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, all_requests(2))
    call MPI_Waitall(2, all_requests, MPI_STATUSES_IGNORE)
    expected = 0
    expected(1:6:2, :, 2) = source(6:1:-2, 4:1:-1, 1)
    call expect(all(matrix == expected), 'MPI_Isend and MPI_Irecv of sections')

    got = 0
    call MPI_Irecv(got(1:24:4), 5, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, all_requests(1))
    call MPI_Isend(source(2, :, :), 5, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, all_requests(2))
    call MPI_Waitall(2, all_requests, MPI_STATUSES_IGNORE)
    call expect(all(got(1:17:4) == [2, 8, 14, 20, 26]) .and. got(21) == 0, 'the first elements of a section')

    ! Elements 1 and 3 of every four that the section has.
    call MPI_Type_create_indexed_block(2, 1, [0, 2], MPI_INTEGER, holes)
    call resize(holes, 16_MPI_ADDRESS_KIND)
    wide = [(i, i = 1, 12)]
    got = 0
    call MPI_Irecv(got, 4, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, all_requests(1))
    call MPI_Isend(source(1, :, :), 2, holes, rank, 2, MPI_COMM_WORLD, all_requests(2))
    call MPI_Waitall(2, all_requests, MPI_STATUSES_IGNORE)
    call expect(all(got(1:4) == [1, 13, 25, 37]), 'a datatype with holes over a section')
    call MPI_Type_free(holes)

    words = ['one', 'two', 'thr', 'fou', 'fiv', 'six']
    call MPI_Irecv(told, 9, MPI_CHARACTER, rank, 3, MPI_COMM_WORLD, all_requests(1))
    call MPI_Isend(words(2:6:2), 9, MPI_CHARACTER, rank, 3, MPI_COMM_WORLD, all_requests(2))
    call MPI_Waitall(2, all_requests, MPI_STATUSES_IGNORE)
    call expect(all(told == ['two', 'fou', 'six']), 'strings of a section')

    wide = 0
    if (rank == 0) wide(1:12:3) = [1, 2, 3, 4]
    call MPI_Ibcast(wide(1:12:3), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, all_requests(1))
    call MPI_Wait(all_requests(1), MPI_STATUS_IGNORE)
    call expect(all(wide(1:12:3) == [1, 2, 3, 4]), 'MPI_Ibcast of a section')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(MPI_IN_PLACE, wide(1:12:3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, all_requests(1), i)
    call expect(i == MPI_ERR_BUFFER, 'a nonblocking reduction refuses a section')
    ! The bytes of 2**61 elements overflow to none.
    call MPI_Isend(wide(1:12:3), 2_MPI_COUNT_KIND**61 + 1, MPI_DOUBLE_PRECISION, rank, 3, MPI_COMM_WORLD, &
                   all_requests(1), i)
    call expect(i == MPI_ERR_COUNT, 'a nonblocking send of a section refuses more than memory holds')
    call MPI_Send(wide(1:12:3), 2_MPI_COUNT_KIND**61, MPI_DOUBLE_PRECISION, rank, 3, MPI_COMM_WORLD, i)
    call expect(i == MPI_ERR_COUNT, 'a send of a section refuses more than memory holds')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine
  subroutine resize(type, extent)
    type(MPI_Datatype), intent(inout) :: type
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: extent
    type(MPI_Datatype) :: old
    old = type
    call MPI_Type_create_resized(old, 0_MPI_ADDRESS_KIND, extent, type)
    call MPI_Type_commit(type)
    call MPI_Type_free(old)
  end subroutine

  subroutine large_counts
    integer(kind=MPI_COUNT_KIND) :: count, displacements(size), counts(size), bytes
    integer :: in(4), all_of(2 * size), i
    type(MPI_Status) :: status
    type(MPI_Datatype) :: huge_type
    integer(kind=MPI_ADDRESS_KIND) :: places_of(size)
    count = 4
    call MPI_Sendrecv([1, 2, 3, 4], count, MPI_INTEGER, rank, 0, in, count, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, status)
    call expect(all(in == [1, 2, 3, 4]), 'MPI_Sendrecv with large counts')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call expect(count == 4, 'MPI_Get_count with a large count')
    call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_INTEGER, huge_type)
    call MPI_Type_size(huge_type, bytes)
    call expect(bytes == 12000000000_MPI_COUNT_KIND, 'a datatype of three thousand million')
    call MPI_Type_size(huge_type, i)
    call expect(i == MPI_UNDEFINED, 'a size that does not fit')
    call MPI_Type_free(huge_type)
    counts = 1
    places_of = [(2 * (i - 1), i = 1, size)]
    all_of = -1
    call MPI_Allgatherv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, all_of, counts, places_of, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(all_of(1::2) == [(i, i = 0, size - 1)]), 'MPI_Allgatherv with large counts')
    displacements = 0
  end subroutine

  subroutine callbacks
    type(MPI_Op) :: op
    type(MPI_Comm) :: twin
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: total, keyval, n
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    call MPI_Op_create(add_twice, .true., op)
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call expect(total == 2 * size - 1, 'an operation of the program')
    call MPI_Op_free(op)
    call expect(op == MPI_OP_NULL, 'MPI_Op_free')

    extra = 5
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, extra)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, -7000000000_MPI_ADDRESS_KIND)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, value, flag)
    call expect(flag .and. value == -7000000000_MPI_ADDRESS_KIND, 'MPI_Comm_get_attr')
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_get_attr(twin, keyval, value, flag)
    call expect(flag .and. value == -6999999995_MPI_ADDRESS_KIND .and. copies == 1, 'a copied attribute')
    call MPI_Comm_free(twin)
    call expect(deletions == 1, 'an attribute deleted with its communicator')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call expect(deletions == 2, 'MPI_Comm_delete_attr')
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 17_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_get_attr(twin, keyval, value, flag)
    call expect(flag .and. value == 17, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(twin)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call MPI_Comm_free_keyval(keyval)
    call expect(keyval == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')

    call MPI_Comm_create_errhandler(handle_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(total, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, n)
    call expect(errors == 1 .and. n /= MPI_SUCCESS, 'an error handler of the program')
    call MPI_Close_port('port', n)
    call expect(errors == 11 .and. n /= MPI_SUCCESS, 'a function that is not implemented')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)

    call MPI_Grequest_start(query, free_state, cancel, extra, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call expect(queries == 1 .and. frees == 1 .and. n == 5 .and. status%MPI_TAG == 4, 'a generalized request')
  end subroutine

  subroutine strings_and_memory
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=5) :: little
    integer :: n
    type(c_ptr) :: memory
    integer, pointer :: ints(:)
    integer(kind=MPI_ADDRESS_KIND) :: position
    character(len=64) :: packed
    integer :: got(2)
    real(kind=8), target, asynchronous :: buffer(1000)
    type(c_ptr) :: detached
    call MPI_Comm_set_name(MPI_COMM_WORLD, 'a name')
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, n)
    call expect(name == 'a name' .and. n == 6, 'MPI_Comm_get_name')
#ifndef MODULE_OF_MPICH
    ! MPICH's module wants the string as long as the longest name.
    call MPI_Comm_get_name(MPI_COMM_WORLD, little, n)
    call expect(little == 'a nam', 'a name in a short string')
#endif
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, ints, [10])
    ints = 3
    call expect(sum(ints) == 30, 'MPI_Alloc_mem')
    call MPI_Free_mem(ints)
    position = 0
    call MPI_Pack_external('external32', [5, 6], 2, MPI_INTEGER, packed, 64_MPI_ADDRESS_KIND, position)
    call expect(position == 8 .and. packed(4:4) == char(5), 'MPI_Pack_external')
    position = 0
    call MPI_Unpack_external('external32', packed, 64_MPI_ADDRESS_KIND, position, got, 2, MPI_INTEGER)
    call expect(all(got == [5, 6]), 'MPI_Unpack_external')
    call MPI_Buffer_attach(buffer, 8000)
    call MPI_Bsend(n, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD)
    call MPI_Recv(n, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
#ifndef MODULE_OF_MPICH
    ! gfortran 12 fails in itself on this call with MPICH's module.
    call MPI_Buffer_detach(detached, n)
    call expect(n == 8000 .and. c_associated(detached, c_loc(buffer)), 'MPI_Buffer_detach')
#endif
    call MPI_Sizeof(position, n)
    call expect(n == 8, 'MPI_Sizeof')
  end subroutine

  subroutine constants
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    integer :: ints(2), all_of(size), i
    type(MPI_Datatype) :: type
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
    all_of = -1
    all_of(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(all_of == [(i, i = 0, size - 1)]), 'MPI_IN_PLACE')
    ints = rank
    call MPI_Get_address(ints, value)
    call MPI_Type_create_hindexed_block(1, 2, [value], MPI_INTEGER, type)
    call MPI_Type_commit(type)
    call MPI_Bcast(MPI_BOTTOM, 1, type, size - 1, MPI_COMM_WORLD)
    call MPI_F_sync_reg(ints)
    call expect(all(ints == size - 1), 'MPI_BOTTOM')
    call MPI_Type_free(type)
  end subroutine
end program
