#include "launch/pmi_wire.h"

#include <algorithm>
#include <charconv>

#include "base/failure.h"

namespace hawser {

Result<PmiMessage> PmiMessage::parse(std::string_view line) {
  PmiMessage message;
  std::string_view rest = line;
  while (true) {
    const std::size_t start = rest.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    rest.remove_prefix(start);
    const std::size_t end = std::min(rest.find_first_of(" \t\r"), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (key.empty())
      return failure(ErrorKind::other, "PMI: '{}' contains a word that is not key=value", line);
    if (key == "cmd" || key == "mcmd") {
      message.command_ = value;
      message.multiline_ = key == "mcmd";
    }
    message.words_.emplace_back(key, value);
  }
  return message;
}

std::optional<std::string_view> PmiMessage::find(std::string_view key) const {
  for (const auto& [word, value] : words_)
    if (word == key) return value;
  return std::nullopt;
}

std::optional<int> PmiMessage::number(std::string_view key) const {
  const auto text = find(key);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

void PmiStream::append(std::string_view bytes) {
  // Room of what was taken is given back only here, so that the views given out stay valid until then.
  buffer_.erase(0, begin_);
  searched_ -= std::min(searched_, begin_);
  begin_ = 0;
  buffer_.append(bytes);
}

std::optional<std::string_view> PmiStream::take_line() {
  const std::size_t end = buffer_.find('\n', std::max(begin_, searched_));
  searched_ = std::min(end, buffer_.size());
  if (end == std::string::npos) return std::nullopt;
  const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = end + 1;
  return line;
}

std::optional<std::string_view> PmiStream::take_bytes(std::size_t size) {
  if (waiting() < size) return std::nullopt;
  const std::string_view bytes = std::string_view(buffer_).substr(begin_, size);
  begin_ += size;
  return bytes;
}

}  // namespace hawser
