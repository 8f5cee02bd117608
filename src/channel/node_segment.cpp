#include "channel/node_segment.h"

#include <charconv>
#include <string>

#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::string_view segment_key = "hawser-segment";
constexpr std::string_view outcome_key = "hawser-segment-open";

// "pid fd identity name-of-passer"
struct Offer {
  pid_t pid = 0;
  int fd = -1;
  std::string identity;
  std::string passer;

  std::string text() const { return fmt::format("{} {} {} {}", pid, fd, identity, passer); }
  static std::optional<Offer> parse(std::string_view text) {
    std::string_view fields[4];
    for (std::string_view& field : fields) {
      const std::size_t space = std::min(text.find(' '), text.size());
      field = text.substr(0, space);
      text.remove_prefix(std::min(space + 1, text.size()));
    }
    Offer offer;
    const auto number = [](std::string_view field, auto& value) {
      return std::from_chars(field.data(), field.data() + field.size(), value).ec == std::errc{};
    };
    if (!number(fields[0], offer.pid) || !number(fields[1], offer.fd)) return std::nullopt;
    offer.identity = fields[2];
    offer.passer = fields[3];
    return offer;
  }
};

}  // namespace

NodeSegment::NodeSegment(const JobPlace& place) : place_(place) {
  const std::int32_t node = place.node_of_rank[static_cast<std::size_t>(place.rank)];
  for (ProcessIndex rank = 0; rank < place.size; ++rank) {
    if (rank == place.rank) self_ = static_cast<std::int32_t>(processes_.size());
    if (place.node_of_rank[static_cast<std::size_t>(rank)] == node) processes_.push_back(rank);
  }
}

Result<> NodeSegment::offer(AddressExchange& exchange) {
  if (self_ != 0 || processes_.size() == 1) return {};
  auto made = make_memory_file("hawser-node");
  if (!made) return made.take_error();
  made_ = std::move(made).value();
  auto passer = DescriptorPasser::listen();
  if (!passer) return passer.take_error();
  passer_ = std::move(passer).value();
  const Offer offer{own_pid(), made_.get(), file_identity(made_.get()), passer_->name()};
  return exchange.put(segment_key, offer.text());
}

Result<FileDescriptor> NodeSegment::open_offered(AddressExchange& exchange, bool by_proc) {
  auto text = exchange.get(processes_.front(), segment_key);
  if (!text) return text.take_error();
  const auto offer = Offer::parse(text.value());
  if (!offer) return failure(ErrorKind::other, "the launcher returned a garbled offer of the node's segment");
  // The process number may mean somebody else in another container, hence the identity.
  auto opened = open_descriptor_of(offer->pid, offer->fd);
  const bool same = by_proc && opened && file_identity(opened.value().get()) == offer->identity;
  HAWSER_TRY(exchange.put(outcome_key, same ? "opened" : "pass"));
  HAWSER_TRY(exchange.fence());
  if (same) return std::move(opened).value();
  return DescriptorPasser::take(offer->passer);
}

Result<SharedSegment> NodeSegment::open(AddressExchange& exchange, const Knobs& knobs) {
  const auto layout = SegmentLayout::plan(static_cast<std::int32_t>(processes_.size()), knobs);
  if (place_.node_segment_fd >= 0) return SharedSegment::map(place_.node_segment_fd, layout);
  if (self_ != 0) {
    auto fd = open_offered(exchange, knobs.shm_open_by_proc);
    if (!fd) return fd.take_error();
    return SharedSegment::map(fd.value().get(), layout);
  }
  HAWSER_TRY(exchange.fence());
  int takers = 0;
  for (const ProcessIndex rank : processes_) {
    if (rank == place_.rank) continue;
    auto outcome = exchange.get(rank, outcome_key);
    if (!outcome) return outcome.take_error();
    takers += outcome.value() == "pass" ? 1 : 0;
  }
  HAWSER_TRY(passer_->give(made_.get(), takers));
  return SharedSegment::map(made_.get(), layout);
}

}  // namespace hawser
