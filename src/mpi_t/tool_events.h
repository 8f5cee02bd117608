// The events of MPI_T (MPI-5.0 section 15.3.8): what happens to the paths of the rails. They are taken from
// the rails' own record of recent events, between two passes of progress, so callbacks may call MPI; who
// comes too late for the record hears how many were dropped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mpi/arguments.h"
#include "mpi_t/tool_types.h"
#include "rails/status/status_table.h"

namespace hawser {

class ToolSource;

struct ToolEventType {
  std::string_view name;
  std::string_view description;
};

// The elements of every event, as MPI_T_event_copy gives them.
struct ToolEventData {
  std::int32_t peer = -1;  // rank in MPI_COMM_WORLD
  std::int32_t row = -1;   // of the status table (hawser top); -1: of no path in particular
  std::int32_t reason = 0;
  std::int32_t reserved = 0;
  std::int64_t value = 0;  // rail_rejoined: nanoseconds since the partition
};
struct ToolEventElement {
  ToolType type;
  std::size_t offset;
  std::size_t bytes;
};

// What a callback gets to see; it lives as long as the callback runs.
struct ToolEventInstance {
  int event;
  Nanoseconds time;
  ToolEventData data;
};

class ToolRegistration {
 public:
  static constexpr int safety_levels = 4;

  // How the binding calls the application's functions.
  using Call = void (*)(AbiFunction function, ToolEventInstance* instance, ToolRegistration* registration,
                        int safety, void* user_data);
  using Dropped = void (*)(AbiFunction function, std::int64_t count, ToolRegistration* registration,
                           int safety, void* user_data);

  int event = 0;
  struct Callback {
    AbiFunction function = nullptr;
    void* user_data = nullptr;
  };
  std::array<Callback, safety_levels> callbacks;  // by safety level: none, restricted, threads, signals
  Call call = nullptr;
  AbiFunction dropped_function = nullptr;
  Dropped dropped = nullptr;
  bool freed = false;
};

class ToolEvents {
 public:
  static std::span<const ToolEventType> types();
  static std::span<const ToolEventElement> elements();
  static const ToolEnum& element_names();
  static std::optional<int> index_of(std::string_view name);

  ToolRegistration& add(int event, const RailStatus* status);
  ToolRegistration* find(const void* registration) const;
  void remove(ToolRegistration& registration);
  void remove_all() { registrations_.clear(); }
  bool listening() const { return !registrations_.empty(); }

  // Tells the registrations what happened since the last call. Callbacks run without the process's lock.
  void deliver(ToolSource& process, const RailStatus& status);

 private:
  void tell(ToolSource& process, ToolEventInstance& instance);
  void tell_dropped(ToolSource& process, std::uint64_t count);
  void forget_freed();

  std::vector<std::unique_ptr<ToolRegistration>> registrations_;
  std::uint64_t next_ = 0;  // number of the first event that was not looked at
  bool delivering_ = false;
};

}  // namespace hawser
