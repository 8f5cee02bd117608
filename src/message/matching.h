// Matching: which message meets which receive (MPI-5.0 section 3.5). Posted receives and unexpected
// messages of one (context, source rank) share a bin, found by hash; a bin's posted receives stand in
// order of posting and its messages in order of arrival, so with one tag the first one fits. Receives from
// MPI_ANY_SOURCE stand in the bin of source `any_source` of their context, which also links all its
// unexpected messages in order of arrival; the order of posting between the two bins is kept by sequence
// numbers. Pure state: does not touch requests and messages beyond their links and patterns.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "message/message.h"
#include "message/message_request.h"
#include "message/tag_queue.h"

namespace hawser {

// For diagnosis and for the limits of unexpected-message memory.
struct MatchingCounters {
  std::int64_t posted = 0;            // receives that wait now
  std::int64_t unexpected = 0;        // messages that wait now
  std::int64_t unexpected_total = 0;  // messages that ever came before their receive
  std::int64_t most_unexpected = 0;   // that ever waited at once
  std::int64_t unexpected_bytes =
      0;  // memory that waiting messages need; what waits at the sender needs none
  std::int64_t most_unexpected_bytes = 0;

  // What several have together; of what was the most at once, no less than that.
  void add(const MatchingCounters& other) {
    posted += other.posted;
    unexpected += other.unexpected;
    unexpected_total += other.unexpected_total;
    most_unexpected += other.most_unexpected;
    unexpected_bytes += other.unexpected_bytes;
    most_unexpected_bytes += other.most_unexpected_bytes;
  }
};

class Matching {
 public:
  Matching();

  // A receive begins. Takes the first fitting message out of the queues; or, if there is none, enqueues the
  // receive and answers null.
  Message* post(MessageRequest& receive) {
    Bin& bin = bin_of(receive.context, receive.source_rank);
    if (bin.to_search != 0) [[unlikely]] {
      if (Message* message = take_message(bin, receive)) return message;
    }
    receive.sequence = ++sequence_;
    bin.posted.push_back(&receive);
    ++counters_.posted;
    return nullptr;
  }

  // A message arrived. Takes the first receive that accepts it out of the queues; null if there is none.
  MessageRequest* match(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    Bin& bin = bin_of(context, source);
    MessageRequest* const receive = bin.posted.front();
    if (receive == nullptr || !tag_fits(receive->tag, tag) || wildcards_ != 0 || bin.posted.indexed())
        [[unlikely]]
      return search_posted(bin, tag);
    bin.posted.remove(receive);
    --counters_.posted;
    return receive;
  }

  // Whether any message waits for a receive.
  bool any_messages() const { return counters_.unexpected != 0; }
  // Enqueues a message that met no receive.
  void add(Message& message);
  // The message that a receive of this pattern would take; null if there is none.
  Message* find(const ReceivePattern& pattern) {
    return find(bin_of(pattern.context, pattern.source_rank), pattern.tag);
  }
  // The enqueued message that this process sent with this request number; null if there is none.
  Message* find_sent_by(const MessageHeader& header, ProcessIndex process);
  void remove(Message& message) {
    remove(bin_of(message.header.context, message.header.source_rank), message);
  }
  // Takes the message out that a receive of this pattern would take, if `fits` says so; else null.
  template <class Fits>
  Message* take(const ReceivePattern& pattern, Fits&& fits) {
    Bin& bin = bin_of(pattern.context, pattern.source_rank);
    Message* const message = find(bin, pattern.tag);
    if (message == nullptr || !fits(*message)) return nullptr;
    take_out(bin, *message);
    return message;
  }
  // Takes a posted receive out again.
  void withdraw(MessageRequest& receive);

  // Whether all receives that are posted and could take a message instead of this posted one are shown to
  // the sender. To be asked before any other is posted.
  bool first_or_behind_shown(const MessageRequest& receive);

  // What waits now in one context; takes the time of a pass over all bins.
  struct Queued {
    std::uint64_t posted = 0;
    std::uint64_t unexpected = 0;
  };
  Queued queued_in(std::uint32_t context) const;

  // Forgets a context id; calls drop(message) for what lay there, after taking it out.
  template <class Drop>
  void release_context(std::uint32_t context, Drop&& drop) {
    drop_messages(context, drop);
    release_bins(bin_of(context, any_source));
  }
  // Only what lay there.
  template <class Drop>
  void drop_messages(std::uint32_t context, Drop&& drop) {
    Bin& all = bin_of(context, any_source);
    while (Message* message = all.arrivals.front()) {
      remove(*message);
      drop(*message);
    }
  }

  const MatchingCounters& counters() const { return counters_; }
  void check_invariants() const;

 private:
  using Posted = TagQueue<MessageRequest, &MessageRequest::link, &MessageRequest::tag_link>;
  struct Bin {
    std::uint64_t key = 0;
    // 0 if no message can wait for a receive that is posted here: the number of `messages`; always 1 in the
    // any_source bin.
    std::size_t to_search = 0;
    Posted posted;
    TagQueue<Message, &Message::by_source, &Message::tag_by_source> messages;  // of this source
    // Of all sources; only in the any_source bin.
    TagQueue<Message, &Message::by_arrival, &Message::tag_by_arrival> arrivals;
    Bin* all = nullptr;              // the any_source bin of its context
    Bin* next_of_context = nullptr;  // a list that begins there
    bool in_use() const { return !posted.empty() || !messages.empty(); }
  };

  static std::uint64_t key_of(std::uint32_t context, std::int32_t source) {
    return std::uint64_t{context} << 32 | static_cast<std::uint32_t>(source);
  }
  static bool tag_fits(std::int32_t wanted, std::int32_t tag) {
    return wanted == tag || (wanted == any_tag && tag >= 0);
  }

  Bin& bin_of(std::uint32_t context, std::int32_t source) {
    const std::uint64_t key = key_of(context, source);
    if (last_->key == key) return *last_;
    return look_up(key);
  }
  std::size_t place_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> shift_);
  }
  Bin& look_up(std::uint64_t key);
  Bin& make_bin(std::uint64_t key);
  void enter(Bin& bin);
  void grow();
  void remove_bin(Bin& bin);
  void release_bins(Bin& all);

  // Of the two, of which each may be null.
  static MessageRequest* earlier(MessageRequest* a, MessageRequest* b) {
    return b == nullptr || (a != nullptr && a->sequence < b->sequence) ? a : b;
  }
  static MessageRequest* first_accepting(Posted& posted, std::int32_t tag);
  MessageRequest* search_posted(Bin& bin, std::int32_t tag);
  void take_out(Bin& bin, MessageRequest& receive) {
    bin.posted.remove(&receive);
    wildcards_ -= &bin == bin.all;
    --counters_.posted;
  }
  static Message* find(Bin& bin, std::int32_t tag) {
    Message* const first = &bin == bin.all ? bin.arrivals.front() : bin.messages.front();
    return first == nullptr || tag_fits(tag, first->header.tag) ? first : search_messages(bin, tag);
  }
  static Message* search_messages(Bin& bin, std::int32_t tag);
  void remove(Bin& bin, Message& message) {
    bin.messages.remove(&message);
    bin.all->arrivals.remove(&message);
    --bin.to_search;
    --counters_.unexpected;
    counters_.unexpected_bytes -= message.memory();
  }
  // Of those that a receive posted in this bin could take. The next receive is likely to be for the same
  // source, or for any again, and then to get a message of the same one.
  void take_out(Bin& bin, Message& message) {
    if (&bin != bin.all) [[likely]]
      return remove(bin, message);
    const std::uint64_t key = key_of(message.header.context, message.header.source_rank);
    if (last_taken_->key != key) [[unlikely]] {
      last_taken_ = &look_up(key);
      last_ = &bin;
    }
    remove(*last_taken_, message);
  }
  Message* take_message(Bin& bin, const MessageRequest& receive);

  Bin* last_;                // the bin looked up last: most programs talk to one peer at a time
  Bin* last_taken_;          // whose message a receive from any source took last
  std::vector<Bin*> table_;  // open addressing, linear probing; size is a power of two
  int shift_ = 0;
  std::size_t bins_in_use_ = 0;
  std::deque<Bin> bins_;  // never move
  std::vector<Bin*> free_bins_;
  std::int64_t wildcards_ = 0;  // posted receives from any_source, over all contexts
  std::uint64_t sequence_ = 0;
  MatchingCounters counters_;
};

}  // namespace hawser
