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
#include "channel/exchange.h"
#include "channel/transport.h"

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

// The own part of the headers of these tests.
struct TestHeader {
  std::uint16_t unused = 0;
  std::int32_t tag = 0;
};
inline TransportHeader header_with_tag(int tag) {
  TransportHeader header;
  const TestHeader own{7, tag};
  std::memcpy(header.own.data(), &own, sizeof(own));
  return header;
}
inline int tag_of(const TransportHeader& header) {
  TestHeader own;
  std::memcpy(&own, header.own.data(), sizeof(own));
  return own.tag;
}

// Receives everything into vectors; fetches what is exposed as far as `fetch_limit`.
class Recorder final : public TransportEvents {
 public:
  struct Message final : Completion {
    Message(Recorder& by, ProcessIndex from, const TransportHeader& with)
        : recorder(by), source(from), header(with), tag(tag_of(with)) {}
    void on_complete(Result<> result) override {
      recorder.failures += result ? 0 : 1;
      recorder.fetched += fetching;
      whole = true;
    }
    Recorder& recorder;
    ProcessIndex source;
    TransportHeader header;
    int tag;
    Bytes bytes;
    bool fetching = false;
    bool whole = false;
  };
  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override {
    Message& message = add(source, header);
    message.bytes.assign(payload, payload + size);
    message.whole = true;
  }
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override {
    Message& message = add(source, header);
    message.fetching = true;
    message.bytes.resize(static_cast<std::size_t>(std::min(size, fetch_limit)));
    channel->fetch(source, token,
                   unpack_to != nullptr ? unpack_to->sequence() : channel_test::whole(message.bytes),
                   &message);
    EXPECT_FALSE(message.whole) << "told in the call";
  }
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override {
    Message& message = add(source, header);
    message.bytes.resize(static_cast<std::size_t>(std::min(size, fetch_limit)));
    return {channel_test::whole(message.bytes), &message};
  }
  void on_peer_lost(ProcessIndex peer, const Error&) override { lost.push_back(peer); }
  void on_notice(const std::string& text) override { notices.push_back(text); }
  void on_bad_packet(ProcessIndex source, std::string what) override {
    bad_packets.emplace_back(source, std::move(what));
  }
  // What to expose bytes with: counts in exposed_done[key].
  Completion* exposing(const void* key) { return &exposing_.try_emplace(key, *this, key).first->second; }

  Transport* channel = nullptr;
  std::vector<std::unique_ptr<Message>> messages;
  std::map<const void*, int> exposed_done;
  int fetched = 0;
  std::vector<ProcessIndex> lost;
  std::vector<std::string> notices;
  std::vector<std::pair<ProcessIndex, std::string>> bad_packets;
  int failures = 0;
  std::int64_t fetch_limit = INT64_MAX;
  EveryOther* unpack_to = nullptr;

 private:
  struct Exposing final : Completion {
    Exposing(Recorder& by, const void* with) : recorder(by), key(with) {}
    void on_complete(Result<> result) override {
      recorder.failures += result ? 0 : 1;
      ++recorder.exposed_done[key];
    }
    Recorder& recorder;
    const void* key;
  };
  Message& add(ProcessIndex source, const TransportHeader& header) {
    return *messages.emplace_back(std::make_unique<Message>(*this, source, header));
  }

  std::map<const void*, Exposing> exposing_;
};

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

// A counter of a channel; 0: it has none of that name.
inline std::uint64_t counted(const Transport& channel, std::string_view name) {
  for (const ChannelCounter& counter : channel.list_counters())
    if (counter.name == name) return counter.value;
  return 0;
}

}  // namespace hawser::channel_test
