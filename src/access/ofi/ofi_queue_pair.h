// Reliable connections of an OfiDevice. Which end connects and which accepts follows from the two addresses,
// so that both decide alike. Requests wait here until the connection stands and libfabric has room, and
// complete in the order in which they were posted.
#pragma once

#include <array>
#include <vector>

#include "access/ofi/ofi_device.h"
#include "access/ofi/ofi_queues.h"

namespace hawser::rdma {

class OfiQueuePair final : public QueuePair {
 public:
  static constexpr std::int32_t most_inline = 128;

  OfiQueuePair(OfiDevice& device, std::uint32_t number, const QueuePairInitAttributes& shape);
  ~OfiQueuePair() override;
  OfiQueuePair(const OfiQueuePair&) = delete;
  OfiQueuePair& operator=(const OfiQueuePair&) = delete;

  std::uint32_t number() const override { return number_; }
  Result<> make_ready_to_receive(const ConnectParameters& parameters) override;
  Result<> make_ready_to_send() override;
  Result<> make_error() override;
  int post_send(std::span<const SendRequest> requests) override;

  // Gives libfabric what waits; true: nothing waits for room in libfabric any more.
  bool advance();
  void on_completed(OfiOperation& operation, Status status);
  // True: it was for this pair, which took it over.
  bool on_request(const OfiGreeting& greeting, fi_info* request);
  void on_connected();
  void on_broken();
  bool fresh() const { return state_ == State::initial; }

 private:
  enum class State : std::uint8_t { initial, connecting, connected, broken, error };
  struct Operation : OfiOperation {
    SendRequest request;
    bool issued = false, done = false;
    Status status = Status::success;
    std::array<std::byte, most_inline> inlined;
  };

  bool initiates() const;
  OfiGreeting greeting() const;           // what this end says
  OfiGreeting expected_greeting() const;  // what the other one says
  Result<> open_endpoint(fi_info* info);
  Result<> connect();
  bool accept(fi_info* request);
  void close_endpoint();
  void settle(State state);
  long issue(Operation& operation);
  void hand_on();  // the completions that are due
  void flush();
  Operation& at(std::size_t position) { return ring_[position % ring_.size()]; }

  OfiDevice& device_;
  OfiCompletionQueue& completions_;
  OfiSharedReceiveQueue& receives_;
  std::uint32_t number_;
  State state_ = State::initial;
  ConnectParameters parameters_;
  OfiHandle<fid_ep> endpoint_;
  std::vector<Operation> ring_;                 // positions modulo its size
  std::size_t first_ = 0, next_ = 0, end_ = 0;  // oldest; next to be issued; next to be posted
};

}  // namespace hawser::rdma
