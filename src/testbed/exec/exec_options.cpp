#include "testbed/exec/exec_options.h"

#include <CLI/CLI.hpp>

#include "base/option_errors.h"

namespace hawser {

// What takes virtual time of a processor.
static void add_costs(CLI::App& app, ExecOptions& options) {
  app.add_option("--compute-scale", options.compute_scale,
                 "Virtual time that computing takes, by the time that it takes here; 0: none, then every run "
                 "is the same")
      ->capture_default_str();
  app.add_option(
         "--queue-pair-cost", options.queue_pair_cost,
         "Processor time that a queue pair takes until it can send, such as 200us; a quarter to end it")
      ->capture_default_str();
  app.add_option(
         "--registration-cost", options.registration_cost,
         "Processor time to register memory, or to end that; 0us: as for buffers that stay registered")
      ->capture_default_str();
  app.add_option("--post-cost", options.post_cost,
                 "Processor time to post requests to an adapter; 250ns: with what the library itself does "
                 "for a message")
      ->capture_default_str();
  app.add_flag(
      "--doorbell-per-post", options.doorbell_per_post,
      "Each posting takes --post-cost, also while an earlier doorbell of its queue pair is on its way");
  app.add_option("--completion-cost", options.completion_cost,
                 "Processor time to take up a completion; 250ns: with what the library does for it")
      ->capture_default_str();
  app.add_option(
         "--interrupt-cost", options.interrupt_cost,
         "Processor time that an interrupt takes of its rank, with HAWSER_PROGRESS=interrupt; auto is "
         "polling here, for a rank has one processor")
      ->capture_default_str();
}

std::optional<int> read_command_line(int argc, char** argv, ExecOptions& options) {
  CLI::App app{
      "Runs an MPI program, unmodified, as ranks of a simulated job: in virtual time, over a virtual fabric"};
  app.name("hawser sim exec");
  const CLI::Range count(1, 16384);
  app.add_option("-n,--np", options.ranks, "Ranks of the job")->required()->check(count);
  app.add_option("--ppn,--ranks-per-node", options.ranks_per_node,
                 "Ranks on a host; the next ones on the next host")
      ->check(count)
      ->capture_default_str();
  app.add_flag(
      "--process-per-rank", options.process_per_rank,
      "Run each rank in a process of its own, in the same virtual time: slower, for programs that one "
      "process cannot hold");
  app.add_flag(
      "--areas", options.areas,
      "The ranks of a host share memory for collectives, as in a real job; else these go by messages");
  app.add_flag("-l,--label", options.label, "Begin every line of output with the rank");
  emulator::declare_layout(app, options.fabric);
  options.fabric.what = "fat-tree";
  options.fabric.rate = "12.5GB/s";
  app.add_option(
         "--fabric", options.fabric.what,
         "A topology file (what ibnetdiscover prints), or back-to-back, single-switch, two-switch, fat-tree, "
         "fat-tree-144")
      ->capture_default_str();
  app.add_option("--faults", options.faults,
                 "File of faults: lines of SECONDS FAULT, from the start of the job");
  app.add_option(
         "--draw-faults", options.draw_faults,
         "Draw faults at random from the seed, among so many packets; for single-switch and two-switch")
      ->excludes("--faults");
  app.add_option("--seed", options.seed, "Of all that is drawn at random")->capture_default_str();
  app.add_option("--time-limit", options.time_limit, "Of virtual time: 10s; without it, none");
  add_costs(app, options);
  app.add_option("--stack", options.stack, "Bytes of each rank's stack")->capture_default_str();
  app.add_option("--trace", options.trace, "Write what happens, a line each, to this file");
  app.add_flag("--trace-hash", options.trace_hash, "Print the hash of all that happened");
  app.add_flag("--stats", options.stats, "Print times by MPI function, and what the rails counted");
  app.add_option("--links-svg", options.links_svg,
                 "Draw the load of the busiest links over time into this file");
  app.add_option("--json", options.json, "Write the result in JSON to this file");
  app.add_flag("--quiet", options.quiet, "No progress on the terminal, and no line of summary at the end");
  // From the first word on that is no option, all is the program's.
  app.prefix_command();
  app.failure_message(option_error);
  try {
    app.parse(argc, argv);
    options.command = app.remaining();
    if (!options.command.empty() && options.command.front() == "--")
      options.command.erase(options.command.begin());
    if (options.command.empty()) throw CLI::RequiredError("PROGRAM");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace hawser
