#include "channel/rails/path_migration.h"

#include <gtest/gtest.h>

#include "base/failure.h"

namespace hawser {
namespace {

using rdma::MigrationState;
using rdma::Route;

rdma::PortAddress address(std::uint16_t lid, std::uint8_t lmc = 0) {
  rdma::PortAddress a;
  a.lid = lid;
  a.lmc = lmc;
  return a;
}

Route primary_to(const rdma::PortAddress& destination, std::uint8_t port = 1, std::uint8_t bits = 0) {
  Route route;
  route.destination = destination;
  route.port = port;
  route.source_path_bits = route.destination_path_bits = bits;
  return route;
}

// An adapter's migration state machine, as far as software sees it.
class MigratingQueuePair final : public rdma::QueuePair {
 public:
  std::uint32_t number() const override { return 7; }
  Result<> make_ready_to_receive(const rdma::ConnectParameters&) override { return {}; }
  Result<> make_ready_to_send() override { return {}; }
  Result<> make_error() override { return {}; }
  int post_send(std::span<const rdma::SendRequest>) override { return 0; }
  Result<> load_alternate(const Route& route, Nanoseconds) override {
    ++loads;
    if (refuse) return failure(ErrorClass::other, "refused");
    loaded = route;
    state = MigrationState::rearm;
    return {};
  }
  Result<> migrate() override {
    if (state != MigrationState::armed) return failure(ErrorClass::other, "not armed");
    state = MigrationState::migrated;
    return {};
  }
  Result<MigrationState> migration_state() override { return state; }

  int loads = 0;
  bool refuse = false;
  Route loaded;
  MigrationState state = MigrationState::migrated;
};

TEST(SpecifyAlternate, prefers_the_other_port) {
  const DevicePort local[] = {{1, true, address(10, 2)}, {2, true, address(20, 2)}};
  const DevicePort remote[] = {{1, true, address(30, 2)}, {2, true, address(40, 2)}};
  const auto route = specify_alternate(primary_to(address(30, 2)), local, remote, {});
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 2);
  EXPECT_EQ(route->destination.lid, 40);
  EXPECT_EQ(route->source_path_bits, 0);
}

TEST(SpecifyAlternate, else_takes_another_path) {
  const DevicePort one[] = {{1, true, address(10, 2)}};
  const DevicePort remote[] = {{1, true, address(30, 2)}};
  auto route = specify_alternate(primary_to(address(30, 2), 1, 3), one, remote, {});
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 1);
  EXPECT_EQ(route->source_path_bits, 0);
  EXPECT_EQ(route->destination_path_bits, 0);
  // The other port is there, but down.
  const DevicePort local[] = {{1, true, address(10, 2)}, {2, false, address(20, 2)}};
  const DevicePort both[] = {{1, true, address(30, 2)}, {2, true, address(40, 2)}};
  route = specify_alternate(primary_to(address(30, 2)), local, both, {});
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 1);
  EXPECT_EQ(route->source_path_bits, 1);
}

TEST(SpecifyAlternate, may_find_nothing) {
  const DevicePort local[] = {{1, true, address(10)}};
  const DevicePort remote[] = {{1, true, address(30)}};
  EXPECT_FALSE(specify_alternate(primary_to(address(30)), local, remote, {}));
  auto roce = address(0);
  roce.link_layer = rdma::LinkLayer::ethernet;
  const DevicePort ethernet[] = {{1, true, roce}, {2, true, roce}};
  EXPECT_FALSE(specify_alternate(primary_to(roce), ethernet, ethernet, {}));
  AlternatePreference off;
  off.kind = AlternatePreference::Kind::off;
  const DevicePort two[] = {{1, true, address(10)}, {2, true, address(20)}};
  const DevicePort there[] = {{1, true, address(30)}, {2, true, address(40)}};
  EXPECT_FALSE(specify_alternate(primary_to(address(30)), two, there, off));
}

TEST(SpecifyAlternate, avoids_what_failed_last_if_it_can) {
  const DevicePort local[] = {{1, true, address(10, 1)}, {2, true, address(20, 1)}};
  const DevicePort remote[] = {{1, true, address(30, 1)}, {2, true, address(40, 1)}};
  // Migrated from port 1 to port 2: rather the other path of port 2 than port 1 again.
  const Route now = primary_to(address(40, 1), 2);
  const Route failed = primary_to(address(30, 1), 1);
  auto route = specify_alternate(now, local, remote, {}, failed);
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 2);
  EXPECT_EQ(route->source_path_bits, 1);
  const DevicePort plain[] = {{1, true, address(10)}, {2, true, address(20)}};
  const DevicePort there[] = {{1, true, address(30)}, {2, true, address(40)}};
  route = specify_alternate(primary_to(address(40), 2), plain, there, {}, primary_to(address(30), 1));
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 1);
}

TEST(SpecifyAlternate, takes_the_users_list_in_order) {
  const DevicePort local[] = {{1, true, address(10, 2)}, {2, false, address(20, 2)}};
  const DevicePort remote[] = {{1, true, address(30, 2)}, {2, true, address(40, 2)}};
  auto named = parse_alternates("2/0,1/3,1/1");
  ASSERT_TRUE(named);
  const auto route = specify_alternate(primary_to(address(30, 2)), local, remote, named.value());
  ASSERT_TRUE(route);
  EXPECT_EQ(route->port, 1);
  EXPECT_EQ(route->source_path_bits, 3);
}

TEST(ParseAlternates, tells_good_from_bad) {
  EXPECT_EQ(parse_alternates("auto").value().kind, AlternatePreference::Kind::automatic);
  EXPECT_EQ(parse_alternates("off").value().kind, AlternatePreference::Kind::off);
  EXPECT_EQ(parse_alternates("2").value().named, (std::vector<NamedAlternate>{{2, 0}}));
  EXPECT_EQ(parse_alternates("2/1,1/127").value().named, (std::vector<NamedAlternate>{{2, 1}, {1, 127}}));
  for (const char* wrong : {"", "0", "on", "1/", "1/128", "255", "1,", ",1", "1/1/1", "1 ", "-1", "2/-1"})
    EXPECT_FALSE(parse_alternates(wrong)) << wrong;
}

class PathMigrationTest : public testing::Test {
 protected:
  void run(PathMigration& path, Nanoseconds until) {
    while (path.due() <= until) {
      const Nanoseconds due = path.due();
      path.advance(queue_pair, local, remote, due);
      ASSERT_TRUE(path.due() > due);
    }
  }
  std::vector<DevicePort> local = {{1, true, address(10)}, {2, true, address(20)}};
  std::vector<DevicePort> remote = {{1, true, address(30)}, {2, true, address(40)}};
  Route primary = primary_to(address(30));
  MigrationSettings settings;
  Random random{5};
  MigratingQueuePair queue_pair;
};

TEST_F(PathMigrationTest, loads_and_arms) {
  PathMigration path(settings, primary, random);
  EXPECT_EQ(path.due(), never);  // nobody asked
  path.request_load(5);
  EXPECT_EQ(path.due(), 5);
  EXPECT_TRUE(path.advance(queue_pair, local, remote, 5));
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  EXPECT_EQ(queue_pair.loaded.port, 2);
  EXPECT_FALSE(path.migrate(queue_pair));
  run(path, 50 * millisecond);  // the peer is late
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  queue_pair.state = MigrationState::armed;
  run(path, second);
  EXPECT_EQ(path.phase(), MigrationPhase::armed);
  EXPECT_EQ(path.due(), never);
  EXPECT_EQ(queue_pair.loads, 1);
  path.request_load(second);  // does no harm
  EXPECT_EQ(path.due(), never);
}

TEST_F(PathMigrationTest, arms_again_after_a_migration) {
  PathMigration path(settings, primary, random);
  path.request_load(0);
  path.advance(queue_pair, local, remote, 0);
  queue_pair.state = MigrationState::armed;
  run(path, 100 * millisecond);
  queue_pair.state = MigrationState::migrated;
  path.on_migrated(second);
  EXPECT_EQ(path.primary().port, 2);
  EXPECT_EQ(path.migrations(), 1u);
  run(path, second + 10 * millisecond);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  EXPECT_EQ(queue_pair.loaded.port, 1);
  EXPECT_EQ(queue_pair.loaded.destination.lid, 30);
}

TEST_F(PathMigrationTest, a_route_that_flaps_is_armed_less_and_less_often) {
  PathMigration path(settings, primary, random);
  path.request_load(0);
  for (Nanoseconds now = 0; now < 10 * second; now += millisecond) {
    if (path.due() <= now) path.advance(queue_pair, local, remote, now);
    if (path.phase() == MigrationPhase::loading) {  // armed, and gone at once
      queue_pair.state = MigrationState::migrated;
      path.on_migrated(now);
    }
  }
  EXPECT_LT(queue_pair.loads, 40);
  EXPECT_GE(queue_pair.loads, 8);
}

TEST_F(PathMigrationTest, tries_again_when_refused_or_when_there_is_no_route_yet) {
  PathMigration path(settings, primary, random);
  queue_pair.refuse = true;
  path.request_load(0);
  run(path, 100 * millisecond);
  EXPECT_GE(queue_pair.loads, 5);
  EXPECT_LE(queue_pair.loads, 16);
  queue_pair.refuse = false;
  local[1].active = false;
  run(path, 10 * second);
  EXPECT_EQ(path.phase(), MigrationPhase::unloaded);
  local[1].active = true;
  run(path, 12 * second);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
}

TEST_F(PathMigrationTest, tells_what_a_port_that_goes_down_means) {
  PathMigration path(settings, primary, random);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::fail);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::none);
  path.request_load(0);
  path.advance(queue_pair, local, remote, 0);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::fail);  // not armed yet
  queue_pair.state = MigrationState::armed;
  run(path, second);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::migrate);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::none);
  EXPECT_TRUE(path.migrate(queue_pair));
  path.on_migrated(second);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::none);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::fail);
}

TEST_F(PathMigrationTest, a_failed_migration_is_left_to_software) {
  PathMigration path(settings, primary, random);
  path.request_load(0);
  path.advance(queue_pair, local, remote, 0);
  path.on_migration_failed();
  EXPECT_EQ(path.phase(), MigrationPhase::failed);
  EXPECT_EQ(path.due(), never);
  path.on_migrated(5);
  EXPECT_EQ(path.phase(), MigrationPhase::failed);
}

TEST_F(PathMigrationTest, does_nothing_when_off) {
  settings.preference.kind = AlternatePreference::Kind::off;
  PathMigration path(settings, primary, random);
  path.request_load(0);
  EXPECT_EQ(path.due(), never);
  path.on_migrated(1);
  EXPECT_EQ(path.due(), never);
}

}  // namespace
}  // namespace hawser
