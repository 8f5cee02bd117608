#include "rails/decision/path_migration.h"

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
    if (refuse) return failure(ErrorKind::other, "refused");
    loaded = route;
    state = MigrationState::rearm;
    return {};
  }
  Result<> migrate() override {
    if (state != MigrationState::armed) return failure(ErrorKind::other, "not armed");
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
  // A peer that agrees to everything, at once.
  void step(PathMigration& path, Nanoseconds now) {
    if (!path.advance(queue_pair, local, remote, now)) return;
    ++offers;
    if (agrees)
      path.on_agreed(queue_pair, now);
    else
      path.on_declined(now);
  }
  void run(PathMigration& path, Nanoseconds until) {
    while (path.due() <= until) {
      const Nanoseconds due = path.due();
      step(path, due);
      ASSERT_TRUE(path.due() > due);
    }
  }
  void arm(PathMigration& path, Nanoseconds now) {
    path.request_load(now);
    step(path, now);
    queue_pair.state = MigrationState::armed;
    run(path, now + 300 * millisecond);
    ASSERT_EQ(path.phase(), MigrationPhase::armed);
  }
  std::vector<DevicePort> local = {{1, true, address(10)}, {2, true, address(20)}};
  std::vector<DevicePort> remote = {{1, true, address(30)}, {2, true, address(40)}};
  Route primary = primary_to(address(30));
  MigrationSettings settings;
  Random random{5};
  MigratingQueuePair queue_pair;
  bool agrees = true;
  int offers = 0;
};

TEST_F(PathMigrationTest, loads_what_the_peer_has_loaded_and_arms) {
  PathMigration path(settings, primary, true, random);
  EXPECT_EQ(path.due(), never);  // nobody asked
  path.request_load(5);
  EXPECT_EQ(path.due(), 5);
  const auto offered = path.advance(queue_pair, local, remote, 5);
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->port, 2);
  EXPECT_EQ(path.phase(), MigrationPhase::offered);
  EXPECT_EQ(queue_pair.loads, 0);
  path.on_agreed(queue_pair, 6);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  EXPECT_EQ(queue_pair.loaded.port, 2);
  EXPECT_FALSE(path.migrate(queue_pair));
  run(path, 50 * millisecond);  // the peer's adapter is late
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  queue_pair.state = MigrationState::armed;
  run(path, second);
  EXPECT_EQ(path.phase(), MigrationPhase::armed);
  EXPECT_EQ(path.due(), never);
  EXPECT_EQ(queue_pair.loads, 1);
  path.request_load(second);  // does no harm
  EXPECT_EQ(path.due(), never);
}

TEST_F(PathMigrationTest, idle_connections_are_not_looked_at_for_ever) {
  PathMigration path(settings, primary, true, random);
  path.request_load(0);
  run(path, second);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  EXPECT_EQ(path.due(), never);
  // Nor does it have to be known to be used.
  queue_pair.state = MigrationState::armed;
  EXPECT_EQ(path.on_port_down(1), PortDownAction::migrate);
  EXPECT_TRUE(path.migrate(queue_pair));
}

TEST_F(PathMigrationTest, the_other_end_loads_what_it_is_told) {
  PathMigration path(settings, primary, false, random);
  path.request_load(0);
  EXPECT_EQ(path.due(), never);
  Route route = primary_to(address(40), 2);
  EXPECT_TRUE(path.load(queue_pair, route));
  EXPECT_EQ(queue_pair.loaded.port, 2);
  EXPECT_EQ(path.due(), never);
  path.on_migrated(second);
  EXPECT_EQ(path.primary().port, 2);
  EXPECT_EQ(path.due(), never);
  queue_pair.refuse = true;
  EXPECT_FALSE(path.load(queue_pair, primary));
}

// Both ends find a path silent at once, and the peer's adapter has asked this one a moment ago.
TEST_F(PathMigrationTest, knows_that_the_adapter_was_faster) {
  PathMigration path(settings, primary, true, random);
  EXPECT_FALSE(path.just_migrated(queue_pair));
  arm(path, 0);
  EXPECT_FALSE(path.just_migrated(queue_pair));
  queue_pair.state = MigrationState::migrated;
  EXPECT_FALSE(path.migrate(queue_pair));
  EXPECT_TRUE(path.just_migrated(queue_pair));
  path.on_migrated(second);
  EXPECT_FALSE(path.just_migrated(queue_pair));
}

TEST_F(PathMigrationTest, arms_again_after_a_migration_and_goes_home) {
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  queue_pair.state = MigrationState::migrated;
  path.on_migrated(second);
  EXPECT_EQ(path.primary().port, 2);
  EXPECT_EQ(path.migrations(), 1u);
  EXPECT_TRUE(path.migrated_away());
  run(path, second + 4 * millisecond);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
  EXPECT_EQ(queue_pair.loaded.port, 1);
  EXPECT_EQ(queue_pair.loaded.destination.lid, 30);
  queue_pair.state = MigrationState::armed;
  run(path, second + settings.first_stay - 1);
  EXPECT_EQ(queue_pair.state, MigrationState::armed);
  run(path, second + settings.first_stay);
  EXPECT_EQ(queue_pair.state, MigrationState::migrated);
  path.on_migrated(second + settings.first_stay);
  EXPECT_FALSE(path.migrated_away());
}

TEST_F(PathMigrationTest, goes_home_at_once_when_the_port_says_that_it_is_back) {
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  Nanoseconds now = second;
  std::vector<Nanoseconds> stays;
  for (int flaps = 0; flaps < 4; ++flaps) {
    queue_pair.state = MigrationState::migrated;
    path.on_migrated(now);
    const Nanoseconds left = now;
    local[0].active = false;
    run(path, now += 50 * millisecond);
    EXPECT_EQ(path.phase(), MigrationPhase::unloaded);
    local[0].active = true;
    path.on_port_back(2, now);  // another one
    EXPECT_EQ(path.due() <= now + settings.first_retry, true);
    path.on_port_back(1, now);
    while (queue_pair.state != MigrationState::rearm) step(path, path.due());
    queue_pair.state = MigrationState::armed;
    while (queue_pair.state == MigrationState::armed) {
      now = path.due();
      ASSERT_LT(now, left + settings.longest_stay);
      step(path, now);
    }
    path.on_migrated(now);
    EXPECT_FALSE(path.migrated_away());
    stays.push_back(now - left);
    arm(path, now);
    now += 400 * millisecond;
  }
  EXPECT_LE(stays[0], 60 * millisecond);
  EXPECT_LE(stays[1], 200 * millisecond);
  EXPECT_GE(stays[2], 500 * millisecond);
  EXPECT_GE(stays[3], 3 * second);
}

// The alternate was another path of the second port.
TEST_F(PathMigrationTest, the_original_route_is_loaded_before_it_is_taken) {
  local[1].address.lmc = remote[1].address.lmc = 1;
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  path.on_migrated(second);
  arm(path, second);
  EXPECT_EQ(queue_pair.loaded.source_path_bits, 1);
  EXPECT_EQ(queue_pair.loaded.port, 2);
  local[0].active = false;
  run(path, second + 2 * settings.first_stay + 100 * millisecond);
  EXPECT_EQ(queue_pair.loaded.port, 2);  // not while the port is down
  local[0].active = true;
  while (queue_pair.loaded.port != 1) {
    ASSERT_LT(path.due(), second + 5 * settings.first_stay);
    step(path, path.due());
  }
  queue_pair.state = MigrationState::armed;
  run(path, second + 5 * settings.first_stay);
  EXPECT_EQ(queue_pair.state, MigrationState::migrated);
}

// While home is offered, the adapter may still take what it has.
TEST_F(PathMigrationTest, a_migration_during_an_offer_is_to_what_was_loaded) {
  local[1].address.lmc = remote[1].address.lmc = 1;
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  path.on_migrated(second);
  arm(path, second);
  const auto original_route = path.advance(queue_pair, local, remote, path.due());
  ASSERT_TRUE(original_route);
  EXPECT_EQ(original_route->port, 1);
  path.on_migrated(3 * second);
  EXPECT_EQ(path.primary().port, 2);
  EXPECT_EQ(path.primary().source_path_bits, 1);
}

TEST_F(PathMigrationTest, a_route_that_flaps_is_armed_less_and_less_often) {
  PathMigration path(settings, primary, true, random);
  path.request_load(0);
  for (Nanoseconds now = 0; now < 10 * second; now += millisecond) {
    if (path.due() <= now) step(path, now);
    if (path.phase() == MigrationPhase::loading) {  // armed, and gone at once
      queue_pair.state = MigrationState::migrated;
      path.on_migrated(now);
    }
  }
  EXPECT_LT(queue_pair.loads, 40);
  EXPECT_GE(queue_pair.loads, 8);
}

TEST_F(PathMigrationTest, tries_again_when_refused_declined_or_without_a_route) {
  PathMigration path(settings, primary, true, random);
  queue_pair.refuse = true;
  path.request_load(0);
  run(path, 100 * millisecond);
  EXPECT_GE(queue_pair.loads, 5);
  EXPECT_LE(queue_pair.loads, 16);
  queue_pair.refuse = false;
  agrees = false;
  offers = 0;
  run(path, 5 * second);
  EXPECT_GE(offers, 4);
  EXPECT_LE(offers, 20);
  agrees = true;
  local[1].active = false;
  run(path, 10 * second);
  EXPECT_EQ(path.phase(), MigrationPhase::unloaded);
  local[1].active = true;
  run(path, 12 * second);
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
}

TEST_F(PathMigrationTest, an_offer_without_an_answer_is_made_again) {
  PathMigration path(settings, primary, true, random);
  path.request_load(0);
  EXPECT_TRUE(path.advance(queue_pair, local, remote, 0));
  EXPECT_EQ(path.due(), settings.offer_timeout);
  EXPECT_FALSE(path.advance(queue_pair, local, remote, settings.offer_timeout));
  EXPECT_EQ(path.phase(), MigrationPhase::unloaded);
  EXPECT_TRUE(path.advance(queue_pair, local, remote, path.due()));
}

TEST_F(PathMigrationTest, tells_what_a_port_that_goes_down_means) {
  PathMigration path(settings, primary, true, random);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::fail);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::none);
  arm(path, 0);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::migrate);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::unload);
  EXPECT_TRUE(path.migrate(queue_pair));
  path.on_migrated(second);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::none);
  EXPECT_EQ(path.on_port_down(2), PortDownAction::fail);
}

TEST_F(PathMigrationTest, an_alternate_whose_port_is_down_is_void) {
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  local[1].active = false;
  path.unload(second);
  EXPECT_EQ(path.on_port_down(1), PortDownAction::fail);
  run(path, 3 * second);
  EXPECT_EQ(path.phase(), MigrationPhase::unloaded);
  local[1].active = true;
  path.on_port_back(2, 3 * second);
  EXPECT_LE(path.due(), 3 * second + settings.first_retry);
  step(path, path.due());
  EXPECT_EQ(path.phase(), MigrationPhase::loading);
}

TEST_F(PathMigrationTest, a_failed_migration_is_left_to_software) {
  PathMigration path(settings, primary, true, random);
  arm(path, 0);
  path.on_migration_failed();
  EXPECT_EQ(path.phase(), MigrationPhase::failed);
  EXPECT_EQ(path.due(), never);
  path.on_migrated(5);
  EXPECT_EQ(path.phase(), MigrationPhase::failed);
}

TEST_F(PathMigrationTest, does_nothing_when_off) {
  settings.preference.kind = AlternatePreference::Kind::off;
  PathMigration path(settings, primary, true, random);
  path.request_load(0);
  EXPECT_EQ(path.due(), never);
  path.on_migrated(1);
  EXPECT_EQ(path.due(), never);
}

}  // namespace
}  // namespace hawser
