// VerbsFunctions: the functions of libibverbs that this layer calls, as pointers. So nothing here needs the
// library when the program is loaded: a job that uses rails loads it (load_verbs_functions), and the
// simulator fills in the addresses of the API that is linked into it. Posting, polling and arming go through
// ibv_context::ops, as in <infiniband/verbs.h>.
#pragma once

#include <infiniband/verbs.h>

#include "base/result.h"

// Names without their prefix ibv_.
#define HAWSER_VERBS_FUNCTIONS(USE)                                                                        \
  USE(get_device_list)                                                                                     \
  USE(free_device_list)                                                                                    \
  USE(get_device_name)                                                                                     \
  USE(query_pkey)                                                                                          \
  USE(open_device)                                                                                         \
  USE(close_device)                                                                                        \
  USE(query_device) USE(query_port) USE(query_gid) USE(alloc_pd) USE(dealloc_pd) USE(reg_mr) USE(dereg_mr) \
      USE(create_comp_channel) USE(destroy_comp_channel) USE(create_cq) USE(destroy_cq) USE(get_cq_event)  \
          USE(ack_cq_events) USE(create_srq) USE(destroy_srq) USE(create_qp) USE(modify_qp) USE(query_qp)  \
              USE(destroy_qp) USE(create_ah) USE(destroy_ah) USE(attach_mcast) USE(detach_mcast)           \
                  USE(get_async_event) USE(ack_async_event)

namespace hawser::rdma {

struct VerbsFunctions {
#define HAWSER_VERBS_POINTER(name) decltype(&::ibv_##name) name = nullptr;
  HAWSER_VERBS_FUNCTIONS(HAWSER_VERBS_POINTER)
#undef HAWSER_VERBS_POINTER
  // Whether calls may wait for somebody else (a kernel's do), and other threads may make them. Not where the
  // adapter is in this process: what waits there stops the time.
  bool may_wait = false;
  // Null: a library of before 2020.
  decltype(&::_ibv_query_gid_ex) query_gid_ex = nullptr;
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
};

// From libibverbs.so.1, by the dynamic linker's usual search; it stays loaded. An error when there is none or
// it lacks a function.
Result<VerbsFunctions> load_verbs_functions();

}  // namespace hawser::rdma
