// Gatherv, scatterv, alltoallv and alltoallw: no rank knows all amounts, but both ends of each block know how
// long it is. So they agree, without asking, on how it goes: through the sender's line or buffer if it is
// short, by message otherwise.
#pragma once

#include "collective/place.h"

namespace hawser {

bool is_vector_form(Collective kind);

// The block that rank `own` has for another one, and that it expects from another one. Of no bytes where
// there is none, and then perhaps without a type.
Place outgoing(const CollectiveCall& call, int own, int to);
Place incoming(const CollectiveCall& call, int own, int from);
inline std::int64_t length(const Place& place) { return place.count == 0 ? 0 : place.bytes(); }

}  // namespace hawser
