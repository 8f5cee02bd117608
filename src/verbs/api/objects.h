// The objects behind the pointers that programs hold. Each begins with the struct that libibverbs shows, so
// that one address is both; programs never make them by themselves.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "verbs/link.h"

namespace hawser::verbs {

struct ListedDevice {
  ibv_device device{};
  // Libraries of vendors look behind a device for their driver's table, and must find that it is not theirs.
  char zeroes[512] = {};
  AdapterFacts facts;
  std::uint32_t index = 0;
  std::atomic<int> users{1};  // the list, and every context
};

struct OpenedDevice;

struct CompletionQueueObject {
  ibv_cq cq{};
  OpenedDevice* opened = nullptr;
  SharedBytes memory;
  RingShape shape;
  std::mutex lock;
  std::uint64_t consumed = 0;
  std::uint32_t idle_polls = 0;
  std::uint32_t completion_events = 0, async_events = 0;  // handed out; under cq.mutex

  CompletionQueueHeader& header() { return *reinterpret_cast<CompletionQueueHeader*>(memory.bytes.get()); }
};

struct SharedReceiveObject {
  ibv_srq srq{};
  OpenedDevice* opened = nullptr;
  SharedBytes memory;
  RingShape shape;
  std::mutex lock;
  std::uint32_t capacity = 0, most_segments = 0;
  std::uint64_t produced = 0;
  std::uint32_t async_events = 0;
};

struct QueuePairObject {
  ibv_qp_ex ex{};
  OpenedDevice* opened = nullptr;
  SharedBytes memory;
  QueuePairShape shape;
  fabric::QpCapabilities capabilities;
  std::mutex send_lock, receive_lock;
  std::uint64_t sends = 0, receives = 0;  // produced
  // Between wr_start and wr_complete:
  std::uint64_t built = 0;  // slots filled, not yet shown
  int build_error = 0;
  bool signal_all = false;
  std::uint32_t async_events = 0;

  ibv_qp& qp() { return ex.qp_base; }
  QueuePairHeader& header() { return *reinterpret_cast<QueuePairHeader*>(memory.bytes.get()); }
  static QueuePairObject& of(ibv_qp* qp) { return *reinterpret_cast<QueuePairObject*>(qp); }
  static QueuePairObject& of(ibv_qp_ex* qp) { return *reinterpret_cast<QueuePairObject*>(qp); }
};

struct ChannelObject {
  ibv_comp_channel channel{};
  OpenedDevice* opened = nullptr;
  std::uint32_t number = 0;
};

struct AddressObject {
  ibv_ah ah{};
  fabric::AddressVector path;
};

struct OpenedDevice {
  verbs_context verbs{};
  std::unique_ptr<Link> link;
  ListedDevice* listed = nullptr;
  // Objects by number, to find them in events.
  std::mutex lock;
  std::map<std::uint32_t, QueuePairObject*> queue_pairs;
  std::map<std::uint32_t, CompletionQueueObject*> completion_queues;
  std::map<std::uint32_t, SharedReceiveObject*> shared_receive_queues;
  bool told_fatal = false;

  static OpenedDevice& of(ibv_context* context) {
    auto* const verbs =
        reinterpret_cast<verbs_context*>(reinterpret_cast<char*>(context) - offsetof(verbs_context, context));
    return *reinterpret_cast<OpenedDevice*>(verbs);
  }
};

// Sets errno and answers null, as functions that make objects do.
inline std::nullptr_t fail_with(int error) {
  errno = error;
  return nullptr;
}

// Waits until all events of an object that were handed out are acknowledged.
void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& acknowledged,
                               const std::uint32_t& handed_out);

void fill_operations(OpenedDevice& opened);
void fill_builder(QueuePairObject& object);
// A free slot of the send queue, offset `built` beyond what was shown; null when the queue is full.
std::byte* next_send_slot(QueuePairObject& object);
void show_sends(QueuePairObject& object, std::uint64_t count);
fabric::AddressVector to_address(const ibv_ah_attr& attributes);
ibv_ah_attr from_address(const fabric::AddressVector& path);

// The operations that programs call through tables.
int poll_cq(ibv_cq* cq, int most, ibv_wc* out);
int request_notification(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int post_shared_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* out, std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* out,
                    std::size_t size);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted);
int get_srq_number(ibv_srq* srq, std::uint32_t* number);

}  // namespace hawser::verbs
