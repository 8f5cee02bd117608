// Shared by the tests of channels: patterns, data that is not in one piece, and events that record.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "channel/channel.h"
#include "channel/exchange.h"

namespace hawser::channel_test {

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::size_t size, std::uint64_t seed) {
  Random random(seed + 1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

inline ByteSequence whole(Bytes& bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
}

// Every other byte of a buffer: data that is not in one piece.
class EveryOther final : public Packer {
 public:
  explicit EveryOther(std::size_t size) : memory(2 * size) {}
  void pack(std::int64_t offset, std::byte* out, std::int64_t bytes) override {
    for (std::int64_t i = 0; i < bytes; ++i) out[i] = memory[static_cast<std::size_t>(2 * (offset + i))];
  }
  void unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) override {
    for (std::int64_t i = 0; i < bytes; ++i) memory[static_cast<std::size_t>(2 * (offset + i))] = in[i];
  }
  Bytes packed() {
    Bytes out(memory.size() / 2);
    pack(0, out.data(), static_cast<std::int64_t>(out.size()));
    return out;
  }
  ByteSequence sequence() { return {nullptr, static_cast<std::int64_t>(memory.size() / 2), this}; }
  Bytes memory;
};

// Receives everything into vectors; fetches what is exposed as far as `fetch_limit`.
class Recorder final : public ChannelEvents {
 public:
  struct Message {
    ProcessIndex source;
    int tag;
    Bytes bytes;
    bool whole = false;
  };
  void on_packet(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                 std::int64_t payload_size, std::int64_t message_size) override {
    auto& message = messages.emplace_back(std::make_unique<Message>());
    message->source = source;
    message->tag = header.tag;
    if (header.kind == MessageHeader::Kind::rendezvous) {
      ExposeToken token;
      std::memcpy(&token, payload, sizeof(token));
      message->bytes.resize(static_cast<std::size_t>(std::min(message_size, fetch_limit)));
      if (unpack_to != nullptr)
        channel->fetch(source, token, unpack_to->sequence(), message.get());
      else
        channel->fetch(source, token, channel_test::whole(message->bytes), message.get());
    } else {
      message->bytes.assign(payload, payload + payload_size);
      message->whole = true;
    }
  }
  EagerSink on_eager_begin(ProcessIndex source, const MessageHeader& header,
                           std::int64_t message_size) override {
    auto& message = messages.emplace_back(std::make_unique<Message>());
    message->source = source;
    message->tag = header.tag;
    message->bytes.resize(static_cast<std::size_t>(std::min(message_size, fetch_limit)));
    return {channel_test::whole(message->bytes), message.get()};
  }
  void on_eager_end(ProcessIndex, void* cookie) override { static_cast<Message*>(cookie)->whole = true; }
  void on_exposed_done(void* cookie, Result<> result) override {
    failures += result ? 0 : 1;
    ++exposed_done[cookie];
  }
  void on_peer_lost(ProcessIndex peer, const Error&) override { lost.push_back(peer); }
  void on_bad_packet(ProcessIndex source, std::string what) override {
    bad_packets.emplace_back(source, std::move(what));
  }
  void on_fetched(void* cookie, Result<> result) override {
    failures += result ? 0 : 1;
    static_cast<Message*>(cookie)->whole = true;
    ++fetched;
  }

  Channel* channel = nullptr;
  std::vector<std::unique_ptr<Message>> messages;
  std::map<void*, int> exposed_done;
  int fetched = 0;
  std::vector<ProcessIndex> lost;
  std::vector<std::pair<ProcessIndex, std::string>> bad_packets;
  int failures = 0;
  std::int64_t fetch_limit = INT64_MAX;
  EveryOther* unpack_to = nullptr;
};

inline MessageHeader header_with_tag(int tag, MessageHeader::Kind kind = MessageHeader::Kind::eager) {
  MessageHeader header;
  header.kind = kind;
  header.tag = tag;
  header.context = 7;
  return header;
}

// What a launcher would do for processes that are threads of one test.
class SharedExchange {
 public:
  explicit SharedExchange(int processes) : processes_(processes) {}

  class End final : public AddressExchange {
   public:
    End(SharedExchange& shared, int rank) : shared_(shared), rank_(rank) {}
    Result<> put(std::string_view key, std::string_view value) override {
      const std::lock_guard lock(shared_.mutex_);
      shared_.values_[{rank_, std::string(key)}] = value;
      return {};
    }
    Result<> fence() override {
      std::unique_lock lock(shared_.mutex_);
      const int phase = shared_.phase_;
      if (++shared_.arrived_ == shared_.processes_) {
        shared_.arrived_ = 0;
        ++shared_.phase_;
        shared_.changed_.notify_all();
      }
      shared_.changed_.wait(lock, [&] { return shared_.phase_ != phase; });
      return {};
    }
    Result<std::string> get(std::int32_t rank, std::string_view key) override {
      const std::lock_guard lock(shared_.mutex_);
      return shared_.values_[{rank, std::string(key)}];
    }

   private:
    SharedExchange& shared_;
    int rank_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int processes_;
  int arrived_ = 0;
  int phase_ = 0;
  std::map<std::pair<int, std::string>, std::string> values_;
};

}  // namespace hawser::channel_test
