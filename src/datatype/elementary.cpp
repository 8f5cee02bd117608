#include "datatype/elementary.h"

#include "base/assert.h"

namespace hawser {
namespace {

constexpr ElementaryFacts table[] = {
    {"none", 0, 1, 0, ElementaryClass::none},
#define HAWSER_ELEMENTARY(name, type, external_bytes, kind_class) \
  {#name, sizeof(type), alignof(type), external_bytes, ElementaryClass::kind_class},
#include "datatype/elementary_kinds.def"
#undef HAWSER_ELEMENTARY
    {"pair", 0, 1, 0, ElementaryClass::pair},
};
static_assert(sizeof(table) / sizeof(table[0]) == static_cast<std::size_t>(Elementary::pair) + 1);

}  // namespace

const ElementaryFacts& facts(Elementary kind) {
  HAWSER_ASSERT(kind <= Elementary::pair);
  return table[static_cast<std::size_t>(kind)];
}

}  // namespace hawser
