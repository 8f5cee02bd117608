#include "rails/decision/path_reason.h"

#include "base/enum_names.h"

namespace hawser {

static_assert(path_reasons == enumerators<PathReason>);
const char* path_reason_name(PathReason reason) { return enum_name(reason); }

}  // namespace hawser
