// The objects behind the pointers that programs hold. Each begins with the struct that libibverbs shows, so
// that one address is both; programs never make them by themselves.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "provider/link.h"

namespace hawser::verbs {

static_assert(offsetof(ibv_cq_ex, async_events_completed) == offsetof(ibv_cq, async_events_completed));

struct ListedDevice {
  ibv_device device{};
  // Libraries of vendors look behind a device for their driver's table, and must find that it is not theirs.
  char zeroes[512] = {};
  AdapterAttributes facts;
  std::uint32_t index = 0;
  std::atomic<int> users{1};  // the list, and every context
};

struct OpenedDevice;

struct DomainObject {
  ibv_pd pd{};
  DomainObject* parent_of = nullptr;  // a parent domain: the domain that it stands for
  struct ThreadDomainObject* thread = nullptr;
  std::atomic<std::uint32_t> users{0};  // parent domains
};

struct ThreadDomainObject {
  ibv_td td{};
  std::atomic<std::uint32_t> users{0};
};

struct XrcDomainObject {
  ibv_xrcd xrcd{};
  std::uint32_t number = 0;
};

struct CompletionQueueObject {
  ibv_cq_ex ex{};  // begins as an ibv_cq does
  OpenedDevice* opened = nullptr;
  SharedBytes memory;
  CompletionQueueShape shape;
  std::mutex lock;
  std::uint64_t consumed = 0;
  std::uint32_t idle_polls = 0;
  std::uint32_t completion_events = 0, async_events = 0;  // handed out; under the queue's mutex
  fabric::Completion current;                             // between start_poll and end_poll

  ibv_cq& cq() { return reinterpret_cast<ibv_cq&>(ex); }
  static CompletionQueueObject& of(ibv_cq* cq) { return *reinterpret_cast<CompletionQueueObject*>(cq); }
  static CompletionQueueObject& of(ibv_cq_ex* cq) { return *reinterpret_cast<CompletionQueueObject*>(cq); }

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

// A call that may take time, as one to a system does that waits for somebody else. An errno.
inline int patient_call(Link& link, const Request& request) {
  const Reply reply = link.call(request);
  if (reply.time > 0) link.linger(reply.time);
  return reply.error;
}

// Sets errno and answers null, as functions that make objects do.
inline std::nullptr_t fail_with(int error) {
  errno = error;
  return nullptr;
}

// Waits until all events of an object that were handed out are acknowledged.
void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& acknowledged,
                               const std::uint32_t& handed_out);

// The fields of a queue pair as the program sees them.
void describe_queue_pair(ibv_qp& qp, ibv_context* context, const ibv_qp_init_attr_ex& wanted,
                         std::uint32_t number);
void fill_operations(OpenedDevice& opened);
void fill_builder(QueuePairObject& object);
// A free slot of the send queue, offset `built` beyond what was shown; null when the queue is full.
std::byte* next_send_slot(QueuePairObject& object);
void show_sends(QueuePairObject& object, std::uint64_t count);
// Takes the next entry of a completion queue; false when there is none. Under its lock.
bool take_completion(CompletionQueueObject& object, fabric::Completion& completion);
// What a queue pair that is gone has left in a completion queue goes, too.
void purge_completions(ibv_cq* cq, std::uint32_t queue_pair);
ibv_cq* make_completion_queue(ibv_context* context, const ibv_cq_init_attr_ex& wanted);
void fill_poller(CompletionQueueObject& object, std::uint64_t wanted);
// The fields that a bind request has in every form.
void fill_bind(SendSlot& slot, const ibv_mw& window, std::uint32_t new_key, const ibv_mw_bind_info& info);
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
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* wanted);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* wanted);
int close_xrcd(ibv_xrcd* domain);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type);
int bind_window(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* wanted);
int free_window(ibv_mw* window);
ibv_td* allocate_thread_domain(ibv_context* context, ibv_td_init_attr* wanted);
int free_thread_domain(ibv_td* domain);
ibv_pd* allocate_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* wanted);

}  // namespace hawser::verbs
