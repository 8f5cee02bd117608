#include "message/partitioned.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"
#include "mpi/failure.h"

namespace hawser {

std::int64_t partitions_per_part(std::int64_t partitions, std::int64_t partition_bytes,
                                 std::int64_t wanted_bytes, std::int64_t most_parts) {
  if (partitions <= 1) return 1;
  if (partition_bytes == 0) return partitions;
  const std::int64_t for_size = (wanted_bytes + partition_bytes - 1) / partition_bytes;
  const std::int64_t for_number = (partitions + most_parts - 1) / most_parts;
  return std::clamp<std::int64_t>(std::max(for_size, for_number), 1, partitions);
}

// As PartitionedSend divides: into as few parts as hold all bytes.
bool PartitionedPlan::sound() const {
  if (bytes < 0 || part_bytes < 0 || parts < 0 || parts > most_parts) return false;
  if (first_tag < 0 || first_tag > INT32_MAX - parts) return false;
  if (bytes == 0) return parts <= 1;
  return parts > 0 && part_bytes > 0 && (bytes - 1) / part_bytes == parts - 1;
}

// --- Both sides ---

PartitionedRequest::PartitionedRequest(PointToPoint& messages, Buffer buffer, bool is_send)
    : Request(Kind::partitioned), messages_(messages), buffer_(std::move(buffer)), is_send_(is_send) {
  persistent = true;
  active = false;
  if (buffer_.bytes.packer != nullptr) buffer_.bytes.packer = &buffer_.packer;
}

void PartitionedRequest::Slice::pack(std::int64_t at, std::byte* out, std::int64_t bytes) {
  whole->pack(offset + at, out, bytes);
}

void PartitionedRequest::Slice::unpack(std::int64_t at, const std::byte* in, std::int64_t bytes) {
  whole->unpack(offset + at, in, bytes);
}

void PartitionedRequest::divide() {
  parts_.resize(static_cast<std::size_t>(plan_.parts));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].slice.whole = buffer_.bytes.packer;
    parts_[i].slice.offset = static_cast<std::int64_t>(i) * plan_.part_bytes;
  }
}

// Only what the buffer has: the receiver's may be too short.
ByteSequence PartitionedRequest::bytes_of(std::size_t part) {
  Slice& slice = parts_[part].slice;
  const std::int64_t end = std::min(buffer_.bytes.size, plan_.bytes);
  const std::int64_t size = std::clamp<std::int64_t>(end - slice.offset, 0, plan_.part_bytes);
  if (size == 0) return {};
  if (buffer_.bytes.contiguous()) return {buffer_.bytes.data + slice.offset, size, nullptr};
  return {nullptr, size, &slice};
}

void PartitionedRequest::follow(MessageRequest& request) {
  if (request.complete) return one_done(request);
  request.valid = false;
  request.after = MessageRequest::After::tell_listener;
  request.listener = this;
}

void PartitionedRequest::count_down() {
  HAWSER_ASSERT(remaining_ > 0);
  if (--remaining_ > 0) return;
  complete = true;
  if (user_freed) delete_if_over();
}

void PartitionedRequest::delete_if_over() {
  if ((!active || complete) && !pairing()) delete this;
}

void PartitionedRequest::destroy() {
  user_freed = true;
  if (active && !complete) return;
  if (pairing())
    stop_pairing();  // may already delete this, when one_done is called
  else
    delete this;
}

// --- The sender ---

PartitionedSend::PartitionedSend(PointToPoint& messages, Buffer buffer, const SendTarget& pairing,
                                 std::uint32_t data_context, std::int64_t partitions_per_part)
    : PartitionedRequest(messages, std::move(buffer), true),
      target_{pairing.process, data_context, pairing.source_rank, 0, pairing.traffic},
      partitions_per_part_(partitions_per_part),
      ready_(static_cast<std::size_t>(buffer_.partitions)) {
  status = Status::empty();
  const std::int64_t parts = (buffer_.partitions + partitions_per_part - 1) / partitions_per_part;
  plan_.bytes = buffer_.bytes.size;
  plan_.part_bytes = partitions_per_part * buffer_.partition_bytes;
  plan_.parts = static_cast<std::int32_t>(parts);
  if (pairing.process == proc_null) return;
  plan_.first_tag = messages_.take_part_tags(plan_.parts);
  divide();
  pairing_request_ = &messages_.isend(SendMode::standard, pairing,
                                      {reinterpret_cast<std::byte*>(&plan_), sizeof plan_, nullptr});
  follow(*pairing_request_);
}

Result<> PartitionedSend::start() {
  active = true;
  complete = false;
  std::fill(ready_.begin(), ready_.end(), false);
  if (parts_.empty()) {
    complete = true;
    return {};
  }
  remaining_ = plan_.parts;
  std::int64_t left = buffer_.partitions;
  for (Part& part : parts_) {
    part.waits_for = std::min(left, partitions_per_part_);
    left -= part.waits_for;
  }
  return {};
}

Result<> PartitionedSend::set_ready(std::int64_t partition) {
  const auto index = static_cast<std::size_t>(partition);
  if (ready_[index]) return failure(ErrorClass::arg, "partition {} was marked ready before", partition);
  ready_[index] = true;
  if (parts_.empty()) return {};
  const auto part = static_cast<std::size_t>(partition / partitions_per_part_);
  if (--parts_[part].waits_for == 0) launch(part);
  return {};
}

void PartitionedSend::launch(std::size_t part) {
  SendTarget target = target_;
  target.tag = plan_.first_tag + static_cast<std::int32_t>(part);
  follow(messages_.isend(SendMode::standard, target, bytes_of(part)));
}

void PartitionedSend::one_done(MessageRequest& request) {
  const bool was_pairing = &request == pairing_request_;
  if (request.status.error != ErrorClass::success) status.error = request.status.error;
  messages_.release(request);
  if (!was_pairing) return count_down();
  pairing_request_ = nullptr;
  if (user_freed) delete_if_over();
}

// --- The receiver ---

PartitionedReceive::PartitionedReceive(PointToPoint& messages, Buffer buffer, ProcessIndex source,
                                       const ReceivePattern& pairing, std::uint32_t data_context)
    : PartitionedRequest(messages, std::move(buffer), false),
      source_(source),
      pattern_(pairing),
      data_context_(data_context) {
  HAWSER_ASSERT(pairing.source_rank != any_source);
  if (pairing.source_rank == proc_null) return;
  pairing_request_ =
      &messages_.take_receive(pairing, {reinterpret_cast<std::byte*>(&plan_), sizeof plan_, nullptr});
  pairing_request_->process = source_;
  messages_.start_receive(*pairing_request_);
  follow(*pairing_request_);
}

Result<> PartitionedReceive::start() {
  active = true;
  complete = false;
  received_ = 0;
  status = {pattern_.source_rank, pattern_.tag, ErrorClass::success, false, 0};
  if (pattern_.source_rank == proc_null) {
    status = Status::from_proc_null();
    complete = true;
    return {};
  }
  for (Part& part : parts_) part.done = false;
  if (paired_) post_parts();
  return {};
}

// What does not fit ends the job, and until then there is nothing to receive.
void PartitionedReceive::pair(const Status& told) {
  if (told.error != ErrorClass::success && told.error != ErrorClass::truncate)
    return;  // lost, as others tell
  const auto size = static_cast<std::int64_t>(sizeof plan_);
  if (told.error != ErrorClass::success || told.bytes != size)
    return messages_.refuse(source_,
                            fmt::format("a division of a partitioned send that is not of {} bytes", size));
  if (!plan_.sound())
    return messages_.refuse(
        source_,
        fmt::format("a division of a partitioned send of {} bytes into {} parts of {} bytes, tags from {}",
                    plan_.bytes, plan_.parts, plan_.part_bytes, plan_.first_tag));
  paired_ = true;
  divide();
}

void PartitionedReceive::post_parts() {
  remaining_ = plan_.parts + 1;  // one for this function, so that it ends before the operation does
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    MessageRequest& request = messages_.take_receive(
        {data_context_, pattern_.source_rank, plan_.first_tag + static_cast<std::int32_t>(i)}, bytes_of(i));
    request.process = source_;
    messages_.start_receive(request);
    follow(request);
  }
  count_down();
}

void PartitionedReceive::one_done(MessageRequest& request) {
  if (&request == pairing_request_) {
    const Status told = request.status;
    pairing_request_ = nullptr;
    messages_.release(request);
    if (!told.cancelled) pair(told);
    if (user_freed) return delete_if_over();
    if (paired_ && active && !complete) post_parts();
    return;
  }
  parts_[part_of(request)].done = true;
  received_ += request.status.bytes;
  status.bytes = received_;
  if (request.status.error != ErrorClass::success) status.error = request.status.error;
  messages_.release(request);
  count_down();
}

bool PartitionedReceive::arrived(std::int64_t partition) const {
  if (!active || complete) return true;
  if (!paired_) return false;
  const std::int64_t begin = partition * buffer_.partition_bytes;
  const std::int64_t end = std::min(begin + buffer_.partition_bytes, plan_.bytes);
  if (begin >= end || plan_.part_bytes == 0) return false;  // nothing of its own: with the last of the others
  for (std::int64_t i = begin / plan_.part_bytes; i <= (end - 1) / plan_.part_bytes; ++i)
    if (!parts_[static_cast<std::size_t>(i)].done) return false;
  return true;
}

}  // namespace hawser
