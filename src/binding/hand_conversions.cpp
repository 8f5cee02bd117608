// Addresses, and handles as ints: what only the ABI knows and the core has no part in.
#include "binding/hand.h"

namespace hawser::binding {
namespace {

template <class Handle>
int int_of(Handle handle) {
#ifdef HAWSER_ABI_OF_MPICH
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
  else
    return handle;
#else
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
#endif
}

template <class Handle>
Handle handle_of(int value) {
#ifdef HAWSER_ABI_OF_MPICH
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::intptr_t>(value));
  else
    return value;
#else
  return reinterpret_cast<Handle>(static_cast<std::intptr_t>(value));
#endif
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_Get_address(const void* location, MPI_Aint* address) noexcept {
  if (address == nullptr) return null_output("MPI_Get_address", "address");
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

// Unsigned, because addresses may lie in the upper half.
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) noexcept {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) noexcept {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) - static_cast<std::uintptr_t>(addr2));
}

int PMPI_Abi_get_version(int* abi_major, int* abi_minor) noexcept {
  if (abi_major == nullptr) return null_output("MPI_Abi_get_version", "abi_major");
  if (abi_minor == nullptr) return null_output("MPI_Abi_get_version", "abi_minor");
#ifdef HAWSER_ABI_OF_MPICH
  // This library does not have the standard ABI (MPI-5.0 section 20.4).
  *abi_major = *abi_minor = -1;
#else
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
#endif
  return MPI_SUCCESS;
}

#define HAWSER_INT_CONVERSIONS(Name, Handle)                                 \
  int PMPI_##Name##_toint(Handle handle) noexcept { return int_of(handle); } \
  Handle PMPI_##Name##_fromint(int value) noexcept { return handle_of<Handle>(value); }

HAWSER_INT_CONVERSIONS(Comm, MPI_Comm)
HAWSER_INT_CONVERSIONS(Errhandler, MPI_Errhandler)
HAWSER_INT_CONVERSIONS(File, MPI_File)
HAWSER_INT_CONVERSIONS(Group, MPI_Group)
HAWSER_INT_CONVERSIONS(Info, MPI_Info)
HAWSER_INT_CONVERSIONS(Message, MPI_Message)
HAWSER_INT_CONVERSIONS(Op, MPI_Op)
HAWSER_INT_CONVERSIONS(Request, MPI_Request)
HAWSER_INT_CONVERSIONS(Session, MPI_Session)
HAWSER_INT_CONVERSIONS(Type, MPI_Datatype)
HAWSER_INT_CONVERSIONS(Win, MPI_Win)

}  // extern "C"

#define HAWSER_INT_ALIASES(Name) \
  HAWSER_ALIAS(Name##_toint);    \
  HAWSER_ALIAS(Name##_fromint)

HAWSER_ALIAS(Get_address);
HAWSER_ALIAS(Aint_add);
HAWSER_ALIAS(Aint_diff);
HAWSER_ALIAS(Abi_get_version);
HAWSER_INT_ALIASES(Comm);
HAWSER_INT_ALIASES(Errhandler);
HAWSER_INT_ALIASES(File);
HAWSER_INT_ALIASES(Group);
HAWSER_INT_ALIASES(Info);
HAWSER_INT_ALIASES(Message);
HAWSER_INT_ALIASES(Op);
HAWSER_INT_ALIASES(Request);
HAWSER_INT_ALIASES(Session);
HAWSER_INT_ALIASES(Type);
HAWSER_INT_ALIASES(Win);

#pragma GCC visibility pop
}  // namespace hawser::binding
