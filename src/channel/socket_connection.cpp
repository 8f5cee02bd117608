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
    return failure(ErrorKind::other, "the launcher returned a garbled socket address");
  address.identity = words[3];
  for (std::size_t i = 4; i < words.size(); ++i) address.addresses.emplace_back(words[i]);
  return address;
}

std::vector<std::string> SocketAddress::candidates(const std::string& own_identity) const {
  if (identity == own_identity && identity != no_identity) return {"127.0.0.1"};
  return addresses;
}

OutgoingConnection::OutgoingConnection(const SocketAddress& address, const std::string& own_identity,
                                       ProcessIndex self, std::size_t buffer_bytes)
    : port_(address.port), candidates_(address.candidates(own_identity)), buffer_bytes_(buffer_bytes) {
  hello_.secret[0] = address.secret[0];
  hello_.secret[1] = address.secret[1];
  hello_.source = self;
}

std::byte* OutgoingConnection::add(const SocketFrame& frame) {
  ++frames_;
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
    HAWSER_TRY(ready.add(socket_, key, true, true));
    wants_writable_ = true;
    state_ = State::connecting;
    return {};
  }
  return failure(ErrorKind::other, "{}", last_error);
}

Result<bool> OutgoingConnection::advance(ReadySet& ready, std::uint64_t key, bool readable, bool writable) {
  switch (state_) {
    case State::idle:
      if (auto started = try_next_address(ready, key); !started) return started.take_error();
      return true;
    case State::connecting: {
      if (!writable) return false;
      auto outcome = connect_outcome(socket_);
      if (outcome) return greet(ready, key);
      ready.remove(socket_);
      socket_.close();
      if (next_candidate_ == candidates_.size()) return outcome.take_error();
      if (auto started = try_next_address(ready, key); !started) return started.take_error();
      return true;
    }
    case State::greeting: {
      const auto got =
          read_now(socket_, std::as_writable_bytes(std::span(&welcome_, 1)).subspan(welcome_bytes_));
      welcome_bytes_ += got.bytes;
      if (got.closed) return connect_again(ready, key);
      if (welcome_bytes_ < sizeof(welcome_)) return false;
      if (welcome_.magic != SocketHello::expected_magic)
        return failure(ErrorKind::other, "who listens at its address {} speaks another protocol",
                       candidates_[next_candidate_ - 1]);
      state_ = State::connected;
      ready.change(socket_, key, true, false);
      break;
    }
    case State::connected:
      // Nobody sends here, so this is the end, also while we have nothing to write.
      std::byte nothing;
      if (readable && read_now(socket_, std::span(&nothing, 1)).closed)
        return failure(ErrorKind::other,
                       "the connection broke, so it has died, or its host or the network has");
      break;
  }
  const auto written = write_now(socket_, std::span(buffer_).subspan(written_));
  if (written.closed) return failure(ErrorKind::other, "the connection broke");
  written_ += written.bytes;
  // Ask to hear of room only while something waits: otherwise a writable socket would be ready all the time.
  const bool wants = waiting() > 0;
  if (wants != wants_writable_) {
    wants_writable_ = wants;
    ready.change(socket_, key, true, wants);
  }
  return written.bytes > 0;
}

// A new connection has room for a hello.
Result<bool> OutgoingConnection::greet(ReadySet& ready, std::uint64_t key) {
  if (write_now(socket_, std::as_bytes(std::span(&hello_, 1))).bytes != sizeof(hello_))
    return connect_again(ready, key);
  state_ = State::greeting;
  welcome_bytes_ = 0;
  wants_writable_ = false;
  ready.change(socket_, key, true, false);
  return true;
}

// It was closed before the welcome: the peer has too many others at its door. Nothing was sent yet.
Result<bool> OutgoingConnection::connect_again(ReadySet& ready, std::uint64_t key) {
  constexpr int most_refusals = 1000;
  ready.remove(socket_);
  socket_.close();
  if (++refusals_ > most_refusals)
    return failure(ErrorKind::other, "it closed {} connections before it took the job's secret", refusals_);
  --next_candidate_;
  if (auto started = try_next_address(ready, key); !started) return started.take_error();
  return true;
}

IncomingConnection::IncomingConnection(FileDescriptor socket, Nanoseconds now)
    : since(now), socket_(std::move(socket)), buffer_(sizeof(SocketHello)) {}

bool IncomingConnection::welcome(ProcessIndex from, std::size_t largest_body) {
  source = from;
  buffer_.resize(4 * (sizeof(SocketFrame) + largest_body));
  const SocketWelcome answer;
  return write_now(socket_, std::as_bytes(std::span(&answer, 1))).bytes == sizeof(answer);
}

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
