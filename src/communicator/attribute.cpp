#include "communicator/attribute.h"

#include "mpi/failure.h"

namespace hawser {

namespace {

constexpr int first_number = predefined_keyval::last + 1;

}  // namespace

AbiFunction Keyval::duplicate_function() { return reinterpret_cast<AbiFunction>(std::uintptr_t{1}); }

Keyval& KeyvalTable::create(AttributeKind kind, AbiFunction copy_function, AbiFunction delete_function,
                            void* extra_state) {
  auto keyval = make_counted<Keyval>(kind);
  keyval->number = first_number + static_cast<int>(keyvals_.size());
  keyval->copy_function = copy_function;
  keyval->delete_function = delete_function;
  keyval->extra_state = extra_state;
  keyvals_.push_back(keyval);
  return *keyval;
}

Keyval* KeyvalTable::find(AttributeKind kind, int number) const {
  const auto index = static_cast<std::size_t>(number) - first_number;
  if (number < first_number || index >= keyvals_.size()) return nullptr;
  Keyval* keyval = keyvals_[index].get();
  if (keyval == nullptr || keyval->kind != kind) return nullptr;
  const bool only_the_table_knows_it = keyval->references() == 1;
  return keyval->freed && only_the_table_knows_it ? nullptr : keyval;
}

Result<> KeyvalTable::free(AttributeKind kind, int number) {
  Keyval* keyval = find(kind, number);
  if (keyval == nullptr) return failure(ErrorClass::keyval, "{} is not a keyval that can be freed", number);
  // Numbers are not given again, so that a stale one is told from a new one.
  keyval->freed = true;
  return {};
}

namespace {

// An error code of a user's function becomes the code of the MPI call (section 7.7.2).
Error callback_error(const char* which, int keyval, int code) {
  Error error =
      failure(ErrorClass::other, "the {} function of keyval {} returned error code {}", which, keyval, code);
  error.code = code;
  return error;
}

}  // namespace

void* AttributeSet::find(const Keyval& keyval, bool& found) const {
  for (const Entry& entry : entries_) {
    if (entry.keyval.get() == &keyval) {
      found = true;
      return entry.value;
    }
  }
  found = false;
  return nullptr;
}

Result<> AttributeSet::set(Keyval& keyval, void* value, Counted& object, AttributeCallbacks& callbacks) {
  for (const Entry& entry : entries_) {
    if (entry.keyval.get() != &keyval) continue;
    const int code = callbacks.erase(keyval, object, entry.value);
    if (code != 0) return callback_error("delete", keyval.number, code);
    break;
  }
  // The callback may have changed the set: look again.
  for (Entry& entry : entries_) {
    if (entry.keyval.get() != &keyval) continue;
    entry.value = value;
    return {};
  }
  entries_.push_back({Ref<Keyval>(&keyval), value});
  return {};
}

Result<> AttributeSet::remove(const Keyval& keyval, Counted& object, AttributeCallbacks& callbacks) {
  bool found = false;
  void* value = find(keyval, found);
  if (!found) return {};
  const Ref<Counted> kept(&const_cast<Keyval&>(keyval));
  const int code = callbacks.erase(keyval, object, value);
  if (code != 0) return callback_error("delete", keyval.number, code);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->keyval.get() != &keyval) continue;
    entries_.erase(entry);
    break;
  }
  return {};
}

Result<> AttributeSet::copy_from(const AttributeSet& other, Counted& old_object,
                                 AttributeCallbacks& callbacks) {
  // By index and with a copy of the entry: a callback may add or remove attributes of the old object.
  for (std::size_t i = 0; i < other.entries_.size(); ++i) {
    const Entry entry = other.entries_[i];
    void* copied = nullptr;
    bool keep = false;
    const int code = callbacks.copy(*entry.keyval, old_object, entry.value, copied, keep);
    if (code != 0) return callback_error("copy", entry.keyval->number, code);
    if (keep) entries_.push_back({entry.keyval, copied});
  }
  return {};
}

Result<> AttributeSet::remove_all(Counted& object, AttributeCallbacks& callbacks) {
  while (!entries_.empty()) {
    const Entry entry = entries_.back();
    const int code = callbacks.erase(*entry.keyval, object, entry.value);
    if (code != 0) return callback_error("delete", entry.keyval->number, code);
    // The callback may have changed the set; remove the entry wherever it now is.
    for (std::size_t i = entries_.size(); i-- > 0;) {
      if (entries_[i].keyval != entry.keyval) continue;
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  return {};
}

}  // namespace hawser
