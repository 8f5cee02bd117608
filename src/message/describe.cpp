#include "message/describe.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace hawser {
namespace {

const char* describe(MessageRequest::Stage stage) {
  switch (stage) {
    case MessageRequest::Stage::idle:
      return "over";
    case MessageRequest::Stage::queued:
      return "waits for room in the channel";
    case MessageRequest::Stage::awaiting_match:
      return "waits for its receive";
    case MessageRequest::Stage::exposed:
      return "waits to be fetched by its receive";
    case MessageRequest::Stage::held:
      return "waits for a receive of this process";
    case MessageRequest::Stage::posted:
      return "no such message has come";
    case MessageRequest::Stage::arriving:
      return "its message is arriving";
  }
  HAWSER_UNREACHABLE();
}

std::string tag_text(std::int32_t tag) { return tag == any_tag ? "any tag" : fmt::format("tag {}", tag); }

}  // namespace

std::string describe(const MessageRequest& request) {
  std::string peer;
  if (request.direction == MessageRequest::Direction::receive) {
    peer = request.source_rank == any_source ? "receive from any source"
                                             : fmt::format("receive from rank {}", request.source_rank);
  } else {
    peer = fmt::format("{}send to process {}", request.mode == SendMode::synchronous ? "synchronous " : "",
                       request.process);
  }
  return fmt::format("{}, {}, context {}, {} bytes: {}", peer, tag_text(request.tag), request.context,
                     request.bytes.size, describe(request.stage));
}

}  // namespace hawser
