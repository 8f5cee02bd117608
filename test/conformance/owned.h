// MPI objects that are freed at the end of a scope. Communicators are not when a case is being given up:
// freeing is collective, and the other ranks may be elsewhere.
#pragma once

#include <mpi.h>

#include <exception>
#include <utility>

namespace conformance {

template <class Traits>
class Owned {
 public:
  using Handle = typename Traits::Handle;
  Owned() : handle_(Traits::null()) {}
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) : handle_(std::exchange(other.handle_, Traits::null())) {}
  Owned& operator=(Owned&& other) {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Traits::null() && (!Traits::collective || std::uncaught_exceptions() == 0))
      Traits::free(&handle_);
  }
  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }
  Handle release() { return std::exchange(handle_, Traits::null()); }

 private:
  Handle handle_;
};

#define CONFORMANCE_OWNED(Name, Type, null_handle, free_function, is_collective) \
  struct Name##Traits {                                                          \
    using Handle = Type;                                                         \
    static constexpr bool collective = is_collective;                            \
    static Type null() { return null_handle; }                                   \
    static void free(Type* handle) { free_function(handle); }                    \
  };                                                                             \
  using Name = Owned<Name##Traits>

CONFORMANCE_OWNED(OwnedType, MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_free, false);
CONFORMANCE_OWNED(OwnedComm, MPI_Comm, MPI_COMM_NULL, MPI_Comm_free, true);
CONFORMANCE_OWNED(OwnedGroup, MPI_Group, MPI_GROUP_NULL, MPI_Group_free, false);
CONFORMANCE_OWNED(OwnedOp, MPI_Op, MPI_OP_NULL, MPI_Op_free, false);
CONFORMANCE_OWNED(OwnedInfo, MPI_Info, MPI_INFO_NULL, MPI_Info_free, false);
CONFORMANCE_OWNED(OwnedWin, MPI_Win, MPI_WIN_NULL, MPI_Win_free, true);
CONFORMANCE_OWNED(OwnedErrhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL, MPI_Errhandler_free, false);

#undef CONFORMANCE_OWNED

}  // namespace conformance
