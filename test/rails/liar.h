// A process that lies: what its adapters are given to send is changed before they get it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "access/verbs/verbs_functions.h"

namespace hawser::rails_test {

// May change a packet or a datagram of the process, and says how many of its bytes are sent.
using Lie = std::function<std::size_t(bool datagram, std::span<std::byte>)>;

// The linked library's functions, for one process at a time; the lie outlives what they open.
rdma::VerbsFunctions lying_functions(const Lie& lie);

}  // namespace hawser::rails_test
