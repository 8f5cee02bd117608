// The end of a list of which only the latest elements are of interest.
#pragma once

#include <cstdint>

namespace hawser {

// The first of the last `count` elements, or of all if there are fewer; null: none.
template <class List>
auto* first_of_last(const List& list, std::int64_t count) {
  auto* element = count > 0 ? list.back() : nullptr;
  while (element != nullptr && --count > 0 && element != list.front()) element = list.previous(element);
  return element;
}

}  // namespace hawser
