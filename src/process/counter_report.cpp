#include "process/counter_report.h"

#include <fmt/format.h>

#include "process/message_lanes.h"
#include "process/mpi_process.h"
#include "process/progress_choice.h"

namespace hawser {

CollectiveCounters MpiProcess::collective_counters() {
  const auto& ways = collectives_.way_counters();
  CollectiveCounters counters{
      .ways_measured = ways.measured, .ways_by_messages = ways.by_messages, .ways_otherwise = ways.otherwise};
  if (const MulticastEngine* const engine = collectives_.multicast()) {
    const MulticastCounters& multicast = engine->counters();
    counters.multicast_broadcasts = multicast.by_multicast;
    counters.multicast_by_trees = multicast.by_trees;
    counters.multicast_packets_repaired = multicast.repairs;
    counters.multicast_waits = multicast.waits;
    counters.multicast_suspensions = multicast.suspensions;
  }
  return counters;
}

std::vector<std::string> counter_report(MpiProcess& process) {
  const MatchingCounters matching = process.matching_counters();
  std::vector<std::string> lines = {fmt::format(
      "messages unexpected_total={} unexpected_most={} unexpected_bytes_most={} time_to_join_us={}",
      matching.unexpected_total, matching.most_unexpected, matching.most_unexpected_bytes,
      process.time_to_join() / microsecond)};
  if (const MessageLanes* lanes = process.lanes())
    lines.push_back(fmt::format("thread_lanes {}", lanes->count()));
  lines.push_back("progress " + describe_progress(process.knobs().progress,
                                                  process.environment().progress_place,
                                                  process.moves_while_computing()));
  const OneSidedCounters& one_sided = process.one_sided_counters();
  if (one_sided.puts + one_sided.gets + one_sided.accumulates + one_sided.fetches > 0)
    lines.push_back(
        fmt::format("one-sided puts={} gets={} accumulates={} fetches={} bytes_written={} bytes_read={}",
                    one_sided.puts, one_sided.gets, one_sided.accumulates, one_sided.fetches,
                    one_sided.bytes_written, one_sided.bytes_read));
  if (const AlgorithmChoice& choice = process.collectives().choice(); choice.has_table())
    lines.push_back(fmt::format("collective_table {} chosen_by_it={} of {}", process.knobs().collective_table,
                                choice.counters().by_table, choice.counters().asked));
  if (const auto& ways = process.collectives().way_counters(); ways.measured > 0)
    lines.push_back(fmt::format("collective_ways measured={} by_messages={} otherwise_than_by_area={}",
                                ways.measured, ways.by_messages, ways.otherwise));
  if (const MulticastEngine* multicast = process.collectives().multicast()) {
    const MulticastCounters& counters = multicast->counters();
    if (counters.by_multicast + counters.by_trees + counters.waits + counters.attachments > 0)
      lines.push_back(fmt::format(
          "multicast broadcasts={} by_trees={} packets_repaired={} waits={} suspensions={} listened={} "
          "attachments={} detachments={}",
          counters.by_multicast, counters.by_trees, counters.repairs, counters.waits, counters.suspensions,
          counters.listened, counters.attachments, counters.detachments));
  }
  for (const Transport* channel : process.environment().channels->channels()) {
    std::string line;
    for (const ChannelCounter& counter : channel->list_counters())
      if (counter.value != 0) line += fmt::format(" {}={}", counter.name, counter.value);
    lines.push_back(channel->name() + (line.empty() ? " nothing" : line));
  }
  return lines;
}

}  // namespace hawser
