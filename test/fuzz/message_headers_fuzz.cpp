// A process that sends any headers of messages: its victim says so, and what it has with a third process ends
// as it should.
#include "fuzz_input.h"
#include "message/point_to_point.h"
#include "message/test_network.h"

using namespace hawser;

namespace {

constexpr int victim = 0, liar = 1, witness = 2;
constexpr std::uint32_t context = 4, other_context = 8;
using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t size, int salt) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + salt);
  return bytes;
}
ByteSequence sequence(Bytes& bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
}

class Scene {
 public:
  Scene() : network_(3, 1, {.eager_limit = 256, .refusal = 0, .delivery = 1}), node_(network_[victim]) {
    for (std::size_t i = 0; i < 2; ++i) {
      const int peer = i == 0 ? liar : witness;
      synchronous_[i] = &node_.isend(SendMode::synchronous, {peer, context, 0, 11}, sequence(small_));
      exposed_[i] = &node_.isend(SendMode::standard, {peer, context, 0, 12}, sequence(large_));
      posted_[i] = &node_.ireceive({other_context, peer, 14}, sequence(into_[i]));
    }
    node_.ireceive({context, any_source, any_tag}, sequence(into_[2]));
    cancelled_ = &node_.isend(SendMode::synchronous, {liar, context, 0, 13}, sequence(small_));
    node_.cancel(*cancelled_);
  }

  void say(fuzz::FuzzInput& input) {
    auto header = input.value<MessageHeader>();
    header.handler = HandlerId::message;
    const std::size_t bytes = input.below(600);
    // A transport tells of at most what came; of an offer and of pieces, any size that is none below zero.
    const bool in_pieces = bytes >= 64 && input.flag();
    const std::int64_t offered = input.value<std::int64_t>();
    const auto whole = static_cast<std::int64_t>(bytes);
    network_.inject(liar, victim, header, pattern(bytes, 3),
                    header.kind == MessageHeader::Kind::rendezvous && !in_pieces ? offered : whole,
                    in_pieces);
  }
  void progress(int passes) {
    for (; passes > 0; --passes) network_.progress(victim);
  }
  void finish() {
    Bytes message = pattern(100, 9);
    network_[witness].isend(SendMode::standard, {victim, other_context, witness, 14}, sequence(message));
    Bytes got[2] = {Bytes(100), Bytes(5000)};
    for (int i = 0; i < 2; ++i)
      network_[witness].ireceive({context, victim, 11 + i}, sequence(got[static_cast<std::size_t>(i)]));
    for (int pass = 0; pass < 60; ++pass) {
      network_.progress(victim);
      network_.progress(witness);
    }
    HAWSER_ASSERT(posted_[1]->complete && into_[1] == message);
    HAWSER_ASSERT(synchronous_[1]->complete && exposed_[1]->complete);
    HAWSER_ASSERT(got[0] == small_ && got[1] == large_);
  }
  bool refused() { return !network_.lane(victim).bad_packet().empty(); }

 private:
  TestNetwork network_;
  PointToPoint& node_;
  Bytes small_ = pattern(100, 1), large_ = pattern(5000, 3);
  Bytes into_[3] = {Bytes(100), Bytes(100), Bytes(100)};
  // Of the liar, and of the witness.
  MessageRequest* synchronous_[2];
  MessageRequest* exposed_[2];
  MessageRequest* posted_[2];
  MessageRequest* cancelled_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  Scene scene;
  for (int packets = 0; packets < 20 && !input.empty() && !scene.refused(); ++packets) {
    scene.say(input);
    scene.progress(static_cast<int>(input.below(4)));
  }
  scene.progress(20);
  scene.finish();
  return 0;
}
