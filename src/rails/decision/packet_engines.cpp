#include "rails/decision/packet_engines.h"

namespace hawser {
namespace {

// Shorter samples tell nothing, as in path_spread.cpp.
constexpr Nanoseconds least_time = 30 * microsecond;
constexpr std::int64_t least_sampled = 32768;
// When a sample ended must be known to this part of its time.
constexpr Nanoseconds sample_sharpness = 8;

// Messages of 1, 2 and 4 KiB are in the middle of a class, with their headers and a few acknowledgements.
std::size_t class_of(std::int64_t bytes) { return bytes < 1536 ? 0 : bytes < 3072 ? 1 : 2; }

}  // namespace

PacketEngines::PacketEngines(int engines, std::uint32_t restless, std::uint64_t seed)
    : restless_(restless),
      random_(seed),
      choices_{EngineChoice(engines, EngineChoice::Doubts::of_gain),
               EngineChoice(engines, EngineChoice::Doubts::of_gain),
               EngineChoice(engines, EngineChoice::Doubts::of_gain)} {}

int PacketEngines::wanted() const {
  int most = 1;
  for (const EngineChoice& choice : choices_) most = std::max(most, choice.wanted());
  return most;
}

void PacketEngines::on_open(int engines) {
  open_ = engines;
  if (follow(measuring())) drop();
}

void PacketEngines::on_refused() {
  for (EngineChoice& choice : choices_) choice.on_refused();
  if (follow(measuring())) drop();
}

bool PacketEngines::follow(bool under_way) {
  const EngineChoice& choice = choices_[class_];
  const int before = used_;
  used_ = choice.wanted() <= open_ ? choice.wanted() : std::min(choice.base(), open_);
  if (used_ == before) return false;
  mixed_ = under_way;
  return true;
}

void PacketEngines::on_chosen(int rail, bool alone) {
  run_->rails |= std::uint64_t{1} << (rail & 63);
  run_->alone = run_->alone && alone;
}

bool PacketEngines::tells(const Run& run, const Done& done) const {
  const Nanoseconds time = done.now - run.begin;
  return !mixed_ && run.alone && done.load.alone && done.ports > 0 && time >= least_time &&
         done.load.delivered - run.delivered >= least_sampled &&
         (done.now - done.not_before) * sample_sharpness <= time;
}

// Where an engine is too slow for small packets, it is for longer ones: these begin with as many.
void PacketEngines::enter(std::size_t found, PacketHints& hints) {
  if (found > class_ && !hints[found].sampled()) {
    hints[found].adopt(hints[class_].level());
    choices_[found].follow(hints[found]);
  }
  class_ = found;
}

bool PacketEngines::on_done(const Done& done, PacketHints& hints) {
  const bool more = done.load.under_way > 0;
  Run& now = *run_;
  if (now.packets == 1 && more) {
    now.begin = done.now;
    now.delivered = done.load.delivered;
    return false;
  }
  if (more && now.packets <= longest_run) return false;
  const Run run = now;
  run_.reset();
  if (more) run_ = Run{.rails = run.rails, .packets = 1, .begin = done.now, .delivered = done.load.delivered};
  const int wanted_before = wanted();
  if (restless_ != 0 && random_.below(restless_) == 0)
    choices_[class_].wander(random_.below(engine_levels * 8));
  if (run.packets > 1 && tells(run, done)) {
    const std::int64_t bytes = done.load.delivered - run.delivered;
    const std::size_t found = class_of(bytes / (run.packets - 1));
    const double seconds = static_cast<double>(done.now - run.begin) / static_cast<double>(second);
    const double rate = std::min(1.0, static_cast<double>(bytes) / done.ports / seconds);
    if (found == class_) choices_[class_].on_sample(used_, rate, hints[class_]);
    enter(found, hints);
  }
  mixed_ = false;
  return follow(more) || wanted() != wanted_before;
}

}  // namespace hawser
