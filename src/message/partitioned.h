// Partitioned communication (MPI-5.0 chapter 4): a buffer whose partitions become ready one by one, by any
// thread, and arrive one by one.
//
// The n-th MPI_Psend_init of a process to another, with a tag, meets the n-th MPI_Precv_init there: the
// sender says how it divides the buffer (PartitionedPlan, an ordinary small message that the receiver has
// posted a receive for), and from then on there is nothing to match. Each part is a message of its own, under
// a tag of its own, sent when all its partitions are ready; the receiver posts receives for all parts at its
// start. Parts are whole partitions of the sender, several together where they are short; the receiver's
// partitions may be other ones.
#pragma once

#include <cstdint>
#include <vector>

#include "message/point_to_point.h"

namespace hawser {

// What the sender tells the receiver, once for all starts. On the wire as it is.
struct PartitionedPlan {
  std::int64_t bytes = 0;       // of the whole buffer
  std::int64_t part_bytes = 0;  // of each part but the last
  std::int32_t first_tag = 0;   // parts have this tag and the next
  std::int32_t parts = 0;

  // Whether a sender can have made it: what comes in is another process's word.
  bool sound() const;
};

// What HAWSER_PARTITION_MESSAGES may say at most.
inline constexpr std::int32_t most_parts = 65536;

// How many partitions of the sender go into one part. Parts reach `wanted_bytes` where they can, and there
// are at most `most_parts`.
std::int64_t partitions_per_part(std::int64_t partitions, std::int64_t partition_bytes,
                                 std::int64_t wanted_bytes, std::int64_t most_parts);

// One side's buffer and parts; what both sides have in common.
class PartitionedRequest : public Request, protected CompletionListener {
 public:
  // The buffer; its type is kept alive by `datatype` while the packer needs it.
  struct Buffer {
    TypePacker packer;
    ByteSequence bytes;  // packer: not yet pointing to the one above
    Ref<const Datatype> datatype;
    int partitions;
    std::int64_t partition_bytes;
  };

  bool is_send() const { return is_send_; }
  int partitions() const { return buffer_.partitions; }
  void destroy() override;

 protected:
  PartitionedRequest(PointToPoint& messages, Buffer buffer, bool is_send);

  struct Slice final : public Packer {
    void pack(std::int64_t at, std::byte* out, std::int64_t bytes) override;
    void unpack(std::int64_t at, const std::byte* in, std::int64_t bytes) override;
    Packer* whole = nullptr;
    std::int64_t offset = 0;
  };
  struct Part {
    Slice slice;
    MessageRequest* request = nullptr;
    std::int64_t waits_for = 0;  // send: partitions that are not ready
    bool done = false;
  };

  void divide();  // makes parts_ from plan_
  ByteSequence bytes_of(std::size_t part);
  std::size_t part_of(const MessageRequest& request) const {
    return static_cast<std::size_t>(request.tag - plan_.first_tag);
  }
  // Follows a request until it is complete, which it may be already.
  void follow(MessageRequest& request);
  // One thing less to wait for; after the last the operation is complete.
  void count_down();
  // Whether the message that carries the plan is still under way.
  virtual bool pairing() const = 0;
  virtual void stop_pairing() = 0;
  void delete_if_over();

  PointToPoint& messages_;
  Buffer buffer_;
  PartitionedPlan plan_;
  std::vector<Part> parts_;
  std::int64_t remaining_ = 0;

 private:
  const bool is_send_;
};

class PartitionedSend final : public PartitionedRequest {
 public:
  // Sends the plan. `pairing` and `data` name receiver, tag and contexts; pairing.process may be proc_null.
  PartitionedSend(PointToPoint& messages, Buffer buffer, const SendTarget& pairing,
                  std::uint32_t data_context, std::int64_t partitions_per_part);

  Result<> start() override;
  // 0 <= partition < partitions(), the request is active. Fails if the partition was ready before.
  Result<> set_ready(std::int64_t partition);

 private:
  void one_done(MessageRequest& request) override;
  void launch(std::size_t part);
  bool pairing() const override { return pairing_request_ != nullptr; }
  void stop_pairing() override {}

  const SendTarget target_;  // of the data; the tag is each part's
  const std::int64_t partitions_per_part_;
  MessageRequest* pairing_request_ = nullptr;
  std::vector<bool> ready_;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  // `pairing` names the sender, which is `source`, and the tag; pairing.source_rank may be proc_null, but not
  // any_source.
  PartitionedReceive(PointToPoint& messages, Buffer buffer, ProcessIndex source,
                     const ReceivePattern& pairing, std::uint32_t data_context);

  Result<> start() override;
  // Whether the whole partition is in the buffer. 0 <= partition < partitions().
  bool arrived(std::int64_t partition) const;

 private:
  void one_done(MessageRequest& request) override;
  void pair(const Status& told);
  void post_parts();
  bool pairing() const override { return pairing_request_ != nullptr; }
  void stop_pairing() override { messages_.cancel(*pairing_request_); }

  const ProcessIndex source_;
  const ReceivePattern pattern_;
  const std::uint32_t data_context_;
  MessageRequest* pairing_request_ = nullptr;
  bool paired_ = false;
  std::int64_t received_ = 0;
};

}  // namespace hawser
