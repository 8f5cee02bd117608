// Helpers that are shared with unit tests use expectations: here a broken one is a fault like any other.
#pragma once

#include <gtest/gtest.h>

namespace hawser::fuzz {

inline const bool strict = [] {
  ::testing::FLAGS_gtest_break_on_failure = true;
  return true;
}();

}  // namespace hawser::fuzz
