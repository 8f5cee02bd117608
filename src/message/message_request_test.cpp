#include "message/message_request.h"

#include <gtest/gtest.h>

#include <set>

#include "message/point_to_point.h"

namespace hawser {
namespace {

TEST(RequestPool, EachRequestIsFoundByItsNumber) {
  RequestTable table;
  PointToPoint owner(table);
  RequestPool pool(owner, table);
  std::set<std::uint32_t> numbers;
  for (std::size_t count = 1; count <= 300; ++count) {
    MessageRequest& request = pool.take();
    numbers.insert(table.number_of(request));
    EXPECT_EQ(numbers.size(), count);
    EXPECT_EQ(table.find_any(request.handle), &request);
  }
  EXPECT_EQ(numbers.count(0), 0u);
}

}  // namespace
}  // namespace hawser
