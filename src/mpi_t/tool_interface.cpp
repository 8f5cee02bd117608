#include "mpi_t/tool_interface.h"

#include <algorithm>
#include <numeric>

#include "communicator/communicator.h"

namespace hawser {

namespace {

struct CategoryName {
  const char* name;
  const char* description;
  const char* control_prefix;      // of the knobs' names; empty: what no other category has
  const char* performance_prefix;  // null: none
};
constexpr CategoryName category_names[] = {
    {"shared_memory", "Messages between the processes of a node.", "HAWSER_SHM_", nullptr},
    {"waiting", "What a process does while it waits.", "HAWSER_WAIT_", nullptr},
    {"collectives", "Collective operations.", "HAWSER_COLLECTIVE", "collective_"},
    {"sockets", "Messages between nodes over sockets.", "HAWSER_SOCKET_", nullptr},
    {"rails", "Messages between nodes over the rails of a fabric.", "HAWSER_RAIL", "rail_"},
    {"messages", "Point-to-point messages and their queues.", "HAWSER_PARTITION_", "message_"},
    {"one_sided", "One-sided operations.", "HAWSER_ONE_SIDED_", "one_sided_"},
    {"communicators", "What belongs to single communicators.", "HAWSER_COMMUNICATOR_", "communicator_"},
    {"general", "Everything else.", "", ""},
};

template <class T>
T* find_in(const std::vector<std::unique_ptr<T>>& owned, const void* address) {
  for (const auto& object : owned)
    if (object.get() == address) return object.get();
  return nullptr;
}

template <class T>
bool erase_from(std::vector<std::unique_ptr<T>>& owned, const void* address) {
  return std::erase_if(owned, [address](const auto& object) { return object.get() == address; }) != 0;
}

}  // namespace

ToolInterface::ToolInterface(Knobs& knobs) : controls_(knobs), performances_(performance_variables()) {
  sort_into_categories();
}

void ToolInterface::sort_into_categories() {
  ToolCategory all{.name = "hawser", .description = "Everything there is."};
  all.categories.resize(std::size(category_names));
  std::iota(all.categories.begin(), all.categories.end(), 1);
  categories_.push_back(std::move(all));
  for (const CategoryName& name : category_names)
    categories_.push_back({.name = name.name, .description = name.description});
  for (int i = 0; i < controls_.size(); ++i) {
    const std::string& knob = controls_.find(i)->knob.variable;
    const auto* const found = std::ranges::find_if(
        category_names, [&](const CategoryName& name) { return knob.starts_with(name.control_prefix); });
    categories_[static_cast<std::size_t>(found - category_names) + 1].controls.push_back(i);
  }
  for (std::size_t i = 0; i < performances_.size(); ++i) {
    const auto* const found = std::ranges::find_if(category_names, [&](const CategoryName& name) {
      return name.performance_prefix != nullptr && performances_[i].name.starts_with(name.performance_prefix);
    });
    categories_[static_cast<std::size_t>(found - category_names) + 1].performances.push_back(
        static_cast<int>(i));
  }
  const auto rails = std::ranges::find(categories_, std::string("rails"), &ToolCategory::name);
  rails->events.resize(ToolEvents::types().size());
  std::iota(rails->events.begin(), rails->events.end(), 0);
}

ToolCode ToolInterface::finalize() {
  if (initialized_ == 0) return ToolCode::not_initialized;
  if (--initialized_ > 0) return ToolCode::success;
  control_handles_.clear();
  sessions_.clear();
  events_.remove_all();
  return ToolCode::success;
}

void* ToolInterface::add_control_handle(int index) {
  control_handles_.push_back(std::make_unique<int>(index));
  return control_handles_.back().get();
}

const int* ToolInterface::find_control(const void* handle) const { return find_in(control_handles_, handle); }

ToolCode ToolInterface::free_control(const void* handle) {
  return erase_from(control_handles_, handle) ? ToolCode::success : ToolCode::invalid_handle;
}

PerformanceHandle* ToolInterface::Session::find(const void* handle) const { return find_in(handles, handle); }

ToolCode ToolInterface::Session::free(const void* handle) {
  return erase_from(handles, handle) ? ToolCode::success : ToolCode::invalid_handle;
}

ToolInterface::Session& ToolInterface::add_session() {
  sessions_.push_back(std::make_unique<Session>());
  return *sessions_.back();
}

ToolInterface::Session* ToolInterface::find_session(const void* session) const {
  return find_in(sessions_, session);
}

ToolCode ToolInterface::free_session(const void* session) {
  return erase_from(sessions_, session) ? ToolCode::success : ToolCode::invalid_session;
}

}  // namespace hawser
