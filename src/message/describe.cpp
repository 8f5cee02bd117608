#include "message/describe.h"

#include <fmt/format.h>

#include "base/enum_names.h"

namespace hawser {
namespace {

const char* describe(MessageRequest::Stage stage) {
  static constexpr EnumTexts<MessageRequest::Stage> texts{
      {{MessageRequest::Stage::idle, "over"},
       {MessageRequest::Stage::queued, "waits for room in the channel"},
       {MessageRequest::Stage::awaiting_match, "waits for its receive"},
       {MessageRequest::Stage::exposed, "waits to be fetched by its receive"},
       {MessageRequest::Stage::held, "waits for a receive of this process"},
       {MessageRequest::Stage::posted, "no such message has come"},
       {MessageRequest::Stage::arriving, "its message is arriving"}}};
  return texts(stage);
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
