#include "message/matching.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/open_addressing.h"

namespace hawser {

namespace {
constexpr std::size_t first_table_size = 64;
constexpr int first_shift = 58;  // 64 - log2(first_table_size)
static_assert(std::size_t{1} << (64 - first_shift) == first_table_size);

// In a queue whose first message does not fit.
template <class Queue>
[[gnu::noinline]] Message* search_queue(Queue& queue, std::int32_t tag) {
  if (tag != any_tag) return queue.first_of(tag);
  Message* message = queue.front();
  while (message != nullptr && message->header.tag < 0) message = queue.next(message);
  return message;
}
}  // namespace

Matching::Matching() : table_(first_table_size, nullptr), shift_(first_shift) {
  last_ = last_taken_ = &make_bin(key_of(0, any_source));
}

Matching::Bin& Matching::look_up(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = place_of(key);
  while (table_[i] != nullptr && table_[i]->key != key) i = (i + 1) & mask;
  last_ = table_[i] != nullptr ? table_[i] : &make_bin(key);
  return *last_;
}

Matching::Bin& Matching::make_bin(std::uint64_t key) {
  const std::uint64_t all = key_of(static_cast<std::uint32_t>(key >> 32), any_source);
  Bin* const head = key == all ? nullptr : &look_up(all);
  if (2 * (bins_in_use_ + 1) > table_.size()) grow();
  Bin* bin = nullptr;
  if (free_bins_.empty()) {
    bin = &bins_.emplace_back();
  } else {
    bin = free_bins_.back();
    free_bins_.pop_back();
  }
  bin->key = key;
  bin->all = head == nullptr ? bin : head;
  bin->to_search = head == nullptr;
  enter(*bin);
  ++bins_in_use_;
  if (head != nullptr) bin->next_of_context = std::exchange(head->next_of_context, bin);
  return *bin;
}

void Matching::enter(Bin& bin) {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = place_of(bin.key);
  while (table_[i] != nullptr) i = (i + 1) & mask;
  table_[i] = &bin;
}

void Matching::grow() {
  std::vector<Bin*> former(2 * table_.size(), nullptr);
  former.swap(table_);
  --shift_;
  for (Bin* bin : former)
    if (bin != nullptr) enter(*bin);
}

void Matching::remove_bin(Bin& bin) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = place_of(bin.key);
  while (table_[hole] != &bin) hole = (hole + 1) & mask;
  hole = close_gap(
      hole, mask, [this](std::size_t i) { return table_[i] != nullptr; },
      [this](std::size_t i) { return place_of(table_[i]->key); },
      [this](std::size_t from, std::size_t to) { table_[to] = table_[from]; });
  table_[hole] = nullptr;
  bin.key = 0;
  bin.next_of_context = nullptr;
  free_bins_.push_back(&bin);
  --bins_in_use_;
}

// Takes the time of the context's own bins: programs make and free thousands of communicators.
void Matching::release_bins(Bin& all) {
  Bin* kept = nullptr;
  for (Bin* bin = all.next_of_context; bin != nullptr;) {
    Bin* next = bin->next_of_context;
    if (bin->in_use()) {
      bin->next_of_context = kept;
      kept = bin;
    } else {
      remove_bin(*bin);
    }
    bin = next;
  }
  all.next_of_context = kept;
  if (kept == nullptr && !all.in_use()) remove_bin(all);
  // These must be bins of the table.
  last_taken_ = &look_up(key_of(0, any_source));
}

MessageRequest* Matching::first_accepting(Posted& posted, std::int32_t tag) {
  if (!posted.indexed()) {
    MessageRequest* const receive =
        posted.search([tag](const MessageRequest& each) { return tag_fits(each.tag, tag); });
    if (receive != nullptr || !posted.indexed()) return receive;
  }
  return earlier(posted.look_up(tag), tag >= 0 ? posted.look_up(any_tag) : nullptr);
}

MessageRequest* Matching::search_posted(Bin& bin, std::int32_t tag) {
  if (bin.posted.empty() && wildcards_ == 0) return nullptr;
  Bin& all = *bin.all;
  if (&bin == &all) return nullptr;  // no process has that rank
  MessageRequest* receive = first_accepting(bin.posted, tag);
  if (wildcards_ != 0) receive = earlier(receive, first_accepting(all.posted, tag));
  if (receive != nullptr) take_out(receive->source_rank == any_source ? all : bin, *receive);
  return receive;
}

Message* Matching::search_messages(Bin& bin, std::int32_t tag) {
  return &bin == bin.all ? search_queue(bin.arrivals, tag) : search_queue(bin.messages, tag);
}

Message* Matching::take_message(Bin& bin, const MessageRequest& receive) {
  Message* const message = find(bin, receive.tag);
  if (message == nullptr) {
    wildcards_ += &bin == bin.all;
    return nullptr;
  }
  take_out(bin, *message);
  return message;
}

void Matching::add(Message& message) {
  Bin& bin = bin_of(message.header.context, message.header.source_rank);
  bin.messages.push_back(&message);
  bin.all->arrivals.push_back(&message);
  ++bin.to_search;
  ++counters_.unexpected;
  ++counters_.unexpected_total;
  counters_.most_unexpected = std::max(counters_.most_unexpected, counters_.unexpected);
  counters_.unexpected_bytes += message.memory();
  counters_.most_unexpected_bytes = std::max(counters_.most_unexpected_bytes, counters_.unexpected_bytes);
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

// All that stand before the last are shown if the last is: see PointToPoint::show_receive.
bool Matching::first_or_behind_shown(const MessageRequest& receive) {
  if (!bin_of(receive.context, any_source).posted.empty()) return false;
  const MessageRequest* const before = bin_of(receive.context, receive.source_rank).posted.previous(&receive);
  return before == nullptr || before->shown >= 0;
}

Message* Matching::find_sent_by(const MessageHeader& header, ProcessIndex process) {
  Bin& bin = bin_of(header.context, header.source_rank);
  Message* message = bin.messages.first_of(header.tag);
  while (message != nullptr &&
         (message->process != process || message->header.sender_request != header.sender_request))
    message = bin.messages.next_of_tag(message);
  return message;
}

void Matching::withdraw(MessageRequest& receive) {
  take_out(bin_of(receive.context, receive.source_rank), receive);
}

void Matching::check_invariants() const {
  std::int64_t posted = 0;
  std::int64_t wildcards = 0;
  std::int64_t messages = 0;
  std::int64_t arrivals = 0;
  std::size_t of_contexts = 0;  // bins in the lists of their contexts
  for (std::size_t place = 0; place < table_.size(); ++place) {
    const Bin* bin = table_[place];
    if (bin == nullptr) continue;
    for (std::size_t i = place_of(bin->key); i != place; i = (i + 1) & (table_.size() - 1))
      HAWSER_ASSERT(table_[i] != nullptr);
    if (static_cast<std::int32_t>(bin->key) == any_source) {
      for (const Bin* other = bin; other != nullptr; other = other->next_of_context) {
        HAWSER_ASSERT(other->key >> 32 == bin->key >> 32);
        ++of_contexts;
      }
    }
    HAWSER_ASSERT(bin->all->key == key_of(static_cast<std::uint32_t>(bin->key >> 32), any_source));
    bin->posted.check_invariants();
    bin->messages.check_invariants();
    bin->arrivals.check_invariants();
    const std::int64_t messages_before = messages;
    std::uint64_t last = 0;
    for (MessageRequest* r = bin->posted.front(); r != nullptr; r = bin->posted.next(r)) {
      HAWSER_ASSERT(key_of(r->context, r->source_rank) == bin->key);
      HAWSER_ASSERT(r->sequence > last);
      last = r->sequence;
      ++posted;
      wildcards += r->source_rank == any_source;
    }
    for (Message* m = bin->messages.front(); m != nullptr; m = bin->messages.next(m)) ++messages;
    HAWSER_ASSERT(static_cast<std::int64_t>(bin->to_search) ==
                  (bin->all == bin ? 1 : messages - messages_before));
    for (Message* m = bin->arrivals.front(); m != nullptr; m = bin->arrivals.next(m)) ++arrivals;
  }
  HAWSER_ASSERT(of_contexts == bins_in_use_);
  HAWSER_ASSERT(posted == counters_.posted);
  HAWSER_ASSERT(wildcards == wildcards_);
  HAWSER_ASSERT(messages == counters_.unexpected);
  HAWSER_ASSERT(arrivals == counters_.unexpected);
}

}  // namespace hawser
