#include "binding/fortran/strings.h"

#include <cstring>

namespace hawser::fortran {

std::string trimmed(const char* text, std::size_t length, bool leading) {
  while (length > 0 && text[length - 1] == ' ') --length;
  std::size_t first = 0;
  while (leading && first < length && text[first] == ' ') ++first;
  return {text + first, length - first};
}

OutText::OutText(char* text, std::size_t length, std::int64_t capacity, const int* flag)
    : text_(text), length_(length), flag_(flag), buffer_(length_of(capacity) + 1, '\0') {}

OutText::~OutText() {
  const bool written_at_all = buffer_.size() > 1 && (flag_ == nullptr || *flag_ != 0);
  if (!written_at_all) return;
  const std::size_t written = std::min(std::strlen(buffer_.c_str()), length_);
  std::memcpy(text_, buffer_.data(), written);
  std::memset(text_ + written, ' ', length_ - written);
}

Texts::Texts(const char* texts, std::size_t length, std::int64_t n) {
  for (std::size_t i = 0; i < length_of(n); ++i) texts_.push_back(trimmed(texts + i * length, length));
  for (std::string& text : texts_) pointers_.push_back(text.data());
}

Arguments::Arguments(const char* texts, std::size_t length, std::size_t stride) {
  if (argv_null(texts)) return;
  for (;; texts += stride) {
    texts_.push_back(trimmed(texts, length));
    if (texts_.back().empty()) break;
  }
  texts_.pop_back();
  for (std::string& text : texts_) pointers_.push_back(text.data());
  pointers_.push_back(nullptr);
}

ArgumentLists::ArgumentLists(const char* texts, std::size_t length, std::int64_t n) {
  if (argv_null(texts)) return;
  const std::size_t count = length_of(n);
  lists_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) lists_.emplace_back(texts + i * length, length, count * length);
  for (Arguments& list : lists_) pointers_.push_back(list);
}

}  // namespace hawser::fortran
