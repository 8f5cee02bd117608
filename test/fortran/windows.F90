! Windows with mpif.h or the module mpi: memory by Cray-like addresses and TYPE(C_PTR), attributes, epochs, handlers.
module window_procedures
  implicit none
  integer, save :: errors = 0, deletions = 0
contains
  subroutine handle_error(win, code)
    integer :: win, code
    if (win /= 0 .and. code /= 0) errors = errors + 1
  end subroutine
  subroutine delete_attribute(win, keyval, value, extra, ierror)
#ifdef USE_MODULE
    use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
#else
    include 'mpif.h'
#endif
    integer :: win, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    if (value == 77 .and. extra == 5) deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program windows
  use check
  use window_procedures
  use, intrinsic :: iso_c_binding
#ifdef USE_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, size, next, previous, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  next = mod(rank + 1, size)
  previous = mod(rank + size - 1, size)
  call created
  call allocated
  call locked
  call named
  call MPI_Finalize(ierror)
  call verdict(20)
  if (rank == 0) print '(a)', 'No Errors'
contains
  subroutine created
    integer, volatile :: memory(10), n
    integer :: value(2), win, group, request, status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place, attribute
    logical :: flag
    memory = -1
    bytes = 40
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call expect(ierror == MPI_SUCCESS .and. win /= MPI_WIN_NULL, 'MPI_Win_create')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, attribute, flag, ierror)
    call expect(flag .and. attribute == 40, 'MPI_WIN_SIZE')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, attribute, flag, ierror)
    call expect(flag .and. attribute == 4, 'MPI_WIN_DISP_UNIT')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, attribute, flag, ierror)
    call expect(flag .and. attribute == MPI_WIN_FLAVOR_CREATE, 'MPI_WIN_CREATE_FLAVOR')
    call MPI_Get_address(memory, place, ierror)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, attribute, flag, ierror)
    call expect(flag .and. attribute == place, 'MPI_WIN_BASE')
    call MPI_Win_get_group(win, group, ierror)
    call MPI_Group_size(group, n, ierror)
    call MPI_Group_free(group, ierror)
    call expect(n == size, 'MPI_Win_get_group')
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierror)
    value = [rank, 100]
    place = 3
    call MPI_Put(value, 2, MPI_INTEGER, next, place, 2, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call expect(memory(4) == previous .and. memory(5) == 100 .and. memory(6) == -1, 'MPI_Put')
    place = 4
    call MPI_Accumulate(value, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, MPI_SUM, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call expect(memory(5) == 100 + previous, 'MPI_Accumulate')
    call MPI_Win_lock_all(0, win, ierror)
    n = -1
    call MPI_Rget(n, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, status, ierror)
    call expect(n == 100 + rank, 'MPI_Rget')
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
    call expect(win == MPI_WIN_NULL, 'MPI_Win_free')
  end subroutine

  subroutine allocated
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place, address
    type(c_ptr) :: base, theirs
    integer, pointer, volatile :: memory(:)
    integer, volatile :: got
    integer :: win, unit
    bytes = 400
#ifdef USE_MODULE
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
#else
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, ierror)
    base = transfer(address, base)
#endif
    call c_f_pointer(base, memory, [100])
    memory = rank
    call MPI_Win_fence(0, win, ierror)
    place = 99
    call MPI_Get(got, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call expect(got == next, 'MPI_Win_allocate')
    call MPI_Win_free(win, ierror)
#ifdef USE_MODULE
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call MPI_Win_shared_query(win, next, bytes, unit, theirs, ierror)
#else
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, ierror)
    base = transfer(address, base)
    call MPI_Win_shared_query(win, next, bytes, unit, address, ierror)
    theirs = transfer(address, theirs)
#endif
    call expect(bytes == 400 .and. unit == 4, 'MPI_Win_shared_query')
    call c_f_pointer(base, memory, [100])
    memory = 10 * rank
    call MPI_Win_fence(0, win, ierror)
    call c_f_pointer(theirs, memory, [100])
    call expect(all(memory == 10 * next), 'memory of another process')
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine locked
    integer(kind=MPI_ADDRESS_KIND) :: bytes, zero
    integer, volatile :: counter, ticket, swapped
    integer :: one, i, win, last, origins, targets, world
    logical :: flag
    counter = 0
    bytes = 4
    zero = 0
    one = 1
    call MPI_Win_create(counter, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    last = -1
    do i = 1, 10
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierror)
      call MPI_Fetch_and_op(one, ticket, MPI_INTEGER, 0, zero, MPI_SUM, win, ierror)
      call MPI_Win_unlock(0, win, ierror)
      call expect(ticket > last .and. ticket < 10 * size, 'MPI_Fetch_and_op')
      last = ticket
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win, ierror)
    call MPI_Compare_and_swap(one, one, swapped, MPI_INTEGER, 0, zero, win, ierror)
    call MPI_Win_flush(0, win, ierror)
    call MPI_Win_unlock(0, win, ierror)
    call expect(swapped == 10 * size, 'MPI_Compare_and_swap')
    ! Nobody may put to the counter before all have looked at it.
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
    call MPI_Group_incl(world, 1, [previous], origins, ierror)
    call MPI_Group_incl(world, 1, [next], targets, ierror)
    call MPI_Win_post(origins, 0, win, ierror)
    call MPI_Win_start(targets, 0, win, ierror)
    call MPI_Put(rank, 1, MPI_INTEGER, next, zero, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_complete(win, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(win, flag, ierror)
    end do
    call expect(counter == previous, 'MPI_Win_post to MPI_Win_test')
    call MPI_Group_free(origins, ierror)
    call MPI_Group_free(targets, ierror)
    call MPI_Group_free(world, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine named
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, address
    integer, volatile :: memory(4)
    integer :: win, keyval, handler, length
    character(len=MPI_MAX_OBJECT_NAME) :: name
    logical :: flag
    external MPI_WIN_NULL_COPY_FN
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    value = 16
    call MPI_Win_attach(win, memory, value, ierror)
    call MPI_Get_address(memory, address, ierror)
    memory = 0
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win, ierror)
    call MPI_Put([4], 1, MPI_INTEGER, rank, address, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_unlock(rank, win, ierror)
    call expect(memory(1) == 4, 'MPI_Win_attach')
    call MPI_Win_detach(win, memory, ierror)
    call MPI_Win_set_name(win, 'of Fortran', ierror)
    call MPI_Win_get_name(win, name, length, ierror)
    call expect(name == 'of Fortran' .and. length == 10, 'MPI_Win_get_name')
    extra = 5
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, keyval, extra, ierror)
    value = 77
    call MPI_Win_set_attr(win, keyval, value, ierror)
    value = 0
    call MPI_Win_get_attr(win, keyval, value, flag, ierror)
    call expect(flag .and. value == 77, 'MPI_Win_get_attr')
    call MPI_Win_create_errhandler(handle_error, handler, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Win_unlock_all(win, ierror)
    call expect(errors == 1 .and. ierror /= MPI_SUCCESS, 'MPI_Win_set_errhandler')
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_free(win, ierror)
    call expect(deletions == 1, 'the delete function')
    call MPI_Win_free_keyval(keyval, ierror)
  end subroutine
end program
