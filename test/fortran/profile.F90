! A tool in Fortran: it has procedures by the specific names of mpi_f08 (MPI-5.0 section 19.1.5), and the program's calls
! come to them.
module counts
  implicit none
  integer, save :: sends = 0, elements = 0
end module

subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
  use mpi_f08, own_name => MPI_Send_f08ts
  use counts
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  sends = sends + 1
  elements = elements + count
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

program profile
  use mpi_f08
  use check
  use counts
  implicit none
  integer :: rank, ranks, grid(4, 4), got(4)
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  grid = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], [4, 4])
  call MPI_Irecv(got, 4, MPI_INTEGER, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, request)
  call MPI_Send(grid(2, :), 4, MPI_INTEGER, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(all(got == [2, 6, 10, 14]), 'a section through the tool')
  call expect(sends == 1 .and. elements == 4, 'the tool saw the call')
  call MPI_Finalize()
  call verdict(2)
end program
