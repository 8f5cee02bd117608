// A reliable connection of a VerbsDevice.
#pragma once

#include "access/verbs/verbs_queues.h"

namespace hawser::rdma {

class VerbsQueuePair final : public QueuePair {
 public:
  static Result<std::unique_ptr<QueuePair>> make(VerbsDevice& device, const QueuePairInitAttributes& shape);
  VerbsQueuePair(VerbsDevice& device, ibv_qp* pair, VerbsCompletionQueue& completions, std::uint8_t port)
      : device_(device), pair_(pair), completions_(completions), port_(port) {}
  ~VerbsQueuePair() override;
  VerbsQueuePair(const VerbsQueuePair&) = delete;
  VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;

  std::uint32_t number() const override { return pair_->qp_num; }
  Result<> make_ready_to_receive(const ConnectParameters& parameters) override;
  Result<> make_ready_to_send() override;
  Result<> make_error() override;
  int post_send(std::span<const SendRequest> requests) override;
  bool post_list(const SendRequest& request, std::span<const Segment> segments) override;
  Result<> load_alternate(const Route& route, Nanoseconds acknowledge_time) override;
  Result<> migrate() override;
  Result<MigrationState> migration_state() override;

 private:
  Result<> initialize();
  int post_batches(std::span<const SendRequest> requests);
  Result<> modify(ibv_qp_attr& attributes, int mask, const char* what);

  VerbsDevice& device_;
  ibv_qp* pair_;
  VerbsCompletionQueue& completions_;
  std::uint8_t port_;
  ConnectParameters parameters_;
};

}  // namespace hawser::rdma
