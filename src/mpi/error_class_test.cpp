#include "mpi/error_class.h"

#include <gtest/gtest.h>

#include "mpi/failure.h"

namespace hawser {
namespace {

TEST(ErrorClass, OfAFailureBelowMpiStandsForItsKind) {
  EXPECT_EQ(error_class_of(failure(ErrorKind::other, "no")), ErrorClass::other);
  EXPECT_EQ(error_class_of(failure(ErrorKind::invalid_argument, "no")), ErrorClass::arg);
  EXPECT_EQ(error_class_of(failure(ErrorKind::no_memory, "no")), ErrorClass::no_mem);
  EXPECT_EQ(error_class_of(failure(ErrorKind::bad_address, "no")), ErrorClass::buffer);
  EXPECT_EQ(error_class_of(Error{}), ErrorClass::unknown);
}

TEST(ErrorClass, IsWhatAFailureOfMpiWasMadeWith) {
  EXPECT_EQ(error_class_of(failure(ErrorClass::truncate, "{} bytes", 3)), ErrorClass::truncate);
}

TEST(ErrorClass, MayBeACodeOfTheProgram) {
  Error error = failure(ErrorKind::io, "no");
  error.code = 0x40000001;
  EXPECT_EQ(static_cast<int>(error_class_of(error)), 0x40000001);
}

}  // namespace
}  // namespace hawser
