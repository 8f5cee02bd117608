// Protection domains, memory regions, address handles, multicast.
#include <cstring>

#include "provider/api/objects.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace hawser::verbs;

namespace hawser::verbs {
namespace {

// Flags that change nothing here: relaxed ordering, on-demand paging (memory is never pinned), huge pages.
constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
constexpr unsigned harmless_access = IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_ZERO_BASED;

ibv_mr* register_region(ibv_pd* pd, void* address, std::size_t length, std::uint64_t virtual_address,
                        unsigned access) {
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((access & ~(known_access | harmless_access)) != 0) return fail_with(EOPNOTSUPP);
  Request request;
  request.call = Call::register_memory;
  request.domain = pd->handle;
  request.address = reinterpret_cast<std::uint64_t>(address);
  request.length = length;
  request.virtual_address = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : virtual_address;
  request.access = access & known_access;
  const Reply reply = OpenedDevice::of(pd->context).link->call(request);
  if (reply.error != 0) return fail_with(reply.error);
  return new ibv_mr{pd->context, pd, address, length, reply.object, reply.object, reply.object};
}

int change_membership(ibv_qp* qp, Call call, const union ibv_gid* gid, std::uint16_t lid) {
  Request request;
  request.call = call;
  request.object = qp->qp_num;
  std::memcpy(request.gid.data(), gid->raw, request.gid.size());
  request.lid = lid;
  return OpenedDevice::of(qp->context).link->call(request).error;
}

}  // namespace

fabric::AddressVector to_address(const ibv_ah_attr& attributes) {
  fabric::AddressVector path;
  path.is_global = attributes.is_global != 0;
  if (path.is_global) {
    std::memcpy(path.destination_gid.data(), attributes.grh.dgid.raw, path.destination_gid.size());
    path.flow_label = attributes.grh.flow_label;
    path.source_gid_index = attributes.grh.sgid_index;
    path.hop_limit = attributes.grh.hop_limit;
    path.traffic_class = attributes.grh.traffic_class;
  }
  path.destination_lid = attributes.dlid;
  path.service_level = attributes.sl;
  path.source_path_bits = attributes.src_path_bits;
  path.static_rate = attributes.static_rate;
  path.port = attributes.port_num;
  return path;
}

ibv_ah_attr from_address(const fabric::AddressVector& path) {
  ibv_ah_attr attributes{};
  attributes.is_global = path.is_global;
  std::memcpy(attributes.grh.dgid.raw, path.destination_gid.data(), path.destination_gid.size());
  attributes.grh.flow_label = path.flow_label;
  attributes.grh.sgid_index = path.source_gid_index;
  attributes.grh.hop_limit = path.hop_limit;
  attributes.grh.traffic_class = path.traffic_class;
  attributes.dlid = path.destination_lid;
  attributes.sl = path.service_level;
  attributes.src_path_bits = path.source_path_bits;
  attributes.static_rate = path.static_rate;
  attributes.port_num = path.port;
  return attributes;
}

// Calls here lock what they need by themselves, so a thread domain has nothing to choose.
ibv_td* allocate_thread_domain(ibv_context* context, ibv_td_init_attr* wanted) {
  if (wanted->comp_mask != 0) return fail_with(EINVAL);
  return &(new ThreadDomainObject{{context}})->td;
}

int free_thread_domain(ibv_td* domain) {
  auto* const object = reinterpret_cast<ThreadDomainObject*>(domain);
  if (object->users != 0) return EBUSY;
  delete object;
  return 0;
}

// A second name of a protection domain. Allocators are for memory that a driver shares with its device; rings
// here are the link's, so none of a program's is asked for.
ibv_pd* allocate_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* wanted) {
  constexpr std::uint32_t known =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (wanted->pd == nullptr || (wanted->comp_mask & ~known) != 0) return fail_with(EINVAL);
  auto* const domain = reinterpret_cast<DomainObject*>(wanted->pd);
  auto* const thread = reinterpret_cast<ThreadDomainObject*>(wanted->td);
  ++domain->users;
  if (thread != nullptr) ++thread->users;
  return &(new DomainObject{{context, domain->pd.handle}, domain, thread})->pd;
}

}  // namespace hawser::verbs

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  Request request;
  request.call = Call::create_domain;
  const Reply reply = OpenedDevice::of(context).link->call(request);
  if (reply.error != 0) return fail_with(reply.error);
  return &(new DomainObject{{context, reply.object}})->pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  auto* const object = reinterpret_cast<DomainObject*>(pd);
  if (object->users != 0) return EBUSY;
  int error = 0;
  if (object->parent_of != nullptr) {
    --object->parent_of->users;
    if (object->thread != nullptr) --object->thread->users;
  } else {
    Request request;
    request.call = Call::destroy_domain;
    request.object = pd->handle;
    error = OpenedDevice::of(pd->context).link->call(request).error;
  }
  if (error == 0) delete object;
  return error;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return register_region(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                         static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, int access) {
  return register_region(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned int access) {
  return register_region(pd, address, length, iova, access);
}

int ibv_rereg_mr(ibv_mr* region, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  constexpr int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const auto wanted = static_cast<unsigned>(access) & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if (flags == 0 || (flags & ~known) != 0 || (moves && (address == nullptr || length == 0)) ||
      ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 && (wanted & ~(known_access | harmless_access)) != 0)) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  Request request;
  request.call = Call::change_memory;
  request.object = region->lkey;
  request.mask = static_cast<std::uint32_t>(flags);
  if (pd != nullptr) request.domain = pd->handle;
  request.address = request.virtual_address = reinterpret_cast<std::uint64_t>(address);
  request.length = length;
  request.access = wanted & known_access;
  const Reply reply = OpenedDevice::of(region->context).link->call(request);
  if (reply.error != 0) {  // nothing has changed
    errno = reply.error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) region->pd = pd;
  if (moves) {
    region->addr = address;
    region->length = length;
  }
  return 0;
}

int ibv_dereg_mr(ibv_mr* region) {
  Request request;
  request.call = Call::deregister_memory;
  request.object = region->lkey;
  const int error = OpenedDevice::of(region->context).link->call(request).error;
  if (error == 0) delete region;
  return error;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  const std::uint32_t ports = OpenedDevice::of(pd->context).listed->facts.ports;
  if (attributes->port_num < 1 || attributes->port_num > ports) return fail_with(EINVAL);
  Request request;
  request.call = Call::resolve_address;
  request.attributes.path = to_address(*attributes);
  if (request.attributes.path.is_global)
    if (const int error = patient_call(*OpenedDevice::of(pd->context).link, request); error != 0)
      return fail_with(error);
  auto* const object = new AddressObject{{pd->context, pd, 0}, request.attributes.path};
  return &object->ah;
}

int ibv_destroy_ah(ibv_ah* ah) {
  delete reinterpret_cast<AddressObject*>(ah);
  return 0;
}

// The way back to the sender of a datagram.
int ibv_init_ah_from_wc(ibv_context*, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* out) {
  *out = {};
  out->dlid = wc->slid;
  out->sl = wc->sl;
  out->src_path_bits = wc->dlid_path_bits;
  out->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) != 0) {
    out->is_global = 1;
    out->grh.dgid = grh->sgid;
    out->grh.hop_limit = 0xff;
    const std::uint32_t word = __builtin_bswap32(grh->version_tclass_flow);
    out->grh.flow_label = word & 0xfffff;
    out->grh.traffic_class = static_cast<std::uint8_t>(word >> 20);
  }
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes);
  return ibv_create_ah(pd, &attributes);
}

int ibv_attach_mcast(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid) {
  return change_membership(qp, Call::attach_multicast, gid, lid);
}

int ibv_detach_mcast(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid) {
  return change_membership(qp, Call::detach_multicast, gid, lid);
}

}  // extern "C"
