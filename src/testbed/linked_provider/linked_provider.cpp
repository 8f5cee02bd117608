#include "testbed/linked_provider/linked_provider.h"

namespace hawser {

rdma::VerbsFunctions linked_provider_functions() {
  rdma::VerbsFunctions functions;
#define HAWSER_VERBS_ADDRESS(name) functions.name = &::ibv_##name;
  HAWSER_VERBS_FUNCTIONS(HAWSER_VERBS_ADDRESS)
#undef HAWSER_VERBS_ADDRESS
  functions.query_gid_ex = &::_ibv_query_gid_ex;
  functions.query_gid_table = &::_ibv_query_gid_table;
  return functions;
}

}  // namespace hawser
