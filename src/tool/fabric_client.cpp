#include "tool/fabric_client.h"

#include <time.h>

#include <cstring>
#include <vector>

#include "base/failure.h"
#include "os/local_socket.h"
#include "provider/wire.h"

namespace hawser {

Result<std::string> command_fabric(const std::string& fabric, const std::string& line) {
  auto socket = connect_local(fabric);
  if (!socket) {
    return failure(ErrorKind::not_found, "fabric '{}' is not up: {}", fabric, socket.error().text);
  }
  verbs::Request request;
  request.call = verbs::Call::command;
  std::vector<std::byte> bytes(sizeof request + line.size());
  if (bytes.size() > longest_packet) return failure(ErrorKind::invalid_argument, "the command is too long");
  std::memcpy(bytes.data(), &request, sizeof request);
  std::memcpy(bytes.data() + sizeof request, line.data(), line.size());
  std::string text;
  verbs::Reply reply;
  reply.more = 1;
  if (!send_packet(socket.value(), bytes)) reply.error = -1;
  while (reply.error != -1 && reply.more != 0) {
    LocalPacket packet;
    if (receive_packet(socket.value(), packet) != PacketOutcome::done || packet.bytes.size() < sizeof reply) {
      reply.error = -1;
      break;
    }
    std::memcpy(&reply, packet.bytes.data(), sizeof reply);
    text.append(reinterpret_cast<const char*>(packet.bytes.data()) + sizeof reply,
                packet.bytes.size() - sizeof reply);
  }
  if (reply.error == -1) return failure(ErrorKind::other, "the daemon of fabric '{}' has ended", fabric);
  if (reply.error != 0) return failure(ErrorKind::invalid_argument, "fabric '{}': {}", fabric, text);
  return text;
}

void wait_until_gone(const std::string& fabric) {
  while (connect_local(fabric)) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace hawser
