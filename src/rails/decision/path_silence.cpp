#include "rails/decision/path_silence.h"

#include "base/planted_bug.h"

namespace hawser {

// Others may send much to the same place all at once: 256 KiB may stand ahead. How long tiny packets took
// says nothing of that.
Nanoseconds PathSilence::limit(const SilenceSettings& settings, const PathActivity& path) {
  constexpr float ahead = 256 * 1024;
  if (settings.silence == 0 || (path.rate == 0 && path.bytes >= 1024)) return 0;
  const Nanoseconds queue = path.rate == 0 ? 0 : static_cast<Nanoseconds>(std::min(ahead / path.rate, 1e10f));
  return std::max(settings.silence, queue);
}

bool PathSilence::wants_packet(const SilenceSettings& settings, const PathActivity& path, Nanoseconds asked) {
  if (settings.silence == 0) return false;
  const Nanoseconds first =
      path.slowest < 0 ? settings.silence : std::max(settings.silence / 4, 4 * path.slowest);
  return path.age() >= (asked <= path.since ? first : 2 * (asked - path.since));
}

// An adapter that still tries may have an alternate route to take.
bool PathSilence::timed_out(const SilenceSettings& settings, const PathActivity& path) {
  return path.age() > std::max({settings.watchdog << 2 * path.false_alarms, 2 * settings.adapter_patience,
                                path.predicted});
}

bool PathSilence::worth_comparing(const SilenceSettings& settings, const PathActivity& path) {
  const Nanoseconds longest = limit(settings, path);
  return longest != 0 && path.age() >= longest / 2 && path.slowest >= 0 &&
         path.slowest < settings.silence / 3 && path.age() >= 2 * path.expected;
}

PathSilence::Outcome PathSilence::decide(const SilenceSettings& settings, const PathActivity& path,
                                         bool others_through) {
  if (!others_through || others_through_ < path.since) others_through_ = others_through ? path.now : -1;
  if (path.age() < limit(settings, path) || (!others_through && !path.alone)) return Outcome::wait;
  if (planted(PlantedBug::ignore_silence)) return Outcome::wait;
  return others_through ? Outcome::leave_or_fail : Outcome::leave;
}

bool PathSilence::found_late(const SilenceSettings& settings, const PathActivity& path) const {
  constexpr Nanoseconds wanted = 100 * millisecond;
  return path.age() > wanted && path.slowest >= 0 && path.slowest < quick_request &&
         path.expected < quick_request && limit(settings, path) == settings.silence && others_through_ >= 0 &&
         path.now - others_through_ > wanted / 2;
}

}  // namespace hawser
