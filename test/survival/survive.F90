! Goes on without rank 1, from Fortran: with mpi_f08, the module mpi (USE_MODULE) or mpif.h (USE_HEADER).
program survive
#if defined(USE_MODULE)
  use mpi
#elif !defined(USE_HEADER)
  use mpi_f08
#endif
  implicit none
#if defined(USE_HEADER)
  include 'mpif.h'
#endif
#if defined(USE_MODULE) || defined(USE_HEADER)
  integer :: smaller, group
#else
  type(MPI_Comm) :: smaller
  type(MPI_Group) :: group
#endif
  integer :: rank, total, code, class, ierror, well, failed, acknowledged
  logical :: revoked

  call MPI_Init(ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 1) call abort()
  do
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    if (code /= MPI_SUCCESS) exit
  end do
  call MPI_Error_class(code, class, ierror)
  if (class /= MPIX_ERR_PROC_FAILED .and. class /= MPIX_ERR_REVOKED) call fail("the class of the error")
  call MPIX_Comm_revoke(MPI_COMM_WORLD, ierror)
  call MPIX_Comm_is_revoked(MPI_COMM_WORLD, revoked, ierror)
  if (.not. revoked) call fail("MPIX_Comm_is_revoked")
  well = 6
  if (rank == 0) well = 3
  call MPIX_Comm_agree(MPI_COMM_WORLD, well, code)
  call MPI_Error_class(code, class, ierror)
  if (well /= 2 .or. class /= MPIX_ERR_PROC_FAILED) call fail("MPIX_Comm_agree")
  call MPIX_Comm_get_failed(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_size(group, failed, ierror)
  call MPI_Group_free(group, ierror)
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, failed, acknowledged, ierror)
  if (failed /= 1 .or. acknowledged /= 1) call fail("MPIX_Comm_ack_failed")
  call MPIX_Comm_failure_ack(MPI_COMM_WORLD, ierror)
  call MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_size(group, failed, ierror)
  call MPI_Group_free(group, ierror)
  if (failed /= 1) call fail("MPIX_Comm_failure_get_acked")
  call MPIX_Comm_shrink(MPI_COMM_WORLD, smaller, ierror)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, smaller, ierror)
  if (total /= 2) call fail("a sum over those that are left")
  call MPI_Comm_free(smaller, ierror)
  if (rank == 0) print '(a)', "rank 1 was left out"
  call MPI_Finalize(ierror)
contains
  subroutine fail(what)
    character(len=*), intent(in) :: what
    print '(a, i0, 2a)', "rank ", rank, ": ", what
    call MPI_Abort(MPI_COMM_WORLD, 9, ierror)
  end subroutine
end program
