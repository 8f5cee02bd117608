#include "access/verbs/verbs_translation.h"

#include <gtest/gtest.h>

namespace hawser::rdma {
namespace {

TEST(VerbsTranslation, TimesAreRoundedUpToAPowerOfTwo) {
  EXPECT_EQ(timeout_code(0), 1);  // 0 would be for ever
  EXPECT_EQ(timeout_code(8192), 1);
  EXPECT_EQ(timeout_code(8193), 2);
  EXPECT_EQ(timeout_code(8 * millisecond), 11);  // 8.39 ms
  EXPECT_EQ(timeout_code(Nanoseconds{4096} << 14), 14);
  EXPECT_EQ(timeout_code(never), 31);
}

TEST(VerbsTranslation, RatesAreOfData) {
  EXPECT_EQ(nominal_rate(2, 1), 1'000'000'000);   // 4X SDR
  EXPECT_EQ(nominal_rate(2, 4), 4'000'000'000);   // 4X QDR
  EXPECT_EQ(nominal_rate(1, 32), 3'125'000'000);  // 1X EDR
  EXPECT_EQ(nominal_rate(3, 1), 0);
}

TEST(VerbsTranslation, RoutesWithinASubnetUseLids) {
  PortAttributes own;
  own.address.gids[0][0] = 0xfe;
  Route route;
  route.destination.gids[0] = own.address.gids[0];
  route.destination.gids[0][15] = 9;
  route.destination.lid = 16;
  route.source_path_bits = 2;
  route.destination_path_bits = 3;
  route.port = 2;
  ibv_ah_attr attributes = address_vector(own, route);
  EXPECT_EQ(attributes.is_global, 0);
  EXPECT_EQ(attributes.dlid, 19);
  EXPECT_EQ(attributes.src_path_bits, 2);
  EXPECT_EQ(attributes.port_num, 2);
  route.destination.gids[0][7] = 1;  // another subnet
  attributes = address_vector(own, route);
  EXPECT_EQ(attributes.is_global, 1);
  EXPECT_EQ(attributes.grh.dgid.raw[15], 9);
}

TEST(VerbsTranslation, RoceUsesGidsOnlyOfTheFirstKindThatBothHave) {
  PortAttributes own;
  own.address.link_layer = LinkLayer::ethernet;
  own.address.kinds = 0b100110;
  own.gid_indices = {0, 7, 3, 0, 0, 4};
  Route route;
  for (std::size_t form = 0; form < gid_forms; ++form)
    route.destination.gids[form][15] = static_cast<std::uint8_t>(9 + form);
  route.destination.kinds = 0b111101;
  route.destination.lid = 5;
  route.flow_label = 0x12345;
  ibv_ah_attr attributes = address_vector(own, route);
  EXPECT_EQ(attributes.is_global, 1);
  EXPECT_EQ(attributes.dlid, 0);
  EXPECT_EQ(attributes.grh.sgid_index, 3);  // link-local, version 2
  EXPECT_EQ(attributes.grh.dgid.raw[15], 11);
  EXPECT_EQ(attributes.grh.flow_label, 0x12345u);
  route.destination.kinds = 0b100000;
  attributes = address_vector(own, route);
  EXPECT_EQ(attributes.grh.sgid_index, 4);
  EXPECT_EQ(attributes.grh.dgid.raw[15], 11);
}

TEST(VerbsTranslation, GidsAreOfSixKinds) {
  Gid none = {}, local = {0xfe, 0x80}, routed = {0x20, 0x01}, mapped = {};
  mapped[10] = mapped[11] = 0xff;
  mapped[12] = 10;
  EXPECT_EQ(gid_kind(none, true), -1);
  EXPECT_EQ(gid_kind(mapped, true), 0);
  EXPECT_EQ(gid_kind(routed, true), 1);
  EXPECT_EQ(gid_kind(local, true), 2);
  EXPECT_EQ(gid_kind(mapped, false), 3);
  EXPECT_EQ(gid_kind(routed, false), 4);
  EXPECT_EQ(gid_kind(local, false), 5);
}

TEST(VerbsTranslation, MessagesAreAsLongAsTheSmallerEndTakes) {
  EXPECT_EQ(message_code(1u << 23), 23);
  EXPECT_EQ(message_code((1u << 23) + 5), 23);
  EXPECT_EQ(message_code(UINT32_MAX), 31);
  PortAddress one, other;
  one.longest_message = 23;
  other.longest_message = 30;
  EXPECT_EQ(longest_message(one, other), 8 << 20);
  EXPECT_EQ(longest_message(other, one), 8 << 20);
  other.longest_message = 0;  // came over the wire
  EXPECT_GT(longest_message(one, other), 0);
}

TEST(VerbsTranslation, PathsTakeTheSmallerMtu) {
  PortAddress own, other;
  own.mtu = IBV_MTU_4096;
  other.mtu = IBV_MTU_1024;
  const auto mtu = [](const PortAddress& from, const PortAddress& to, std::uint8_t most) {
    Route route;
    route.destination = to;
    route.mtu = most;
    return path_mtu(from, route);
  };
  EXPECT_EQ(mtu(own, other, 0), IBV_MTU_1024);
  EXPECT_EQ(mtu(other, own, 0), IBV_MTU_1024);
  EXPECT_EQ(mtu(own, other, IBV_MTU_512), IBV_MTU_512);
  EXPECT_EQ(mtu(own, other, IBV_MTU_2048), IBV_MTU_1024);
}

TEST(VerbsTranslation, RefusalsAreReadable) {
  EXPECT_EQ(refused("ibv_create_qp", "mlx5_0", ENOMEM).text,
            "ibv_create_qp on mlx5_0: Cannot allocate memory (ENOMEM)");
  EXPECT_EQ(refused("ibv_create_qp", "mlx5_0", 4242).text, "ibv_create_qp on mlx5_0: unknown error (4242)");
}

}  // namespace
}  // namespace hawser::rdma
