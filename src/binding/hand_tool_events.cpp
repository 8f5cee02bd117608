// MPI_T: events and their sources.
#include <cstring>

#include "binding/hand_tool.h"

namespace hawser::binding {
namespace {

constexpr int safeties[] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                            MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
static_assert(std::size(safeties) == ToolRegistration::safety_levels);

MPI_T_event_registration handle_of(ToolRegistration* registration) {
  return reinterpret_cast<MPI_T_event_registration>(registration);
}

void call(AbiFunction function, ToolEventInstance* instance, ToolRegistration* registration, int safety,
          void* user_data) {
  reinterpret_cast<MPI_T_event_cb_function*>(function)(reinterpret_cast<MPI_T_event_instance>(instance),
                                                       handle_of(registration), safeties[safety], user_data);
}

void call_dropped(AbiFunction function, std::int64_t count, ToolRegistration* registration, int safety,
                  void* user_data) {
  constexpr int source = 0;
  reinterpret_cast<MPI_T_event_dropped_cb_function*>(function)(count, handle_of(registration), source,
                                                               safeties[safety], user_data);
}

const ToolEventType* type_of(int index) {
  const std::span<const ToolEventType> types = ToolEvents::types();
  return index >= 0 && static_cast<std::size_t>(index) < types.size()
             ? &types[static_cast<std::size_t>(index)]
             : nullptr;
}

// Calls body(entry, registration).
template <class Body>
int with_registration(const char* function, MPI_T_event_registration handle, Body&& body) {
  return with_tool(function, [&](Entry& entry, ToolInterface& tool) {
    ToolRegistration* registration = tool.events().find(handle);
    return registration == nullptr ? ToolCode::invalid_handle : body(entry, *registration);
  });
}

int level_of(MPI_T_cb_safety safety) {
  for (int level = 0; level < ToolRegistration::safety_levels; ++level)
    if (safeties[level] == safety) return level;
  return -1;
}

const ToolEventInstance* instance_of(MPI_T_event_instance handle) {
  return reinterpret_cast<const ToolEventInstance*>(handle);
}

// Info objects of this chapter hold hints, of which none is known.
ToolCode check_info(const Entry& entry, MPI_Info info) {
  Info* found = nullptr;
  return entry.find_info(info, found) ? ToolCode::success : ToolCode::invalid;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_T_event_get_num(int* num_events) noexcept {
  return with_tool("MPI_T_event_get_num", [&](Entry&, ToolInterface&) {
    give(num_events, ToolEvents::types().size());
    return ToolCode::success;
  });
}

int PMPI_T_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                          MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                          int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc, int* desc_len,
                          int* bind) noexcept {
  return with_tool("MPI_T_event_get_info", [&](Entry& entry, ToolInterface&) {
    const ToolEventType* type = type_of(event_index);
    if (type == nullptr) return ToolCode::invalid_index;
    give_text(name, name_len, type->name);
    give(verbosity, from_core_t_verbosity(tool_verbosity::user_detail));
    const std::span<const ToolEventElement> elements = ToolEvents::elements();
    if (num_elements != nullptr) {
      for (std::size_t i = 0; i < elements.size() && static_cast<int>(i) < *num_elements; ++i) {
        if (array_of_datatypes != nullptr) array_of_datatypes[i] = datatype_of(elements[i].type);
        if (array_of_displacements != nullptr)
          array_of_displacements[i] = static_cast<MPI_Aint>(elements[i].offset);
      }
      *num_elements = static_cast<int>(elements.size());
    }
    if (enumtype != nullptr)
      *enumtype = reinterpret_cast<MPI_T_enum>(const_cast<ToolEnum*>(&ToolEvents::element_names()));
    give_info(entry, info);
    give_text(desc, desc_len, type->description);
    give(bind, MPI_T_BIND_NO_OBJECT);
    return ToolCode::success;
  });
}

int PMPI_T_event_get_index(const char* name, int* event_index) noexcept {
  return with_tool("MPI_T_event_get_index", [&](Entry&, ToolInterface&) {
    if (name == nullptr || event_index == nullptr) return ToolCode::invalid;
    const std::optional<int> index = ToolEvents::index_of(name);
    if (!index) return ToolCode::invalid_name;
    *event_index = *index;
    return ToolCode::success;
  });
}

int PMPI_T_event_handle_alloc(int event_index, void*, MPI_Info info,
                              MPI_T_event_registration* event_registration) noexcept {
  return with_tool("MPI_T_event_handle_alloc", [&](Entry& entry, ToolInterface& tool) {
    if (type_of(event_index) == nullptr) return ToolCode::invalid_index;
    if (event_registration == nullptr) return ToolCode::invalid;
    if (check_info(entry, info) != ToolCode::success) return ToolCode::invalid;
    ToolRegistration& made = tool.events().add(event_index, entry.process().rail_status());
    made.call = call;
    made.dropped = call_dropped;
    *event_registration = handle_of(&made);
    return ToolCode::success;
  });
}

int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info) noexcept {
  return with_registration("MPI_T_event_handle_set_info", event_registration,
                           [&](Entry& entry, ToolRegistration&) { return check_info(entry, info); });
}

int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) noexcept {
  return with_registration("MPI_T_event_handle_get_info", event_registration,
                           [&](Entry& entry, ToolRegistration&) {
                             give_info(entry, info_used);
                             return ToolCode::success;
                           });
}

int PMPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info, void* user_data,
                                   MPI_T_event_cb_function event_cb_function) noexcept {
  return with_registration("MPI_T_event_register_callback", event_registration,
                           [&](Entry& entry, ToolRegistration& registration) {
                             const int level = level_of(cb_safety);
                             if (level < 0 || check_info(entry, info) != ToolCode::success)
                               return ToolCode::invalid;
                             registration.callbacks[static_cast<std::size_t>(level)] = {
                                 reinterpret_cast<AbiFunction>(event_cb_function), user_data};
                             return ToolCode::success;
                           });
}

int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info) noexcept {
  return with_registration("MPI_T_event_callback_set_info", event_registration,
                           [&](Entry& entry, ToolRegistration&) {
                             return level_of(cb_safety) < 0 ? ToolCode::invalid : check_info(entry, info);
                           });
}

int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info* info_used) noexcept {
  return with_registration("MPI_T_event_callback_get_info", event_registration,
                           [&](Entry& entry, ToolRegistration&) {
                             if (level_of(cb_safety) < 0) return ToolCode::invalid;
                             give_info(entry, info_used);
                             return ToolCode::success;
                           });
}

int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                             MPI_T_event_free_cb_function free_cb_function) noexcept {
  return with_tool("MPI_T_event_handle_free", [&](Entry& entry, ToolInterface& tool) {
    ToolRegistration* registration = tool.events().find(event_registration);
    if (registration == nullptr) return ToolCode::invalid_handle;
    tool.events().remove(*registration);
    if (free_cb_function != nullptr) {
      Unlocked unlocked(entry.process());
      free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
    }
    return ToolCode::success;
  });
}

int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPI_T_event_dropped_cb_function dropped_cb_function) noexcept {
  return with_registration(
      "MPI_T_event_set_dropped_handler", event_registration, [&](Entry&, ToolRegistration& registration) {
        registration.dropped_function = reinterpret_cast<AbiFunction>(dropped_cb_function);
        return ToolCode::success;
      });
}

// --- In callbacks ---

int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) noexcept {
  const ToolEventInstance* instance = instance_of(event_instance);
  const std::span<const ToolEventElement> elements = ToolEvents::elements();
  if (instance == nullptr) return code_of(ToolCode::invalid_handle);
  if (element_index < 0 || static_cast<std::size_t>(element_index) >= elements.size())
    return code_of(ToolCode::invalid_index);
  const ToolEventElement& element = elements[static_cast<std::size_t>(element_index)];
  std::memcpy(buffer, reinterpret_cast<const char*>(&instance->data) + element.offset, element.bytes);
  return MPI_SUCCESS;
}

int PMPI_T_event_copy(MPI_T_event_instance event_instance, void* buffer) noexcept {
  const ToolEventInstance* instance = instance_of(event_instance);
  if (instance == nullptr) return code_of(ToolCode::invalid_handle);
  std::memcpy(buffer, &instance->data, sizeof instance->data);
  return MPI_SUCCESS;
}

int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) noexcept {
  const ToolEventInstance* instance = instance_of(event_instance);
  if (instance == nullptr) return code_of(ToolCode::invalid_handle);
  give(event_timestamp, instance->time);
  return MPI_SUCCESS;
}

int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int* source_index) noexcept {
  if (instance_of(event_instance) == nullptr) return code_of(ToolCode::invalid_handle);
  give(source_index, 0);
  return MPI_SUCCESS;
}

// --- Sources: there is one, the process's rails ---

int PMPI_T_source_get_num(int* num_sources) noexcept {
  return with_tool("MPI_T_source_get_num", [&](Entry&, ToolInterface&) {
    give(num_sources, 1);
    return ToolCode::success;
  });
}

int PMPI_T_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                           MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                           MPI_Info* info) noexcept {
  return with_tool("MPI_T_source_get_info", [&](Entry& entry, ToolInterface&) {
    if (source_index != 0) return ToolCode::invalid_index;
    give_text(name, name_len, "rails");
    give_text(desc, desc_len, "The paths of this process's rails, in the order in which things happen.");
    give(ordering, MPI_T_SOURCE_ORDERED);
    give(ticks_per_second, 1'000'000'000);
    give(max_ticks, INT64_MAX);
    give_info(entry, info);
    return ToolCode::success;
  });
}

int PMPI_T_source_get_timestamp(int source_index, MPI_Count* timestamp) noexcept {
  return with_tool("MPI_T_source_get_timestamp", [&](Entry& entry, ToolInterface&) {
    if (source_index != 0) return ToolCode::invalid_index;
    give(timestamp, entry.process().now());
    return ToolCode::success;
  });
}

}  // extern "C"

HAWSER_ALIAS(T_event_get_num);
HAWSER_ALIAS(T_event_get_info);
HAWSER_ALIAS(T_event_get_index);
HAWSER_ALIAS(T_event_handle_alloc);
HAWSER_ALIAS(T_event_handle_set_info);
HAWSER_ALIAS(T_event_handle_get_info);
HAWSER_ALIAS(T_event_register_callback);
HAWSER_ALIAS(T_event_callback_set_info);
HAWSER_ALIAS(T_event_callback_get_info);
HAWSER_ALIAS(T_event_handle_free);
HAWSER_ALIAS(T_event_set_dropped_handler);
HAWSER_ALIAS(T_event_read);
HAWSER_ALIAS(T_event_copy);
HAWSER_ALIAS(T_event_get_timestamp);
HAWSER_ALIAS(T_event_get_source);
HAWSER_ALIAS(T_source_get_num);
HAWSER_ALIAS(T_source_get_info);
HAWSER_ALIAS(T_source_get_timestamp);

#pragma GCC visibility pop
}  // namespace hawser::binding
