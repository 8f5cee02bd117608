// What a small message costs: 2000 of 8 bytes there and back, one at a time, for callgrind to count. With the
// argument `off`: without failover.
#include <cstdio>
#include <cstring>

#include "rails/rail_cluster.h"

int main(int count, char** words) {
  using namespace hawser;
  rails_test::ClusterOptions options;
  if (count > 2 || (count == 2 && std::strcmp(words[1], "on") != 0 && std::strcmp(words[1], "off") != 0)) {
    std::fprintf(stderr, "usage: rail_cost [on|off]\n");
    return 2;
  }
  options.knobs.rail_failover = count < 2 || std::strcmp(words[1], "off") != 0;
  rails_test::RailCluster cluster(options);
  for (int i = 0; i < 4000; ++i) {
    cluster.at(i % 2).post({1 - i % 2, 8});
    if (!cluster.run(cluster.now() + second)) return 1;
  }
  return 0;
}
