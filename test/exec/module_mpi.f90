program units_mpi
  use mpi
  implicit none
  integer :: rank, ranks, error, sums(4), kept = 3
  integer :: shared
  common /block/ shared
  character(len=16) :: name, line
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  kept = kept + rank
  shared = 10 * rank
  sums = rank
  write (name, '("unit", i0)') rank
  open (unit=17, file=name, status='replace')
  write (17, '(a, i0)') 'of', rank
  call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  rewind (17)
  read (17, '(a)') line
  close (17, status='delete')
  write (*, '(i0, a, 3(1x, i0), 1x, a)') rank, ':', sums(1), kept, shared, trim(line)
  call MPI_Finalize(error)
end program
