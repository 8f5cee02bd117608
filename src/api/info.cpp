// Info objects (MPI-5.0 chapter 10).
#include "communicator/info.h"

#include <algorithm>

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<> check(const Info* info) {
  if (info == nullptr) return failure(ErrorClass::info, "the info object is MPI_INFO_NULL");
  return {};
}

}  // namespace

Result<> info_create(MpiProcess&, Ref<Info>& info) {
  info = make_counted<Info>();
  return {};
}

Result<> info_create_env(MpiProcess& process, int, char**, Ref<Info>& info) {
  info = process.program_info().duplicate();
  return {};
}

Result<> info_delete(MpiProcess&, Info* info, std::string_view key) {
  HAWSER_TRY(check(info));
  return info->remove(key);
}

Result<> info_dup(MpiProcess&, Info* info, Ref<Info>& newinfo) {
  HAWSER_TRY(check(info));
  newinfo = info->duplicate();
  return {};
}

Result<> info_free(MpiProcess& process, Info& info) {
  if (process.handles().infos.predefined(info))
    return failure(ErrorClass::info, "a predefined info object may not be freed");
  return {};
}

Result<> info_get(MpiProcess&, Info* info, std::string_view key, int valuelen, std::string& value,
                  bool& flag) {
  HAWSER_TRY(check(info));
  if (valuelen < 0) return failure(ErrorClass::arg, "valuelen is {}, which is negative", valuelen);
  const std::string* found = info->find(key);
  flag = found != nullptr;
  if (flag) value = found->substr(0, static_cast<std::size_t>(valuelen));
  return {};
}

Result<> info_get_nkeys(MpiProcess&, Info* info, int& nkeys) {
  HAWSER_TRY(check(info));
  nkeys = info->size();
  return {};
}

Result<> info_get_nthkey(MpiProcess&, Info* info, int n, std::string& key) {
  HAWSER_TRY(check(info));
  auto found = info->key_at(n);
  if (!found) return found.take_error();
  key = found.value();
  return {};
}

// `buflen` is the room for the value and its terminator on entry, and what it needs on return.
Result<> info_get_string(MpiProcess&, Info* info, std::string_view key, int& buflen, std::string& value,
                         bool& flag) {
  HAWSER_TRY(check(info));
  const std::string* found = info->find(key);
  flag = found != nullptr;
  if (!flag) return {};
  if (buflen > 0) value = found->substr(0, static_cast<std::size_t>(buflen - 1));
  buflen = static_cast<int>(found->size()) + 1;
  return {};
}

Result<> info_get_valuelen(MpiProcess&, Info* info, std::string_view key, int& valuelen, bool& flag) {
  HAWSER_TRY(check(info));
  const std::string* found = info->find(key);
  flag = found != nullptr;
  if (flag) valuelen = static_cast<int>(found->size());
  return {};
}

Result<> info_set(MpiProcess&, Info* info, std::string_view key, std::string_view value) {
  HAWSER_TRY(check(info));
  return info->set(key, value);
}

}  // namespace hawser::mpi
