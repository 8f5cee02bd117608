#include "mpi_t/performance_variables.h"

#include <cstring>
#include <iterator>

#include "communicator/communicator.h"
#include "mpi_t/tool_source.h"
#include "rails/status/status_table.h"

namespace hawser {

namespace {

template <auto member>
std::uint64_t matching(ToolSource& process, const Communicator*) {
  return static_cast<std::uint64_t>(process.matching_counters().*member);
}

template <auto member>
std::uint64_t one_sided(ToolSource& process, const Communicator*) {
  return process.one_sided_counters().*member;
}

template <auto member>
std::uint64_t collective(ToolSource& process, const Communicator*) {
  return process.collective_counters().*member;
}

std::uint64_t pending_requests(ToolSource& process, const Communicator*) {
  return process.pending_requests();
}

std::uint64_t posted_in(ToolSource& process, const Communicator* communicator) {
  return process.messages_of(*communicator).queued_in(communicator->context()).posted;
}
std::uint64_t unexpected_in(ToolSource& process, const Communicator* communicator) {
  return process.messages_of(*communicator).queued_in(communicator->context()).unexpected;
}

std::uint64_t moves_while_computing(ToolSource& process, const Communicator*) {
  return process.moves_while_computing() ? 1 : 0;
}

double time_to_join(ToolSource& process) { return static_cast<double>(process.time_to_join()) * 1e-9; }

PerformanceVariable of_messages(const char* name, const char* description, int variable_class,
                                std::uint64_t (*number)(ToolSource&, const Communicator*)) {
  PerformanceVariable variable;
  variable.name = name;
  variable.description = description;
  variable.variable_class = variable_class;
  variable.number = number;
  return variable;
}

PerformanceVariable of_communicator(const char* name, const char* description,
                                    std::uint64_t (*number)(ToolSource&, const Communicator*)) {
  PerformanceVariable variable = of_messages(name, description, tool_class::level, number);
  variable.bind = tool_bind::communicator;
  variable.verbosity = tool_verbosity::tuner_detail;
  return variable;
}

void add_collective(std::vector<PerformanceVariable>& all) {
  using Counters = CollectiveCounters;
  using tool_class::counter;
  const PerformanceVariable added[] = {
      of_messages("collective_multicast_broadcasts",
                  "Broadcasts of which this process was the root and that went by multicast.", counter,
                  collective<&Counters::multicast_broadcasts>),
      of_messages("collective_multicast_by_trees",
                  "Broadcasts of this process that went by trees while multicast was left alone.", counter,
                  collective<&Counters::multicast_by_trees>),
      of_messages("collective_multicast_packets_repaired", "Packets of a multicast that were sent again.",
                  counter, collective<&Counters::multicast_packets_repaired>),
      of_messages("collective_multicast_waits", "Times that this process told a root that nothing comes.",
                  counter, collective<&Counters::multicast_waits>),
      of_messages("collective_multicast_suspensions", "Times that multicast was left alone for a while.",
                  counter, collective<&Counters::multicast_suspensions>),
      of_messages("collective_ways_measured",
                  "Large collective operations within a node that were done to measure a way.", counter,
                  collective<&Counters::ways_measured>),
      of_messages("collective_ways_by_messages", "Large collective operations within a node by messages.",
                  counter, collective<&Counters::ways_by_messages>),
      of_messages("collective_ways_otherwise",
                  "Large collective operations within a node otherwise than through shared memory.", counter,
                  collective<&Counters::ways_otherwise>)};
  all.insert(all.end(), std::begin(added), std::end(added));
}

}  // namespace

std::vector<PerformanceVariable> performance_variables() {
  using namespace tool_class;
  using Counters = MatchingCounters;
  using OneSided = OneSidedCounters;
  std::vector<PerformanceVariable> all = {
      of_messages("message_receives_posted", "Receives that wait for their message.", level,
                  matching<&Counters::posted>),
      of_messages("message_unexpected", "Messages that wait for their receive.", level,
                  matching<&Counters::unexpected>),
      of_messages("message_unexpected_total", "Messages that came before their receive.", counter,
                  matching<&Counters::unexpected_total>),
      of_messages("message_unexpected_most", "Most messages that ever waited for their receive.",
                  high_water_mark, matching<&Counters::most_unexpected>),
      of_messages("message_unexpected_bytes", "Memory of messages that wait for their receive, in bytes.",
                  level, matching<&Counters::unexpected_bytes>),
      of_messages("message_unexpected_bytes_most", "Most memory that waiting messages ever needed, in bytes.",
                  high_water_mark, matching<&Counters::most_unexpected_bytes>),
      of_messages("message_requests_pending", "Sends and receives that are under way.", level,
                  pending_requests),
      of_messages("one_sided_puts", "Calls of MPI_Put and MPI_Rput.", counter, one_sided<&OneSided::puts>),
      of_messages("one_sided_gets", "Calls of MPI_Get and MPI_Rget.", counter, one_sided<&OneSided::gets>),
      of_messages("one_sided_accumulates", "Calls of MPI_Accumulate and MPI_Raccumulate.", counter,
                  one_sided<&OneSided::accumulates>),
      of_messages("one_sided_fetches", "Calls of MPI_Get_accumulate, MPI_Fetch_and_op and their like.",
                  counter, one_sided<&OneSided::fetches>),
      of_messages("one_sided_bytes_written", "Bytes that one-sided operations brought to targets.", counter,
                  one_sided<&OneSided::bytes_written>),
      of_messages("one_sided_bytes_read", "Bytes that one-sided operations got from targets.", counter,
                  one_sided<&OneSided::bytes_read>),
      of_communicator("communicator_receives_posted", "Receives of a communicator that wait.", posted_in),
      of_communicator("communicator_unexpected", "Messages of a communicator that wait for their receive.",
                      unexpected_in),
  };
  add_collective(all);
  all.push_back(of_messages("progress_while_computing",
                            "1 where messages go on while the program computes (HAWSER_PROGRESS), else 0.",
                            level, moves_while_computing));
  PerformanceVariable joining;
  joining.name = "time_to_join";
  joining.description = "How long it took to join the job, in seconds.";
  joining.variable_class = timer;
  joining.type = ToolType::real;
  joining.real = time_to_join;
  all.push_back(std::move(joining));
  int index = 0;
  for (const CounterName& counter_name : rail_counter_names()) {
    PerformanceVariable variable;
    variable.name = "rail_" + std::string(counter_name.name);
    variable.description = "Counter of the rails: " + std::string(counter_name.name) + ".";
    for (char& c : variable.description)
      if (c == '_') c = ' ';
    variable.verbosity = tool_verbosity::tuner_detail;
    variable.rail_counter = index++;
    all.push_back(std::move(variable));
  }
  return all;
}

std::uint64_t PerformanceHandle::raw(ToolSource& process) const {
  if (variable_.rail_counter < 0) return variable_.number(process, communicator_.get());
  const RailCounters* counters = process.rail_counters();
  if (counters == nullptr) return 0;
  return rail_counter_names()[static_cast<std::size_t>(variable_.rail_counter)].value(*counters);
}

std::uint64_t PerformanceHandle::value(ToolSource& process) const {
  if (variable_.continuous()) return raw(process);
  return started_ ? counted_ + (raw(process) - at_start_) : counted_;
}

void PerformanceHandle::start(ToolSource& process) {
  if (started_) return;
  started_ = true;
  at_start_ = raw(process);
}

void PerformanceHandle::stop(ToolSource& process) {
  counted_ = value(process);
  started_ = false;
}

void PerformanceHandle::read(ToolSource& process, void* buffer) const {
  if (variable_.type == ToolType::real) {
    const double seconds = variable_.real(process);
    std::memcpy(buffer, &seconds, sizeof seconds);
  } else {
    const std::uint64_t number = value(process);
    std::memcpy(buffer, &number, sizeof number);
  }
}

void PerformanceHandle::set(ToolSource& process, std::uint64_t value) {
  counted_ = value;
  if (started_) at_start_ = raw(process);
}

}  // namespace hawser
