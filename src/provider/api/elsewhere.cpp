// Symbols of the system's libibverbs that its vendors' libraries import, and functions for what this fabric
// does not have. Programs that are linked with those libraries (perftest with libmlx5) only need them to be
// there: they are for drivers of real devices, and answer that there is none. Without the header of
// libibverbs, so that one form serves for all.
#include <cerrno>
#include <cstddef>

extern "C" {

#define HAWSER_NO_SUCH_DEVICE(name) \
  int name(void);                   \
  int name(void) { return EOPNOTSUPP; }
#define HAWSER_NO_SUCH_OBJECT(name) \
  void* name(void);                 \
  void* name(void) {                \
    errno = EOPNOTSUPP;             \
    return nullptr;                 \
  }
#define HAWSER_NOTHING(name) \
  void name(void);           \
  void name(void) {}

#include "provider/api/elsewhere.def"

extern const int verbs_allow_disassociate_destroy;
const int verbs_allow_disassociate_destroy = 0;

}  // extern "C"
