// What the cases of failures have in common: a cluster of two rails, a stream of messages, and what is to be
// so at the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "rails/rail_cluster.h"

namespace hawser::rails_test {

inline ClusterOptions two_rails(const char* topology = "two-switch") {
  ClusterOptions options;
  options.topology = topology;
  options.parameters.link_latency = 2 * microsecond;
  options.parameters.link_rate = 200e6;
  options.parameters.chunk = 16384;
  return options;
}

// Messages of 64 KiB and small ones, both ways between two processes, for `time` from now on.
inline void stream(RailCluster& cluster, Nanoseconds time, int one = 0, int other = 1,
                   Nanoseconds pause = 500 * microsecond) {
  const Nanoseconds end = cluster.now() + time;
  while (cluster.now() < end && cluster.failure().empty()) {
    for (const bool back : {false, true}) {
      Endpoint& from = cluster.at(back ? other : one);
      from.post({back ? one : other, 65536, true});
      from.post({back ? one : other, 100});
    }
    cluster.run(cluster.now() + pause, false);
  }
}

inline void expect_all_well(RailCluster& cluster) {
  EXPECT_TRUE(cluster.run(cluster.now() + 10 * second)) << cluster.describe();
  EXPECT_TRUE(cluster.settle(cluster.now() + 10 * second)) << cluster.describe();
}

inline std::uint64_t sum(RailCluster& cluster, std::uint64_t RailCounters::*counter) {
  std::uint64_t total = 0;
  for (int i = 0; i < cluster.size(); ++i) total += cluster.at(i).channel().counters().*counter;
  return total;
}

// A port that is active again, and loses most of what is sent. How often a path was used again.
inline std::uint64_t readmissions_to_a_lossy_path() {
  RailCluster cluster(two_rails());
  stream(cluster, 20 * millisecond);
  cluster.inject("link n0/hw0 down");
  stream(cluster, 10 * millisecond);
  cluster.inject("link n0/hw0 up");
  cluster.inject("link n1/hw0 loss 0.9");
  stream(cluster, 3 * second);
  const std::uint64_t used = sum(cluster, &RailCounters::recoveries);
  cluster.inject("link n1/hw0 clear");
  expect_all_well(cluster);
  return used;
}

// Packets, fences above all, that wait for a peer which computes for two seconds after a path failed.
inline std::uint64_t packets_left_with_who_computes() {
  RailCluster cluster(two_rails());
  stream(cluster, 20 * millisecond);
  cluster.at(1).computes_until = cluster.now() + 2 * second;
  const std::uint64_t before = cluster.at(0).channel().counters().packets_sent;
  cluster.inject("qp n0/hw0 all kill");
  cluster.run(cluster.now() + 1900 * millisecond, false);
  const std::uint64_t left = cluster.at(0).channel().counters().packets_sent - before;
  expect_all_well(cluster);
  return left;
}

inline void start_measuring(RailCluster& cluster) {
  for (int i = 0; i < cluster.size(); ++i) cluster.at(i).longest_gap = 0;
}
inline Nanoseconds longest_gap(RailCluster& cluster) {
  return std::max(cluster.at(0).longest_gap, cluster.at(1).longest_gap);
}

}  // namespace hawser::rails_test
