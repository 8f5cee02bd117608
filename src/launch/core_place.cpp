#include "launch/core_place.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <sched.h>

#include <climits>

#include "launch/find_symbol.h"
#include "os/shared_memory.h"

namespace hawser {

namespace {

// The host as hwloc sees it.
class Hwloc {
 public:
  Hwloc() {
    // Never unloaded: it loads plug-ins that may leave exit handlers behind.
    void* library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr || !find_symbol(library, "hwloc_topology_init", init_) ||
        !find_symbol(library, "hwloc_topology_set_flags", set_flags_) ||
        !find_symbol(library, "hwloc_topology_load", load_) ||
        !find_symbol(library, "hwloc_topology_destroy", destroy_) ||
        !find_symbol(library, "hwloc_get_type_depth", depth_) ||
        !find_symbol(library, "hwloc_get_nbobjs_by_depth", count_) ||
        !find_symbol(library, "hwloc_get_obj_by_depth", object_) ||
        !find_symbol(library, "hwloc_bitmap_isset", isset_))
      return;
    if (init_(&topology_) != 0) {
      topology_ = nullptr;
      return;
    }
    // All processes of the host must count alike, also where each is confined to a part of it.
    if (set_flags_(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0) loaded_ = load_(topology_) == 0;
  }
  ~Hwloc() {
    if (topology_ != nullptr) destroy_(topology_);
  }
  Hwloc(const Hwloc&) = delete;

  bool loaded() const { return loaded_; }

  // The number of the object of this type that has all these processors, or -1; 0 where there are no such
  // objects.
  std::int32_t object_with(std::span<const int> processors, hwloc_obj_type_t type) const {
    const int depth = depth_(topology_, type);
    const unsigned count = depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE
                               ? 0
                               : static_cast<unsigned>(count_(topology_, depth));
    if (count == 0) return 0;
    for (unsigned i = 0; i < count; ++i) {
      if (contains(*object_(topology_, depth, i), processors)) return static_cast<std::int32_t>(i);
    }
    return -1;
  }

 private:
  bool contains(const hwloc_obj& object, std::span<const int> processors) const {
    for (const int processor : processors) {
      if (isset_(object.cpuset, static_cast<unsigned>(processor)) == 0) return false;
    }
    return true;
  }

  decltype(&hwloc_topology_init) init_ = nullptr;
  decltype(&hwloc_topology_set_flags) set_flags_ = nullptr;
  decltype(&hwloc_topology_load) load_ = nullptr;
  decltype(&hwloc_topology_destroy) destroy_ = nullptr;
  decltype(&hwloc_get_type_depth) depth_ = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count_ = nullptr;
  decltype(&hwloc_get_obj_by_depth) object_ = nullptr;
  decltype(&hwloc_bitmap_isset) isset_ = nullptr;
  hwloc_topology_t topology_ = nullptr;
  bool loaded_ = false;
};

}  // namespace

std::vector<int> bound_processors() {
  constexpr int most = 8192;  // what Linux can be built for
  constexpr int word_bits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask(most / word_bits);
  if (sched_getaffinity(0, mask.size() * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(mask.data())) !=
      0)
    return {};
  std::vector<int> processors;
  for (int number = 0; number < most; ++number) {
    if ((mask[static_cast<std::size_t>(number / word_bits)] >> (number % word_bits) & 1) != 0)
      processors.push_back(number);
  }
  if (static_cast<int>(processors.size()) >= online_cpus()) return {};
  return processors;
}

int usable_cores() {
  const std::size_t bound = bound_processors().size();
  return bound > 0 ? static_cast<int>(bound) : online_cpus();
}

CorePlace core_place_of(std::span<const int> processors) {
  CorePlace place = unknown_core_place;
  if (processors.empty()) return place;
  const Hwloc hwloc;
  if (!hwloc.loaded()) return place;
  constexpr hwloc_obj_type_t types[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE,
                                        HWLOC_OBJ_CORE};
  for (std::size_t level = 0; level < place.size(); ++level)
    place[level] = hwloc.object_with(processors, types[level]);
  return place;
}

}  // namespace hawser
