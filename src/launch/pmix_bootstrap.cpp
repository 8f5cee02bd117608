#include "launch/pmix_bootstrap.h"

#include <algorithm>
#include <charconv>

#include "base/failure.h"
#include "launch/pmix_library.h"
#include "launch/process_mapping.h"

namespace hawser {

namespace {
constexpr std::string_view node_key = "hawser-node";
}

int lowest_peer(std::string_view peers, int rank) {
  int lowest = -1;
  bool found = false;
  while (!peers.empty()) {
    int peer = 0;
    const auto [rest, error] = std::from_chars(peers.data(), peers.data() + peers.size(), peer);
    if (error != std::errc{}) return -1;
    lowest = lowest < 0 ? peer : std::min(lowest, peer);
    found = found || peer == rank;
    peers.remove_prefix(static_cast<std::size_t>(rest - peers.data()));
    if (peers.starts_with(',')) peers.remove_prefix(1);
  }
  return found ? lowest : -1;
}

PmixBootstrap::PmixBootstrap(std::unique_ptr<PmixLibrary> library) : library_(std::move(library)) {}
PmixBootstrap::~PmixBootstrap() = default;

Result<std::unique_ptr<Bootstrap>> PmixBootstrap::connect() {
  auto library = PmixLibrary::load();
  if (!library) return library.take_error();
  std::unique_ptr<PmixBootstrap> bootstrap(new PmixBootstrap(std::move(library).value()));
  const pmix_status_t status = bootstrap->library_->initialize();
  if (status == PMIX_ERR_UNREACH) return std::unique_ptr<Bootstrap>();
  if (status != PMIX_SUCCESS)
    return failure(ErrorKind::other, "PMIx_Init: {}", bootstrap->library_->describe(status));
  HAWSER_TRY(bootstrap->read_layout());
  HAWSER_TRY(bootstrap->exchange_nodes());
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

Result<> PmixBootstrap::read_layout() {
  const pmix_proc_t& self = library_->self();
  layout_.rank = static_cast<int>(self.rank);
  layout_.job_id = self.nspace;
  const auto size = library_->get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (!size || *size <= layout_.rank || *size > INT32_MAX)
    return failure(ErrorKind::other, "the PMIx server does not say how many ranks the job has");
  layout_.size = static_cast<int>(*size);
  // Open MPI counts slots here, of which an oversubscribed job has fewer than ranks.
  const auto universe = library_->get_number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE);
  if (universe && *universe <= INT32_MAX)
    layout_.universe_size = std::max(static_cast<int>(*universe), layout_.size);
  layout_.app_number = static_cast<int>(library_->get_number(self.rank, PMIX_APPNUM).value_or(-1));
  return {};
}

// A server lists the peers of the asking process's node only, so each process tells all others the lowest
// rank on its node, which serves as the node's name. Asking the servers for everybody's node number would
// save the fence, but which of them know it differs, even between the processes of one job.
Result<> PmixBootstrap::exchange_nodes() {
  const std::string peers = library_->get_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS).value_or("");
  const int lowest = lowest_peer(peers, layout_.rank);
  const int node = lowest < 0 ? layout_.rank : lowest;  // nothing known: nothing shared
  if (layout_.size == 1) {
    layout_.node_of_rank = {0};
    return {};
  }
  HAWSER_TRY(put(node_key, fmt::format("{}", node)));
  HAWSER_TRY(fence());
  for (int rank = 0; rank < layout_.size; ++rank) {
    const Result<std::string> text = get(rank, node_key);
    if (!text) return Error(text.error());
    std::int32_t value = -1;
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), value);
    if (value < 0 || value >= layout_.size)
      return failure(ErrorKind::other, "rank {} says it is on node '{}'", rank, text.value());
    layout_.node_of_rank.push_back(value);
  }
  renumber_nodes(layout_.node_of_rank);
  return {};
}

Result<> PmixBootstrap::put(std::string_view key, std::string_view value) {
  uncommitted_ = true;
  return library_->put_bytes(std::string(key), value);
}

Result<> PmixBootstrap::fence() {
  if (uncommitted_) HAWSER_TRY(library_->commit());
  uncommitted_ = false;
  return library_->fence(true);
}

Result<std::string> PmixBootstrap::get(int rank, std::string_view key) {
  if (rank < 0 || rank >= layout_.size) return failure(ErrorKind::other, "there is no rank {}", rank);
  return library_->get_bytes(static_cast<std::uint32_t>(rank), std::string(key));
}

void PmixBootstrap::abort(int exit_code, std::string_view reason) {
  library_->abort(exit_code, std::string(reason));
}

// With a fence before, so that no process's end looks to the launcher like a death in the middle of the job.
Result<> PmixBootstrap::finalize() {
  HAWSER_TRY(library_->fence(false));
  return library_->finalize();
}

}  // namespace hawser
