"""Drives virtual fabrics and jobs on them, for tests, benchmarks and demonstrations.

  fabric      a fabric: up, down, faults and when they took effect, its process, programs on its hosts
  processes   programs that are started, asked, and gone at the end; ports that they listen on
  testbed     a build, a scratch folder, fabrics and jobs that end with a `with`; the ranks' event logs
  open_mpi    Debian's Open MPI with a virtual host as a node

Nothing here measures, judges or prints: that is for who uses it. Errors are `Failed`.
"""
from .fabric import Fabric
from .processes import PATIENCE, Failed, monotonic

__all__ = ["PATIENCE", "Fabric", "Failed", "monotonic"]
