// The main function of the unit tests. A filter that selects nothing is a mistake, not a success: GoogleTest
// ends with 0 there.
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (code != 0 || GTEST_FLAG_GET(list_tests) || all.test_to_run_count() > 0) return code;
  std::fprintf(stderr, "no test is selected by --gtest_filter=%s; there are the suites\n",
               GTEST_FLAG_GET(filter).c_str());
  for (int i = 0; i < all.total_test_suite_count(); ++i)
    std::fprintf(stderr, "  %s\n", all.GetTestSuite(i)->name());
  return 2;
}
