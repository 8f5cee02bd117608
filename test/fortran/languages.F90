! Handles, statuses and attributes that cross between Fortran and C (languages_c.c).
program languages
  use check
  implicit none
  include 'mpif.h'
  interface
    integer(c_int) function c_sees(comm, type, status, keyval, value) bind(C)
      use, intrinsic :: iso_c_binding
      integer(c_int), value :: comm, type, keyval
      integer(c_int) :: status(*)
      integer(c_intptr_t), value :: value
    end function
    integer(c_int) function c_makes(comm, keyval) bind(C)
      use, intrinsic :: iso_c_binding
      integer(c_int) :: comm, keyval
    end function
  end interface
  integer :: ierror, rank, keyval, status(MPI_STATUS_SIZE), comm, n, pair, got(4)
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  logical :: flag
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  extra = 0
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierror)
  value = 123456789012_MPI_ADDRESS_KIND
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
  call MPI_Type_commit(pair, ierror)
  call MPI_Sendrecv([1, 2, 3, 4], 2, pair, rank, 9, got, 2, pair, rank, 9, MPI_COMM_WORLD, status, ierror)
  call expect(c_sees(MPI_COMM_WORLD, pair, status, keyval, value) == 0, 'C sees what Fortran made')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  call MPI_Type_free(pair, ierror)

  call expect(c_makes(comm, keyval) == 0, 'C makes things')
  call MPI_Comm_size(comm, n, ierror)
  call expect(n == 1, 'a communicator that C made')
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  call expect(flag .and. value == 4660, 'an attribute that C set is an address')
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  call MPI_Finalize(ierror)
  call verdict(4)
end program
