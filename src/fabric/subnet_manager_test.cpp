// Path records: who is asked, what is answered, and that packets on another service level are counted.
#include "fabric/subnet_manager.h"

#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr std::uint32_t well_known_key = 0x80010000;
constexpr std::size_t mad_bytes = 256, header = 40;

Parameters four_levels(Parameters parameters = {}) {
  parameters.service_levels = 4;
  parameters.lmc = 1;
  return parameters;
}

// A program on n1 that asks its subnet's administrator.
class PathRecords : public testing::TestWithParam<int> {
 protected:
  PathRecords() : pair(asker.create(QpType::ud)) {
    QpAttributes a;
    a.state = QpState::init;
    a.port = 1;
    a.qkey = well_known_key;
    EXPECT_TRUE(pair.modify(a, mask_state | mask_pkey_index | mask_port | mask_qkey).ok());
    a.state = QpState::rtr;
    EXPECT_TRUE(pair.modify(a, mask_state).ok());
    a.state = QpState::rts;
    EXPECT_TRUE(pair.modify(a, mask_state | mask_sq_psn).ok());
  }

  void put(std::size_t at, std::initializer_list<int> bytes) {
    for (const int byte : bytes) *asker.at(at++) = static_cast<std::byte>(byte);
  }
  // A question for the way between two LIDs, in the asker's memory.
  void write_question(Lid from, Lid to) {
    std::fill_n(asker.at(0), mad_bytes, std::byte{0});
    put(0, {1, 3, 2, 1});
    put(8, {1, 2, 3, 4, 5, 6, 7, 8});
    put(16, {0, 0x35});
    put(48, {0, 0, 0, 0, 0, 0, 0, 0x30});
    put(56 + 40, {to >> 8, to & 255, from >> 8, from & 255});
  }
  // Sends it to the port that the subnet manager is said to be on. False: no answer comes.
  bool ask(std::uint32_t bytes = mad_bytes, std::uint32_t key = well_known_key) {
    if (waiting == 0) waiting = asker.receive(pair, 1024, 2048);
    QpAttributes attributes;
    attributes.qkey = key;
    EXPECT_TRUE(pair.modify(attributes, mask_qkey).ok());
    AddressVector path;
    path.destination_lid = bed.fabric->manager().lid(asker.adapter.port(1).name());
    const Segment segment{reinterpret_cast<std::uintptr_t>(asker.at(0)), bytes, asker.region->key};
    SendRequest request{.segments = &segment, .segment_count = 1, .opcode = Opcode::send};
    request.path = &path;
    request.remote_qp = 1;
    request.remote_qkey = well_known_key;
    asker.post(pair, request);
    bed.run();
    if (!asker.completed(waiting)) return false;
    EXPECT_EQ(asker.completion(waiting).byte_length, header + mad_bytes);
    waiting = 0;
    return true;
  }
  int number(std::size_t at, std::size_t size) const {
    int value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | std::to_integer<int>(asker.memory[1024 + header + at + i]);
    return value;
  }
  PortName port(const char* adapter) { return bed.adapter(adapter).port(1).name(); }
  Lid lid(const char* adapter) { return bed.adapter(adapter).port(1).lid(); }

  Bed bed{star(4), four_levels(speeds()[static_cast<std::size_t>(GetParam())])};
  Client asker{bed, bed.adapter("n1/hw0")};
  QueuePair& pair;
  std::uint64_t waiting = 0;  // the receive that the next answer will find
};
INSTANTIATE_TEST_SUITE_P(Speeds, PathRecords, testing::Values(0, 1, 2));

TEST_P(PathRecords, SayTheLevelOfEveryWay) {
  EXPECT_EQ(bed.fabric->manager().lid(port("n3/hw0")), lid("n0/hw0"));
  std::set<int> levels;
  for (const char* const name : {"n0/hw0", "n2/hw0", "n3/hw0"})
    for (int bits = 0; bits < 2; ++bits) {
      const auto to = static_cast<Lid>(lid(name) + bits);
      write_question(lid("n1/hw0"), to);
      ASSERT_TRUE(ask());
      EXPECT_EQ(number(0, 4), 0x01030281);
      EXPECT_EQ(number(4, 2), 0);
      EXPECT_EQ(number(8, 3), 0x010203);
      EXPECT_EQ(number(96, 2), to);
      EXPECT_EQ(number(98, 2), lid("n1/hw0"));
      EXPECT_EQ(number(106, 2), 0xffff);
      EXPECT_EQ(number(108, 2), bed.fabric->manager().service_level(port("n1/hw0"), to));
      EXPECT_EQ(number(110, 1), 128 + std::bit_width(bed.fabric->parameters().mtu) - 8);
      levels.insert(number(108, 2));
    }
  EXPECT_GT(levels.size(), 2u);
}

TEST_P(PathRecords, AreAskedForByGidsToo) {
  write_question(0, 0);
  put(48, {0, 0, 0, 0, 0, 0, 0, 0x0c});
  const Gid to = bed.adapter("n2/hw0").port(1).gids()[0].gid, from = asker.adapter.port(1).gids()[0].gid;
  std::memcpy(asker.at(64), to.data(), to.size());
  std::memcpy(asker.at(80), from.data(), from.size());
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0);
  EXPECT_EQ(number(96, 2), lid("n2/hw0"));
  EXPECT_EQ(number(108, 2), bed.fabric->manager().service_level(port("n1/hw0"), lid("n2/hw0")));
}

TEST_P(PathRecords, SayWhyThereIsNone) {
  write_question(lid("n1/hw0"), 999);
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0x0300);
  put(48, {0, 0, 0, 0, 0, 0, 0, 0x10});
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0x0600);
  write_question(lid("n1/hw0"), lid("n2/hw0"));
  put(54, {0x20, 0x30});
  put(106, {0x80, 0x01});  // a partition that is not there
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0x0300);
  write_question(lid("n1/hw0"), lid("n2/hw0"));
  put(16, {0, 0x11});  // another attribute
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0x000c);
}

TEST_P(PathRecords, GroupsAreMadeWhenFirstJoined) {
  const auto join = [&](int group) {
    std::fill_n(asker.at(0), mad_bytes, std::byte{0});
    put(0, {1, 3, 2, 2});
    put(16, {0, 0x38});
    put(53, {0x01, 0x30, 0xc7});
    put(56, {0xff, 0x12, group});
    EXPECT_TRUE(ask());
    EXPECT_EQ(number(0, 4), 0x01030281);
    return number(4, 2) == 0 ? number(92, 2) : -number(4, 2);
  };
  const int first = join(1), second = join(2);
  EXPECT_EQ(first, 0xfffe);
  EXPECT_EQ(second, 0xfffd);
  EXPECT_EQ(number(94, 1), 128 + std::bit_width(bed.fabric->parameters().mtu) - 8);
  EXPECT_EQ(join(1), first);
  put(54, {0, 0, 3});  // without what it takes to make a group
  put(3, {2});
  ASSERT_TRUE(ask());
  EXPECT_EQ(number(4, 2), 0x0600);
}

TEST_P(PathRecords, DoNotComeForNonsense) {
  write_question(lid("n1/hw0"), lid("n2/hw0"));
  EXPECT_FALSE(ask(255));
  EXPECT_FALSE(ask(mad_bytes, 0x80010001));
  for (const std::size_t at : {0u, 1u, 2u, 3u}) {
    write_question(lid("n1/hw0"), lid("n2/hw0"));
    put(at, {0x7f});
    EXPECT_FALSE(ask());
  }
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    asker.fill(0, mad_bytes, i);
    if (i % 2 == 0) put(0, {1, 3, 2, 1});
    EXPECT_EQ(ask(), i % 2 == 0);
  }
}

TEST_P(PathRecords, ComeFromWhereTheManagerIs) {
  write_question(lid("n1/hw0"), lid("n2/hw0"));
  bed.inject("adapter n0/hw0 dead");
  EXPECT_FALSE(ask());
  bed.inject("sm change");  // n1 itself
  EXPECT_EQ(bed.fabric->manager().lid(port("n2/hw0")), lid("n1/hw0"));
  EXPECT_TRUE(ask());
  bed.inject("sm change");
  bed.inject("sm change");
  bed.inject("sm change");  // past the dead one
  EXPECT_EQ(bed.fabric->manager().lid(port("n2/hw0")), lid("n1/hw0"));
}

TEST_P(PathRecords, PacketsOnAnotherLevelAreCounted) {
  Client other(bed, bed.adapter("n2/hw0"));
  QueuePair &qa = asker.create(), &qb = other.create();
  connect(qa, qb);
  const auto both = [&] {
    const auto r = other.receive(qb, 0, 100);
    asker.send(qa, Opcode::send, 0, 100);
    other.status(r);
    bed.run();
    return bed.fabric->packets_off_level();
  };
  const auto level = [&](const char* from, const char* to) {
    return bed.fabric->manager().service_level(port(from), lid(to));
  };
  // Service level 0 both ways: a packet there, an acknowledgement back.
  const std::uint64_t wrong = (level("n1/hw0", "n2/hw0") != 0) + (level("n2/hw0", "n1/hw0") != 0);
  EXPECT_GT(wrong, 0u);
  EXPECT_EQ(both(), wrong);
}

TEST(SubnetManager, EveryCableIsASubnetWithoutSwitch) {
  Bed bed(make_back_to_back({.hosts = 2, .rails = 2}).value(), {});
  for (const char* const name : {"n0/hw0", "n1/hw0"})
    EXPECT_EQ(bed.fabric->manager().lid(bed.adapter(name).port(1).name()),
              bed.adapter("n0/hw0").port(1).lid());
  for (const char* const name : {"n0/hw1", "n1/hw1"})
    EXPECT_EQ(bed.fabric->manager().lid(bed.adapter(name).port(1).name()),
              bed.adapter("n0/hw1").port(1).lid());
}

}  // namespace
}  // namespace hawser::fabric::test
