#include "process/machine_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/system_devices.h"
#include "base/failure.h"
#include "base/machine.h"
#include "base/rest.h"
#include "launch/background_fence.h"
#include "launch/connect_to_launcher.h"
#include "launch/core_place.h"
#include "launch/environment_variables.h"
#include "process/machine_channels.h"
#include "process/progress_choice.h"
#include "process/text_knobs.h"

namespace hawser {

namespace {

class MachineHost final : public Host {
 public:
  std::string processor_name() override { return name_.empty() ? host_name() : name_; }
  CorePlace core_place() override {
    std::vector<int> bound = bound_processors();
    if (bound != processors_) place_ = core_place_of(bound);
    processors_ = std::move(bound);
    return place_;
  }
  void print(std::string_view line) override { print_error_line(line); }
  [[noreturn]] void exit(int code) override { end_process(code); }
  ProgramFacts program() override { return program_facts(); }
  void call_at_exit(void (*function)()) override {
    if (!std::exchange(exit_is_watched_, true)) hawser::call_at_exit(function);
  }
  void call_in_children(void (*function)()) override {
    if (!std::exchange(forks_are_watched_, true)) hawser::call_in_children(function);
  }
  // What the launcher calls this host; several virtual hosts may be on one machine.
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_;
  std::vector<int> processors_;  // that the process was bound to when its place was looked up
  CorePlace place_ = unknown_core_place;
  bool exit_is_watched_ = false;
  bool forks_are_watched_ = false;
};

// The launcher's exchange of values, as the channels know it.
class BootstrapExchange final : public AddressExchange {
 public:
  explicit BootstrapExchange(Bootstrap& bootstrap) : bootstrap_(bootstrap) {}
  Result<> put(std::string_view key, std::string_view value) override { return bootstrap_.put(key, value); }
  Result<> fence() override { return bootstrap_.fence(); }
  // From now on nobody is asked for.
  void close() { closed_ = true; }
  Result<std::string> get(std::int32_t rank, std::string_view key) override {
    if (closed_) return failure(ErrorKind::other, "the process leaves the job");
    return bootstrap_.get(rank, key);
  }
  void tell_address(std::string_view text) override {
    if (!closed_ && !bootstrap_.busy()) bootstrap_.tell_address(text);
  }
  void ask_address(std::int32_t rank) override {
    if (!closed_ && !bootstrap_.busy()) bootstrap_.ask_address(rank);
  }
  std::vector<std::pair<std::int32_t, std::string>> take_addresses() override {
    if (closed_ || bootstrap_.busy()) return {};
    return bootstrap_.take_addresses();
  }

 private:
  Bootstrap& bootstrap_;
  bool closed_ = false;
};

// When all messages are over, only the protocol's own packets come.
class OnlyProtocol final : public TransportEvents {
 public:
  void on_packet(ProcessIndex, const TransportHeader&, const std::byte*, std::int64_t) override {}
  void on_offer(ProcessIndex, const TransportHeader&, const ExposeToken&, std::int64_t) override {}
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) override { return {}; }
  void on_bad_packet(ProcessIndex, std::string) override {}
};

// All hosts of a virtual fabric are on this machine, and so is the daemon that carries messages between them.
int machine_processes_of(const JobLayout& layout) {
  if (on_one_node(layout.node_of_rank) || find_variable(environment_variables(), "HAWSER_FABRIC").empty())
    return layout.machine_processes;
  return layout.size + 1;
}

// With the cores that this process may run on. Others may be bound to other cores; unless the launcher says
// so, all processes of the machine count.
ProgressPlace progress_place_of(const JobLayout& layout, int machine_processes) {
  const std::vector<std::int32_t>& nodes = layout.node_of_rank;
  ProgressPlace place{.rails = true};
  place.cores = usable_cores();
  if (layout.own_cores)
    place.processes = 1;
  else if (machine_processes > 0)
    place.processes = machine_processes;
  else
    place.processes = std::ranges::count(nodes, nodes[static_cast<std::size_t>(layout.rank)]);
  return place;
}

class MachineEnvironment final : public Environment {
 public:
  explicit MachineEnvironment(Knobs parsed) : knobs_(std::move(parsed)) {
    clock = &clock_;
    host = &host_;
    knobs = &knobs_;
    seed = static_cast<std::uint64_t>(clock_.now());
  }

  Result<> join() override {
    Result<std::unique_ptr<Bootstrap>> connected = connect_to_launcher(environment_variables());
    if (!connected) return connected.take_error();
    bootstrap_ = std::move(connected).value();
    bootstrap = bootstrap_.get();
    const JobLayout& layout = bootstrap_->layout();
    host_.set_name(layout.host_name);
    exchange_ = std::make_unique<BootstrapExchange>(*bootstrap_);  // peers' addresses are asked for later
    // The launcher's segment serves once: it still holds what was said before a session joined again.
    const bool again = joins_++ > 0;
    const int machine_processes = machine_processes_of(layout);
    const JobPlace place{layout.rank,
                         layout.size,
                         again ? fmt::format("{}-{}", layout.job_id, joins_) : layout.job_id,
                         layout.node_of_rank,
                         again ? -1 : layout.node_segment_fd,
                         machine_processes,
                         layout.machine_cores > 0 ? layout.machine_cores : online_cpus(),
                         layout.host_name.empty() ? host_name() : layout.host_name};
    decided_ = knobs_;
    // The rails have to know before it turns out whether they are used.
    progress_place = progress_place_of(layout, machine_processes);
    decided_.progress = uses_interrupts(knobs_.progress, progress_place) ? "interrupt" : "polling";
    Result<std::unique_ptr<MachineChannels>> built =
        MachineChannels::build(place, *exchange_, decided_, clock_, devices_);
    if (!built) return built.take_error();
    channels_ = std::move(built).value();
    if (const int descriptor = bootstrap_->lost_descriptor(); descriptor >= 0)
      HAWSER_TRY(channels_->watch(descriptor));
    channels = channels_.get();
    rails = channels_->rails();
    progress_place.rails = rails != nullptr;
    interrupts = uses_interrupts(knobs_.progress, progress_place);
    rail_status = channels_->rail_status();
    return {};
  }

  void forget() override {
    if (bootstrap_ != nullptr) bootstrap_->forget();
    if (channels_ != nullptr) channels_->forget();
  }

  Result<> leave() override {
    // Shared memory outlives a process that unmaps it; what is on the way in a stream does not.
    if (!on_one_node(bootstrap_->layout().node_of_rank)) HAWSER_TRY(last_fence());
    channels = nullptr;
    rails = nullptr;
    rail_status = nullptr;
    channels_.reset();
    Result<> left = bootstrap_->finalize();
    bootstrap = nullptr;
    bootstrap_.reset();
    return left;
  }

 private:
  // A peer whose last acknowledgement was lost with a rail has to ask what arrived here before it can come to
  // the fence, so the rails' protocol goes on until all are there.
  Result<> last_fence() {
    if (channels_->rails() == nullptr) return bootstrap_->fence();
    exchange_->close();
    BackgroundFence fence(*bootstrap_);
    OnlyProtocol events;
    for (std::uint32_t idle_passes = 0; !fence.done();) {
      if (channels_->rails()->progress(events, clock_.now()))
        idle_passes = 0;
      else
        rest(idle_passes++);
    }
    return fence.result();
  }

  MonotonicClock clock_;
  MachineHost host_;
  Knobs knobs_;
  Knobs decided_;  // the same, for channels: HAWSER_PROGRESS is decided
  rdma::SystemDevices devices_{knobs_.rail_ethernet};
  int joins_ = 0;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<BootstrapExchange> exchange_;
  std::unique_ptr<MachineChannels> channels_;
};

}  // namespace

std::unique_ptr<Environment> make_machine_environment() {
  Result<Knobs> parsed = parse_knobs(environment_variables());
  Result<> checked;
  if (parsed) checked = check_text_knobs(parsed.value());
  if (parsed && checked) checked = check_machine_knobs(parsed.value());
  if (!parsed || !checked) {
    print_error_line("hawser: " + (parsed ? checked.error().text : parsed.error().text));
    end_process(1);
  }
  return std::make_unique<MachineEnvironment>(std::move(parsed).value());
}

}  // namespace hawser
