#include "launch/mpiexec/line_merger.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hawser {

LineMerger::LineMerger(int streams, bool label)
    : streams_(static_cast<std::size_t>(streams)), label_(label), single_(streams == 1 && !label) {}

// Makes sure that the output ends where text of this stream may follow.
void LineMerger::begin_line(int stream) {
  if (open_line_ == stream) return;
  if (open_line_ >= 0) output_ += '\n';
  open_line_ = -1;
  if (label_) output_ += fmt::format("[{}] ", stream);
}

// `text` is not empty and holds at most one newline, as its last character.
void LineMerger::emit(int stream, std::string_view text) {
  begin_line(stream);
  output_ += text;
  open_line_ = text.back() == '\n' ? -1 : stream;
}

// Whole lines.
void LineMerger::emit_lines(int stream, std::string_view lines) {
  if (!label_) {
    begin_line(stream);
    output_ += lines;
    open_line_ = -1;
    return;
  }
  while (!lines.empty()) {
    const std::size_t length = lines.find('\n') + 1;
    emit(stream, lines.substr(0, length));
    lines.remove_prefix(length);
  }
}

void LineMerger::feed(int stream, std::string_view bytes, Nanoseconds now) {
  if (single_) {
    output_ += bytes;
    return;
  }
  std::string& partial = streams_[static_cast<std::size_t>(stream)].partial;
  if (const std::size_t last = bytes.rfind('\n'); last != std::string_view::npos) {
    std::string_view lines = bytes.substr(0, last + 1);
    if (!partial.empty()) {
      const std::size_t first = lines.find('\n') + 1;
      partial += lines.substr(0, first);
      emit_lines(stream, std::exchange(partial, {}));
      lines.remove_prefix(first);
    }
    if (!lines.empty()) emit_lines(stream, lines);
    bytes.remove_prefix(last + 1);
  }
  if (bytes.empty()) return;
  if (partial.empty()) streams_[static_cast<std::size_t>(stream)].since = now;
  partial += bytes;
  if (partial.size() > longest_held_line) emit(stream, std::exchange(partial, {}));
}

void LineMerger::finish(int stream) {
  std::string& partial = streams_[static_cast<std::size_t>(stream)].partial;
  if (!partial.empty()) emit(stream, std::exchange(partial, {}));
}

void LineMerger::flush_stale(Nanoseconds now) {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (!streams_[i].partial.empty() && now - streams_[i].since >= partial_line_patience)
      finish(static_cast<int>(i));
}

Nanoseconds LineMerger::next_flush() const {
  Nanoseconds next = never;
  for (const Stream& stream : streams_)
    if (!stream.partial.empty()) next = std::min(next, stream.since + partial_line_patience);
  return next;
}

}  // namespace hawser
