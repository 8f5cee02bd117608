! Memory ends while a call from Fortran copies its arguments. `limit_memory` is in memory_c.c.
program memory
  use iso_c_binding, only: c_int
#ifdef SECTION
  use mpi_f08
  implicit none
  integer(1), allocatable, target :: bytes(:)
#else
  use mpi
  implicit none
  integer, allocatable :: requests(:), indices(:)
  integer :: outcount
#endif
  interface
    subroutine limit_memory(mebibytes) bind(c)
      import c_int
      integer(c_int), value :: mebibytes
    end subroutine
  end interface
  integer, parameter :: many = 50000000
  integer :: error
  call MPI_Init(error)
#ifdef SECTION
  allocate (bytes(2 * many))
  bytes = 1
  call limit_memory(20_c_int)
  call MPI_Bcast(bytes(1:2 * many:2), many, MPI_INTEGER1, 0, MPI_COMM_WORLD, error)
#else
  allocate (requests(many), indices(many))
  requests = MPI_REQUEST_NULL
  call limit_memory(20_c_int)
  call MPI_Testsome(many, requests, outcount, indices, MPI_STATUSES_IGNORE, error)
#endif
  print '(a)', 'there was memory after all'
end program
