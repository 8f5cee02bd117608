! Windows with mpi_f08: handles with types, arrays that are not contiguous, large counts, absent ierror.
program windows_f08
  use check
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, size, next, previous
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  previous = mod(rank + size - 1, size)
  call sections
  call shared
  call MPI_Finalize()
  call verdict(9)
  if (rank == 0) print '(a)', 'No Errors'
contains
  ! Every second element here, one after another there; and back.
  subroutine sections
    integer, asynchronous :: memory(8), out(16), back(16), old(16)
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    integer :: i
    memory = 0
    out = [(100 * rank + i, i = 1, 16)]
    back = -1
    old = -1
    call MPI_Win_create(memory, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call expect(win /= MPI_WIN_NULL, 'MPI_Win_create')
    call MPI_Win_fence(0, win)
    call MPI_Put(out(1:16:2), 8, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(all(memory == [(100 * previous + i, i = 1, 15, 2)]), 'MPI_Put of a section')
    call MPI_Get(back(2:16:2), 8, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(all(back(2:16:2) == out(1:16:2)) .and. all(back(1:15:2) == -1), 'MPI_Get into a section')
    call MPI_Accumulate(out(16:1:-2), 8, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8, MPI_INTEGER, MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    call expect(all(memory == [(100 * previous + i, i = 16, 2, -2)]), 'MPI_Accumulate of a section')
    call MPI_Get_accumulate(out(1:16:2), 8, MPI_INTEGER, old(1:16:2), 8, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8, &
                            MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    call expect(all(old(1:16:2) == out(16:1:-2)) .and. all(old(2:16:2) == -1), 'MPI_Get_accumulate of sections')
    call expect(all(memory == [(200 * previous + 17, i = 1, 8)]), 'what MPI_Get_accumulate leaves')
    call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win)
#ifdef MODULE_OF_MPICH
    call MPI_Rget(back, 8, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8, MPI_INTEGER, win, request)
#else
    call MPI_Rget(back, 8_MPI_COUNT_KIND, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 8_MPI_COUNT_KIND, MPI_INTEGER, win, request)
#endif
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_unlock(next, win)
    call MPI_F_sync_reg(back)
    call expect(all(back(1:8) == 200 * rank + 17), 'MPI_Rget')
    call MPI_Win_free(win)
    call expect(win == MPI_WIN_NULL, 'MPI_Win_free')
  end subroutine

  subroutine shared
    type(MPI_Win) :: win
    type(c_ptr) :: base
    real(kind=8), pointer, volatile :: memory(:)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, value
    integer :: unit
    logical :: flag
    call MPI_Win_allocate_shared(80_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [10])
    memory = rank + 0.5d0
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag)
    call expect(flag .and. value == MPI_WIN_FLAVOR_SHARED, 'MPI_WIN_CREATE_FLAVOR')
    call MPI_Win_fence(0, win)
    call MPI_Win_shared_query(win, next, bytes, unit, base)
    call c_f_pointer(base, memory, [10])
    call expect(bytes == 80 .and. unit == 8 .and. all(memory == next + 0.5d0), 'MPI_Win_shared_query')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine
end program
