// Ranks that write anything to mpiexec's PMI server, and a launcher that writes anything to a rank: the job
// is ended with a word about the rank, or goes on.
#include "fuzz_input.h"
#include "launch/mpiexec/pmi_server.h"
#include "launch/pmi_wire.h"

using namespace hawser;

namespace {

void parse_stream(std::string_view bytes) {
  PmiStream stream;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, 7);
    bytes.remove_prefix(part.size());
    stream.append(part);
    while (const auto line = stream.take_line()) {
      const auto message = PmiMessage::parse(*line);
      if (!message) continue;
      static_cast<void>(message.value().find("key"));
      if (const auto size = message.value().number("bytes"); size && *size >= 0)
        static_cast<void>(stream.take_bytes(static_cast<std::size_t>(*size)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse_stream({reinterpret_cast<const char*>(data), size});
  constexpr int ranks = 3;
  fuzz::FuzzInput input(data, size);
  PmiServer server({"job", "(vector,(0,1,3))", ranks, {0, 0, 0}});
  // Blocks of text that end with a byte 0; the first of them names the rank.
  while (!input.empty() && !server.abort()) {
    const int rank = static_cast<int>(input.below(ranks));
    server.receive(rank, input.text_until('\0'));
    for (const int each : server.take_ranks_with_output()) static_cast<void>(server.take_output(each));
    HAWSER_ASSERT(server.any_active() == (server.phase(0) == PmiServer::Phase::active ||
                                          server.phase(1) == PmiServer::Phase::active ||
                                          server.phase(2) == PmiServer::Phase::active));
  }
  if (server.abort()) HAWSER_ASSERT(server.abort()->rank >= 0 && server.abort()->rank < ranks);
  return 0;
}
