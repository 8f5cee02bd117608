#include "channel/socket_connection.h"

#include <charconv>
#include <cstring>

#include "base/failure.h"

namespace hawser {

std::string SocketAddress::text() const {
  std::string out = fmt::format("{} {:x} {:x} {}", port, secret[0], secret[1], identity);
  for (const std::string& address : addresses) out += " " + address;
  return out;
}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  SocketAddress address;
  const auto number = [](std::string_view word, auto& value, int base) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    return error == std::errc{} && end == word.data() + word.size();
  };
  if (words.size() < 4 || !number(words[0], address.port, 10) || !number(words[1], address.secret[0], 16) ||
      !number(words[2], address.secret[1], 16))
    return failure(ErrorClass::other, "the launcher returned a garbled socket address");
  address.identity = words[3];
  for (std::size_t i = 4; i < words.size(); ++i) address.addresses.emplace_back(words[i]);
  return address;
}

std::vector<std::string> SocketAddress::candidates(const std::string& own_identity) const {
  if (identity == own_identity) return {"127.0.0.1"};
  return addresses;
}

OutgoingConnection::OutgoingConnection(const SocketAddress& address, const std::string& own_identity,
                                       ProcessIndex self, std::size_t buffer_bytes)
    : port_(address.port), candidates_(address.candidates(own_identity)), buffer_bytes_(buffer_bytes) {
  SocketHello hello;
  hello.secret[0] = address.secret[0];
  hello.secret[1] = address.secret[1];
  hello.source = self;
  const auto* bytes = reinterpret_cast<const std::byte*>(&hello);
  buffer_.assign(bytes, bytes + sizeof(hello));
}

std::byte* OutgoingConnection::add(const SocketFrame& frame) {
  if (written_ == buffer_.size()) {
    buffer_.clear();
    written_ = 0;
  } else if (written_ > buffer_bytes_) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(written_));
    written_ = 0;
  }
  const std::size_t place = buffer_.size();
  buffer_.resize(place + sizeof(frame) + frame.body);
  std::memcpy(buffer_.data() + place, &frame, sizeof(frame));
  return buffer_.data() + place + sizeof(frame);
}

Result<> OutgoingConnection::try_next_address(ReadySet& ready, std::uint64_t key) {
  std::string last_error = "it has no address that can be reached from here";
  while (next_candidate_ < candidates_.size()) {
    auto connecting = start_connecting(candidates_[next_candidate_++], port_);
    if (!connecting) {
      last_error = connecting.error().text;
      continue;
    }
    socket_ = std::move(connecting).value();
    HAWSER_TRY(ready.add(socket_, key, false, true));
    wants_writable_ = true;
    state_ = State::connecting;
    return {};
  }
  return failure(ErrorClass::other, "{}", last_error);
}

Result<bool> OutgoingConnection::advance(ReadySet& ready, std::uint64_t key, bool writable) {
  switch (state_) {
    case State::idle:
      if (auto started = try_next_address(ready, key); !started) return started.take_error();
      return true;
    case State::connecting: {
      if (!writable) return false;
      auto outcome = connect_outcome(socket_);
      if (outcome) {
        state_ = State::connected;
        break;
      }
      ready.remove(socket_);
      socket_.close();
      if (next_candidate_ == candidates_.size()) return outcome.take_error();
      if (auto started = try_next_address(ready, key); !started) return started.take_error();
      return true;
    }
    case State::connected:
      break;
  }
  const auto written = write_now(socket_, std::span(buffer_).subspan(written_));
  if (written.closed) return failure(ErrorClass::other, "the connection broke");
  written_ += written.bytes;
  // Ask to hear of room only while something waits: otherwise a writable socket would be ready all the time.
  const bool wants = waiting() > 0;
  if (wants != wants_writable_) {
    wants_writable_ = wants;
    ready.change(socket_, key, false, wants);
  }
  return written.bytes > 0;
}

IncomingConnection::IncomingConnection(FileDescriptor socket, std::size_t largest_body)
    : socket_(std::move(socket)), buffer_(4 * (sizeof(SocketFrame) + largest_body)) {}

bool IncomingConnection::read() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return true;
  const auto got = read_now(socket_, std::span(buffer_).subspan(end_));
  end_ += got.bytes;
  return !got.closed;
}

const std::byte* IncomingConnection::peek(std::size_t bytes) const {
  return end_ - begin_ >= bytes ? buffer_.data() + begin_ : nullptr;
}

}  // namespace hawser
