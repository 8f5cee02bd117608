#include "message/matching.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser {

namespace {
constexpr std::size_t first_table_size = 64;
constexpr int first_shift = 58;  // 64 - log2(first_table_size)
static_assert(std::size_t{1} << (64 - first_shift) == first_table_size);

// What a waiting message's bytes take here.
std::int64_t memory_of(const Message& message) {
  const bool elsewhere =
      message.header.kind == MessageHeader::Kind::rendezvous || message.heap_payload == nullptr;
  return elsewhere ? 0 : message.size;
}
}  // namespace

Matching::Matching() : table_(first_table_size, nullptr), shift_(first_shift) {
  last_ = &make_bin(key_of(0, any_source));
}

Matching::Bin& Matching::look_up(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = place_of(key); table_[i] != nullptr; i = (i + 1) & mask) {
    if (table_[i]->key == key) {
      last_ = table_[i];
      return *last_;
    }
  }
  last_ = &make_bin(key);
  return *last_;
}

Matching::Bin& Matching::make_bin(std::uint64_t key) {
  if (2 * (bins_in_use_ + 1) > table_.size()) grow();
  Bin* bin = nullptr;
  if (free_bins_.empty()) {
    bin = &bins_.emplace_back();
  } else {
    bin = free_bins_.back();
    free_bins_.pop_back();
  }
  bin->key = key;
  const std::size_t mask = table_.size() - 1;
  std::size_t i = place_of(key);
  while (table_[i] != nullptr) i = (i + 1) & mask;
  table_[i] = bin;
  ++bins_in_use_;
  return *bin;
}

void Matching::grow() {
  std::vector<Bin*> former(2 * table_.size(), nullptr);
  former.swap(table_);
  --shift_;
  const std::size_t mask = table_.size() - 1;
  for (Bin* bin : former) {
    if (bin == nullptr) continue;
    std::size_t i = place_of(bin->key);
    while (table_[i] != nullptr) i = (i + 1) & mask;
    table_[i] = bin;
  }
}

// Rare, so it may visit the whole table: everything but the context's bins is entered anew.
void Matching::release_bins(std::uint32_t context) {
  std::vector<Bin*> former(table_.size(), nullptr);
  former.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (Bin* bin : former) {
    if (bin == nullptr) continue;
    const bool in_use = !bin->posted.empty() || !bin->messages.empty();
    if (bin->key >> 32 == context && !in_use) {
      bin->key = 0;
      free_bins_.push_back(bin);
      --bins_in_use_;
      continue;
    }
    std::size_t i = place_of(bin->key);
    while (table_[i] != nullptr) i = (i + 1) & mask;
    table_[i] = bin;
  }
  // `last_` must be a bin of the table.
  look_up(key_of(0, any_source));
}

MessageRequest* Matching::match_with_wildcards(Bin& bin, MessageRequest* receive, std::uint32_t context,
                                               std::int32_t tag) {
  Bin& any = bin_of(context, any_source);
  MessageRequest* wildcard = first_accepting(any, tag);
  if (wildcard != nullptr && (receive == nullptr || wildcard->sequence < receive->sequence)) {
    any.posted.remove(wildcard);
    --wildcards_;
    --counters_.posted;
    return wildcard;
  }
  if (receive != nullptr) {
    bin.posted.remove(receive);
    --counters_.posted;
  }
  return receive;
}

Message* Matching::find(const Bin& bin, std::int32_t source, std::int32_t tag) {
  if (source == any_source) {
    Message* message = bin.arrivals.front();
    while (message != nullptr && !tag_fits(tag, message->header.tag)) message = bin.arrivals.next(message);
    return message;
  }
  Message* message = bin.messages.front();
  while (message != nullptr && !tag_fits(tag, message->header.tag)) message = bin.messages.next(message);
  return message;
}

void Matching::add(Message& message) {
  bin_of(message.header.context, message.header.source_rank).messages.push_back(&message);
  bin_of(message.header.context, any_source).arrivals.push_back(&message);
  ++counters_.unexpected;
  ++counters_.unexpected_total;
  counters_.most_unexpected = std::max(counters_.most_unexpected, counters_.unexpected);
  counters_.unexpected_bytes += memory_of(message);
  counters_.most_unexpected_bytes = std::max(counters_.most_unexpected_bytes, counters_.unexpected_bytes);
}

void Matching::remove(Message& message) {
  bin_of(message.header.context, message.header.source_rank).messages.remove(&message);
  bin_of(message.header.context, any_source).arrivals.remove(&message);
  --counters_.unexpected;
  counters_.unexpected_bytes -= memory_of(message);
}

Matching::Queued Matching::queued_in(std::uint32_t context) const {
  Queued queued;
  for (const Bin* bin : table_) {
    if (bin == nullptr || bin->key >> 32 != context) continue;
    for (MessageRequest* r = bin->posted.front(); r != nullptr; r = bin->posted.next(r)) ++queued.posted;
    for (Message* m = bin->messages.front(); m != nullptr; m = bin->messages.next(m)) ++queued.unexpected;
  }
  return queued;
}

Message* Matching::find_sent_by(const MessageHeader& header, ProcessIndex process) {
  Bin& bin = bin_of(header.context, header.source_rank);
  for (Message* message = bin.messages.front(); message != nullptr; message = bin.messages.next(message)) {
    if (message->process == process && message->header.sender_request == header.sender_request)
      return message;
  }
  return nullptr;
}

void Matching::withdraw(MessageRequest& receive) {
  bin_of(receive.context, receive.source_rank).posted.remove(&receive);
  wildcards_ -= receive.source_rank == any_source;
  --counters_.posted;
}

void Matching::check_invariants() const {
  std::int64_t posted = 0;
  std::int64_t wildcards = 0;
  std::int64_t messages = 0;
  std::int64_t arrivals = 0;
  for (const Bin* bin : table_) {
    if (bin == nullptr) continue;
    std::uint64_t last = 0;
    for (MessageRequest* r = bin->posted.front(); r != nullptr; r = bin->posted.next(r)) {
      HAWSER_ASSERT(key_of(r->context, r->source_rank) == bin->key);
      HAWSER_ASSERT(r->sequence > last);
      last = r->sequence;
      ++posted;
      wildcards += r->source_rank == any_source;
    }
    for (Message* m = bin->messages.front(); m != nullptr; m = bin->messages.next(m)) ++messages;
    for (Message* m = bin->arrivals.front(); m != nullptr; m = bin->arrivals.next(m)) ++arrivals;
  }
  HAWSER_ASSERT(posted == counters_.posted);
  HAWSER_ASSERT(wildcards == wildcards_);
  HAWSER_ASSERT(messages == counters_.unexpected);
  HAWSER_ASSERT(arrivals == counters_.unexpected);
}

}  // namespace hawser
