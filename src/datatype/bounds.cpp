#include "datatype/bounds.h"

#include <algorithm>

namespace hawser {

void Bounds::mark_lower(std::int64_t at) {
  lower_ = lower_set_ ? std::min(lower_, at) : at;
  lower_set_ = true;
}

void Bounds::mark_upper(std::int64_t at) {
  upper_ = upper_set_ ? std::max(upper_, at) : at;
  upper_set_ = true;
}

void Bounds::set(std::int64_t lower, std::int64_t upper) {
  lower_ = lower;
  upper_ = upper;
  lower_set_ = upper_set_ = true;
}

void Bounds::place(const Datatype& type, std::int64_t displacement, std::int64_t count) {
  if (count == 0) return;
  // Extents may be negative, so either end may be the lower one.
  const std::int64_t last = arithmetic.add(displacement, arithmetic.multiply(count - 1, type.extent));
  const std::int64_t low = std::min(displacement, last);
  const std::int64_t high = std::max(displacement, last);
  if (type.lower_bound_is_set) mark_lower(arithmetic.add(low, type.lower_bound));
  if (type.upper_bound_is_set) mark_upper(arithmetic.add(high, type.upper_bound()));
  alignment_ = std::max(alignment_, type.alignment);
  if (type.map().elements == 0) return;
  const std::int64_t data_low = arithmetic.add(low, type.true_lower_bound);
  const std::int64_t data_high = arithmetic.add(high, type.true_lower_bound + type.true_extent);
  true_lower_ = any_data_ ? std::min(true_lower_, data_low) : data_low;
  true_upper_ = any_data_ ? std::max(true_upper_, data_high) : data_high;
  any_data_ = true;
}

void Bounds::write_to(Datatype& type) {
  type.true_lower_bound = true_lower_;
  type.true_extent = arithmetic.add(true_upper_, -true_lower_);
  type.lower_bound = lower_set_ ? lower_ : true_lower_;
  const std::int64_t upper = upper_set_ ? upper_ : true_upper_;
  type.extent = arithmetic.add(upper, -type.lower_bound);
  if (!upper_set_ && type.extent > 0) {
    // The epsilon of section 5.1: the next element must be aligned too.
    const std::int64_t alignment = alignment_;
    type.extent = arithmetic.add(type.extent, alignment - 1) / alignment * alignment;
  }
  type.lower_bound_is_set = lower_set_;
  type.upper_bound_is_set = upper_set_;
  type.alignment = alignment_;
}

}  // namespace hawser
