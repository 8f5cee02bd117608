#include "rails/decision/write_grants.h"

#include <algorithm>

namespace hawser {
namespace {

constexpr Nanoseconds shortest_silence = 100 * millisecond, longest_silence = 2 * second;

}  // namespace

WriteGrants::Writer& WriteGrants::writer(ProcessIndex process) {
  const auto place = static_cast<std::size_t>(process);
  if (place >= writers_.size()) writers_.resize(place + 1);
  return writers_[place];
}

bool WriteGrants::admits(ProcessIndex process, std::int64_t part) {
  return writer(process).transfers > 0 || flow_.admits(part, bytes_);
}

void WriteGrants::give(WriteGrant& grant, ProcessIndex process, std::int64_t part, Nanoseconds now) {
  Writer& of = writer(process);
  if (of.transfers++ == 0) {
    of.part = part;
    bytes_ += part;
  }
  grant.writer_ = process;
  grant.delivered_before_ = flow_.delivered();
  grant.given_at_ = grant.heard_at_ = now;
  given_.push_back(&grant);
}

void WriteGrants::on_arrived(WriteGrant& grant, Nanoseconds now) {
  if (!grant.given()) return;
  if (grant.heard_at_ == grant.given_at_)
    flow_.on_done(writer(grant.writer_).part, grant.delivered_before_, grant.given_at_, grant.given_at_, now);
  grant.heard_at_ = now;
  given_.remove(&grant);
  given_.push_back(&grant);
}

void WriteGrants::end(WriteGrant& grant) {
  if (!grant.given()) return;
  Writer& of = writer(grant.writer_);
  if (--of.transfers == 0) bytes_ -= of.part;
  given_.remove(&grant);
}

Nanoseconds WriteGrants::deadline() const {
  if (given_.empty()) return never;
  return given_.front()->heard_at_ + std::clamp(4 * flow_.slowest(), shortest_silence, longest_silence);
}

}  // namespace hawser
