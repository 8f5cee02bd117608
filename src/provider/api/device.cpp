// The list of devices, opening and closing, asynchronous events.
#include <cstdio>
#include <cstring>

#include "provider/api/objects.h"

using namespace hawser::verbs;

namespace hawser::verbs {
namespace {

void release(ListedDevice* listed) {
  if (listed->users.fetch_sub(1) == 1) delete listed;
}

ListedDevice* list_device(const AdapterAttributes& facts, std::uint32_t index) {
  auto* const listed = new ListedDevice;
  ibv_device& device = listed->device;
  device.node_type = IBV_NODE_CA;
  device.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(device.name, sizeof device.name, "%s", facts.name);
  std::snprintf(device.dev_name, sizeof device.dev_name, "uverbs%u", index);
  std::snprintf(device.dev_path, sizeof device.dev_path, "/sys/class/infiniband_verbs/uverbs%u", index);
  std::snprintf(device.ibdev_path, sizeof device.ibdev_path, "/sys/class/infiniband/%s", facts.name);
  listed->facts = facts;
  listed->index = index;
  return listed;
}

// The object an event concerns, counted as handed out; false when it is gone by now.
template <class Map, class Take>
bool hand_out(OpenedDevice& opened, Map& map, std::uint32_t number, Take&& take) {
  const std::lock_guard guard(opened.lock);
  const auto entry = map.find(number);
  if (entry == map.end()) return false;
  take(*entry->second);
  ++entry->second->async_events;
  return true;
}

bool translate(OpenedDevice& opened, const AsyncRecord& record, ibv_async_event& event) {
  event = {};
  event.event_type = static_cast<ibv_event_type>(record.type);
  switch (record.kind) {
    case AsyncRecord::device:
      return true;
    case AsyncRecord::port:
      event.element.port_num = static_cast<int>(record.number);
      return true;
    case AsyncRecord::queue_pair:
      return hand_out(opened, opened.queue_pairs, record.number,
                      [&](QueuePairObject& object) { event.element.qp = &object.qp(); });
    case AsyncRecord::completion_queue:
      return hand_out(opened, opened.completion_queues, record.number,
                      [&](CompletionQueueObject& object) { event.element.cq = &object.cq(); });
    case AsyncRecord::shared_receive_queue:
      return hand_out(opened, opened.shared_receive_queues, record.number,
                      [&](SharedReceiveObject& object) { event.element.srq = &object.srq; });
  }
  return false;
}

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& count) {
  pthread_mutex_lock(&mutex);
  ++count;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}

}  // namespace

void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& acknowledged,
                               const std::uint32_t& handed_out) {
  pthread_mutex_lock(&mutex);
  while (acknowledged != handed_out) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

}  // namespace hawser::verbs

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  auto adapters = current_platform().adapters();
  if (!adapters) {
    current_platform().complain(adapters.error().text);
    return fail_with(ENOSYS);
  }
  const auto& found = adapters.value();
  auto** const list = new ibv_device*[found.size() + 1];
  for (std::size_t i = 0; i < found.size(); ++i)
    list[i] = &list_device(found[i], static_cast<std::uint32_t>(i))->device;
  list[found.size()] = nullptr;
  if (count != nullptr) *count = static_cast<int>(found.size());
  errno = 0;
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  for (ibv_device** each = list; *each != nullptr; ++each) release(reinterpret_cast<ListedDevice*>(*each));
  delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

__be64 ibv_get_device_guid(ibv_device* device) {
  return __builtin_bswap64(reinterpret_cast<ListedDevice*>(device)->facts.guid);
}

int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(reinterpret_cast<ListedDevice*>(device)->index);
}

ibv_context* ibv_open_device(ibv_device* device) {
  auto* const listed = reinterpret_cast<ListedDevice*>(device);
  auto link = current_platform().open(listed->index);
  if (!link) {
    if (link.error().kind != hawser::ErrorKind::io) current_platform().complain(link.error().text);
    return fail_with(EIO);
  }
  auto* const opened = new OpenedDevice;
  opened->link = std::move(link).value();
  opened->listed = listed;
  listed->users.fetch_add(1);
  fill_operations(*opened);
  ibv_context& context = opened->verbs.context;
  context.device = device;
  context.cmd_fd = -1;
  context.async_fd = opened->link->descriptor(0);
  context.num_comp_vectors = 1;
  pthread_mutex_init(&context.mutex, nullptr);
  return &context;
}

int ibv_close_device(ibv_context* context) {
  OpenedDevice& opened = OpenedDevice::of(context);
  pthread_mutex_destroy(&context->mutex);
  release(opened.listed);
  delete &opened;
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  OpenedDevice& opened = OpenedDevice::of(context);
  for (;;) {
    AsyncRecord record;
    const int error = opened.link->read_record(0, &record, sizeof record);
    if (error == EIO && !opened.told_fatal) {
      opened.told_fatal = true;
      record.type = IBV_EVENT_DEVICE_FATAL;
      record.kind = AsyncRecord::device;
    } else if (error != 0) {
      errno = error;
      return -1;
    }
    if (translate(opened, record, *event)) return 0;
  }
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq* const cq = event->element.cq;
      acknowledge(cq->mutex, cq->cond, cq->async_events_completed);
      return;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp* const qp = event->element.qp;
      acknowledge(qp->mutex, qp->cond, qp->events_completed);
      return;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq* const srq = event->element.srq;
      acknowledge(srq->mutex, srq->cond, srq->events_completed);
      return;
    }
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_WQ_FATAL:
      return;
  }
}

}  // extern "C"
