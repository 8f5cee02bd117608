// The files that a kernel would show for a host's adapters, as text: what programs look at before they trust
// libibverbs. UCX wants /dev/infiniband/uverbs0 to be a character device; Open MPI's openib wants
// /sys/class/infiniband. Plain C types only, for this is loaded into every program of a virtual host.
#pragma once

#include <cstddef>

namespace hawser::emulator {

enum class VirtualKind { none, directory, device, text };

struct VirtualPath {
  VirtualKind kind = VirtualKind::none;
  unsigned minor = 0;  // of a device
  char content[64]{};  // of a text
};

// `adapters` is the number of the host's adapters. `none` is what the machine itself answers for.
VirtualPath look_up_virtual_path(const char* path, unsigned adapters);

}  // namespace hawser::emulator
