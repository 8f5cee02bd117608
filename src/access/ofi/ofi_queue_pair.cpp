#include "access/ofi/ofi_queue_pair.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/assert.h"
#include "base/failure.h"
#include "base/siphash.h"

namespace hawser::rdma {
namespace {

OfiGreeting signed_by(const std::array<std::uint64_t, 2>& secret, OfiGreeting greeting) {
  greeting.proof =
      siphash(secret, std::as_bytes(std::span(&greeting, 1)).first(offsetof(OfiGreeting, proof)));
  return greeting;
}

}  // namespace

OfiQueuePair::OfiQueuePair(OfiDevice& device, std::uint32_t number, const QueuePairInitAttributes& shape)
    : device_(device),
      completions_(static_cast<OfiCompletionQueue&>(*shape.completions)),
      receives_(static_cast<OfiSharedReceiveQueue&>(*shape.receives)),
      number_(number),
      ring_(static_cast<std::size_t>(shape.send_depth)) {
  for (Operation& each : ring_) each.pair = this;
}

OfiQueuePair::~OfiQueuePair() {
  close_endpoint();
  settle(State::error);
  device_.forget(*this);
  completions_.forget(number_);
}

// Connecting.

bool OfiQueuePair::initiates() const {
  const PortAddress& own = device_.address();
  const PortAddress& other = parameters_.route.destination;
  return std::tie(own.gids[0], own.lid, number_) <
         std::tie(other.gids[0], other.lid, parameters_.remote_queue_pair);
}

OfiGreeting OfiQueuePair::greeting() const {
  return signed_by(parameters_.secret, {number_, parameters_.remote_queue_pair, parameters_.send_psn});
}

OfiGreeting OfiQueuePair::expected_greeting() const {
  return signed_by(parameters_.secret, {parameters_.remote_queue_pair, number_, parameters_.receive_psn});
}

void OfiQueuePair::settle(State state) {
  device_.connecting += (state == State::connecting) - (state_ == State::connecting);
  state_ = state;
}

Result<> OfiQueuePair::make_ready_to_receive(const ConnectParameters& parameters) {
  if (state_ != State::initial || parameters.route.destination.transport != Transport::tcp)
    return failure(ErrorKind::other, "queue pair {} on {} is in use, or the other end is no TCP port",
                   number_, device_.attributes().name);
  parameters_ = parameters;
  settle(State::connecting);
  if (initiates()) return {};
  if (fi_info* const request = device_.take_request(expected_greeting());
      request != nullptr && !accept(request))
    return failure(ErrorKind::other, "queue pair {} on {}: the connection broke", number_,
                   device_.attributes().name);
  return {};
}

Result<> OfiQueuePair::make_ready_to_send() {
  if (state_ == State::connecting && initiates()) return connect();
  return {};
}

// Takes `info` over.
Result<> OfiQueuePair::open_endpoint(fi_info* info) {
  fid_ep* endpoint = nullptr;
  int error = fi_endpoint(device_.domain(), info, &endpoint, nullptr);
  device_.functions().freeinfo(info);
  if (error == 0) {
    endpoint_.reset(endpoint);
    device_.add(endpoint, *this);
    error = fi_ep_bind(endpoint, &device_.events()->fid, 0);
  }
  if (error == 0) error = fi_ep_bind(endpoint, &completions_.get()->fid, FI_TRANSMIT | FI_RECV);
  if (error == 0) error = fi_ep_bind(endpoint, &receives_.get()->fid, 0);
  if (error == 0) error = fi_enable(endpoint);
  if (error != 0) return refused(device_.functions(), "fi_endpoint", device_.attributes().name, error);
  return {};
}

Result<> OfiQueuePair::connect() {
  fi_info* const info = device_.copy_info();
  auto* const there = static_cast<sockaddr_in*>(std::calloc(1, sizeof(sockaddr_in)));
  if (info == nullptr || there == nullptr) {
    std::free(there);
    if (info != nullptr) device_.functions().freeinfo(info);
    return refused(device_.functions(), "fi_dupinfo", device_.attributes().name, FI_ENOMEM);
  }
  const PortAddress& other = parameters_.route.destination;
  there->sin_family = AF_INET;
  there->sin_addr.s_addr = ipv4_of(other.gids[0]);
  there->sin_port = htons(other.lid);
  const sockaddr_in address = *there;
  std::free(info->dest_addr);
  info->dest_addr = there;  // freed with it
  info->dest_addrlen = sizeof(*there);
  HAWSER_TRY(open_endpoint(info));
  const OfiGreeting words = greeting();
  if (const int error = fi_connect(endpoint_.get(), &address, &words, sizeof(words)); error != 0)
    return refused(device_.functions(), "fi_connect", device_.attributes().name, error);
  return {};
}

bool OfiQueuePair::on_request(const OfiGreeting& from, fi_info* request) {
  const OfiGreeting wanted = expected_greeting();
  if (state_ != State::connecting || endpoint_ != nullptr || initiates() ||
      std::memcmp(&from, &wanted, sizeof(wanted)) != 0)
    return false;
  if (!accept(request)) on_broken();
  return true;
}

bool OfiQueuePair::accept(fi_info* request) {
  return open_endpoint(request) && fi_accept(endpoint_.get(), nullptr, 0) == 0;
}

void OfiQueuePair::on_connected() {
  if (state_ != State::connecting) return;
  settle(State::connected);
  if (!advance()) device_.stall(*this);
}

void OfiQueuePair::on_broken() {
  if (state_ != State::connecting && state_ != State::connected) return;
  settle(State::broken);
  close_endpoint();
  flush();
}

Result<> OfiQueuePair::make_error() {
  close_endpoint();
  settle(State::error);
  flush();
  return {};
}

// What had arrived is taken in before; afterwards libfabric has nothing of this pair any more.
void OfiQueuePair::close_endpoint() {
  if (endpoint_ == nullptr) return;
  while (state_ == State::connected && completions_.take_in()) {
  }
  if (endpoint_ == nullptr) return;  // taking in found it broken
  device_.remove(endpoint_.get());
  endpoint_.reset();
  while (completions_.take_in()) {
  }
}

// Sending.

int OfiQueuePair::post_send(std::span<const SendRequest> requests) {
  int taken = 0;
  for (const SendRequest& request : requests) {
    HAWSER_ASSERT(request.opcode != Opcode::read);
    if (end_ - first_ == ring_.size()) break;
    Operation& operation = at(end_);
    operation.request = request;
    operation.issued = operation.done = false;
    operation.status = Status::success;
    if (request.inlined) {
      std::size_t filled = 0;
      for (std::size_t i = 0; i < request.segment_count; ++i) {
        HAWSER_ASSERT(filled + request.segments[i].bytes <= operation.inlined.size());
        std::memcpy(operation.inlined.data() + filled, request.segments[i].address,
                    request.segments[i].bytes);
        filled += request.segments[i].bytes;
      }
      operation.request.segment_count = 1;
      operation.request.segments[0] = {operation.inlined.data(), static_cast<std::uint32_t>(filled), 0};
    }
    ++end_;
    ++taken;
  }
  if (state_ == State::broken || state_ == State::error)
    flush();
  else if (state_ == State::connected && !advance())
    device_.stall(*this);
  return taken;
}

bool OfiQueuePair::advance() {
  while (next_ != end_ && state_ == State::connected) {
    Operation& operation = at(next_);
    const long error = issue(operation);
    if (error == -FI_EAGAIN) return false;
    if (error != 0) {
      on_broken();
      return true;
    }
    operation.issued = true;
    ++next_;
  }
  return true;
}

long OfiQueuePair::issue(Operation& operation) {
  const SendRequest& request = operation.request;
  iovec parts[max_segments];
  std::size_t count = 0, bytes = 0;
  for (std::size_t i = 0; i < request.segment_count; ++i) {
    if (request.segments[i].bytes == 0) continue;
    parts[count++] = {const_cast<std::byte*>(request.segments[i].address), request.segments[i].bytes};
    bytes += request.segments[i].bytes;
  }
  void* const context = static_cast<OfiOperation*>(&operation);
  // A completion means that the peer's side has it, as with verbs.
  if (request.opcode == Opcode::send) {
    const fi_msg message = {parts, nullptr, count, FI_ADDR_UNSPEC, context, parameters_.remote_queue_pair};
    return fi_sendmsg(endpoint_.get(), &message, FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE);
  }
  const fi_rma_iov there = {request.remote_address, bytes, std::uint64_t{request.remote_key} - 1};
  const fi_msg_rma message = {parts, nullptr, count, FI_ADDR_UNSPEC, &there, 1, context, 0};
  return fi_writemsg(endpoint_.get(), &message, FI_DELIVERY_COMPLETE);
}

void OfiQueuePair::on_completed(OfiOperation& base, Status status) {
  auto& operation = static_cast<Operation&>(base);
  if (operation.done || !operation.issued) return;
  operation.done = true;
  operation.status = status;
  hand_on();
  if (status != Status::success)
    on_broken();
  else if (!advance())
    device_.stall(*this);
}

void OfiQueuePair::hand_on() {
  for (; first_ != next_ && at(first_).done; ++first_) {
    const Operation& operation = at(first_);
    if (operation.status == Status::success && !operation.request.signaled) continue;
    Completion completion;
    completion.id = operation.request.id;
    completion.status = operation.status;
    completion.opcode = operation.request.opcode;
    completion.queue_pair = number_;
    completions_.push(completion);
  }
}

// Everything that is left is done for. The first request of a broken connection says why.
void OfiQueuePair::flush() {
  for (std::size_t i = first_; i != end_; ++i) {
    Operation& operation = at(i);
    if (operation.done) continue;
    operation.done = operation.issued = true;
    operation.status = Status::flushed;
    if (state_ == State::broken) {
      operation.status = Status::retry_exceeded;
      settle(State::error);
    }
  }
  next_ = end_;
  hand_on();
}

}  // namespace hawser::rdma
