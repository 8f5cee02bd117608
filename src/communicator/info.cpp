#include "communicator/info.h"

#include "mpi/failure.h"

namespace hawser {

namespace {

Result<> check_key(std::string_view key) {
  if (key.empty()) return failure(ErrorClass::info_key, "the key is empty");
  if (key.size() > max_info_key) {
    return failure(ErrorClass::info_key, "the key has {} characters; at most {} are allowed", key.size(),
                   max_info_key);
  }
  return {};
}

}  // namespace

Result<> Info::set(std::string_view key, std::string_view value) {
  HAWSER_TRY(check_key(key));
  if (value.size() > max_info_value) {
    return failure(ErrorClass::info_value, "the value of key '{}' has {} characters; at most {} are allowed",
                   key, value.size(), max_info_value);
  }
  for (auto& entry : entries_) {
    if (entry.first == key) {
      entry.second = value;
      return {};
    }
  }
  entries_.emplace_back(key, value);
  return {};
}

Result<> Info::remove(std::string_view key) {
  HAWSER_TRY(check_key(key));
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->first == key) {
      entries_.erase(entry);
      return {};
    }
  }
  return failure(ErrorClass::info_nokey, "there is no key '{}'", key);
}

const std::string* Info::find(std::string_view key) const {
  for (const auto& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

Result<std::string_view> Info::key_at(int n) const {
  if (n < 0 || n >= size()) {
    return failure(ErrorClass::arg, "n is {}, but the info object has {} keys", n, size());
  }
  return std::string_view(entries_[static_cast<std::size_t>(n)].first);
}

Ref<Info> Info::duplicate() const {
  auto copy = make_counted<Info>();
  copy->entries_ = entries_;
  return copy;
}

}  // namespace hawser
