// The contract of transports over rails: two processes on a virtual fabric.
#include "channel/transport_contract.h"
#include "rails/rail_cluster.h"

namespace hawser::channel_test {
namespace {

class RailJob {
 public:
  static constexpr bool native = true, native_atomics = false;
  RailJob() : cluster_({}) { EXPECT_EQ(cluster_.failure(), ""); }
  Transport& at(ProcessIndex process) {
    cluster_.at(process).take_turn();
    return cluster_.at(process).channel();
  }
  void pass_time() { cluster_.let_the_network_run(cluster_.now() + microsecond); }
  Nanoseconds now() { return cluster_.now(); }

 private:
  rails_test::RailCluster cluster_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Rails, TransportContract, RailJob);

}  // namespace
}  // namespace hawser::channel_test
