// WriteGrants: who may write to this process at once. Writers are many where all send to one process, and
// each of them has at least a piece under way, so only some are let write. What they may have under way
// together follows from how long the first bytes of each take (CongestionWindow). Several transfers of one
// writer count once: they are its own business. A writer that is silent for long does something else, and
// must not hold up the others: it does not count any more. A pure machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "channel/transport.h"
#include "rails/decision/congestion_window.h"

namespace hawser {

// One transfer that may be written here.
class WriteGrant {
 public:
  bool given() const { return link_.linked(); }

 private:
  friend class WriteGrants;
  ListLink link_;
  ProcessIndex writer_ = 0;
  std::int64_t delivered_before_ = 0;  // CongestionWindow::delivered() when it was given
  Nanoseconds given_at_ = 0;
  Nanoseconds heard_at_ = 0;  // when something of it arrived last
};

class WriteGrants {
 public:
  // `ports`: of the flow into the own ports; outlives this.
  explicit WriteGrants(const FlowSettings& ports) : flow_(ports) {}

  // Whether the process may write; it will have `part` bytes under way before it knows anything of its paths.
  bool admits(ProcessIndex writer, std::int64_t part);
  void give(WriteGrant& grant, ProcessIndex writer, std::int64_t part, Nanoseconds now);
  // Bytes of the transfer arrived.
  void on_arrived(WriteGrant& grant, Nanoseconds now);
  // It is over. No effect if it was not given, or does not count any more.
  void end(WriteGrant& grant);
  // Those that were not heard of for too long.
  void end_silent(Nanoseconds now) {
    while (!given_.empty() && now >= deadline()) end(*given_.front());
  }
  bool none() const { return given_.empty(); }
  // When the first one will have been silent for too long; never: none is given.
  Nanoseconds deadline() const;
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Writer {
    std::int64_t part = 0;  // that counts for all its transfers
    int transfers = 0;
  };
  Writer& writer(ProcessIndex process);

  CongestionWindow flow_;
  std::int64_t bytes_ = 0;                               // that all writers may have under way
  IntrusiveList<WriteGrant, &WriteGrant::link_> given_;  // the one that was silent for longest first
  std::vector<Writer> writers_;                          // by process
};

}  // namespace hawser
