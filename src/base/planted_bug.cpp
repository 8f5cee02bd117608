#include "base/planted_bug.h"

namespace hawser {
namespace {

constexpr PlantedBugInfo bugs[] = {
#define HAWSER_PLANTED_BUG(name, what) {PlantedBug::name, #name, what},
#include "base/planted_bugs.def"
#undef HAWSER_PLANTED_BUG
};

}  // namespace

std::span<const PlantedBugInfo> planted_bugs() { return bugs; }

#ifdef HAWSER_PLANTED_BUGS
static PlantedBug now = PlantedBug::none;
bool planted(PlantedBug bug) { return now == bug; }
bool plant(PlantedBug bug) {
  now = bug;
  return true;
}
#else
bool plant(PlantedBug bug) { return bug == PlantedBug::none; }
#endif

}  // namespace hawser
