! What every test program has: counts of what was right and wrong, and the verdict at the end.
module check
  implicit none
  integer, save :: checked = 0, failed = 0
contains
  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    checked = checked + 1
    if (condition) return
    failed = failed + 1
    print '(2a)', 'wrong: ', what
  end subroutine

  ! Ends the program; the caller has finalized MPI.
  subroutine verdict(least)
    integer, intent(in) :: least
    if (checked < least) then
      print '(a,i0,a,i0)', 'only ', checked, ' checks of ', least
      stop 1
    end if
    if (failed > 0) stop 1
  end subroutine
end module
