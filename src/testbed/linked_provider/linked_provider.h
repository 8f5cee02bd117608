// The functions of the libibverbs API that is linked into this program (verbs/api), for the access layer.
#pragma once

#include "access/verbs/verbs_functions.h"

namespace hawser {

rdma::VerbsFunctions linked_provider_functions();

}  // namespace hawser
