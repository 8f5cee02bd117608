// MPI_T: starting and ending, enumerations, control variables, categories.
#include "binding/hand_tool.h"

#include <algorithm>
#include <cstring>

namespace hawser::binding {

MPI_Datatype datatype_of(ToolType type) {
  switch (type) {
    case ToolType::character:
      return MPI_CHAR;
    case ToolType::integer:
      return MPI_INT;
    case ToolType::count:
      return MPI_COUNT;
    case ToolType::number:
      return MPI_UNSIGNED_LONG_LONG;
    case ToolType::real:
      return MPI_DOUBLE;
  }
  HAWSER_UNREACHABLE();
}

void give_text(char* out, int* length, std::string_view text) {
  if (length == nullptr) return;
  if (out != nullptr && *length > 0) {
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(*length - 1));
    std::memcpy(out, text.data(), n);
    out[n] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

namespace {

const ToolEnum* enum_of(MPI_T_enum handle) { return reinterpret_cast<const ToolEnum*>(handle); }
MPI_T_enum handle_of(const ToolEnum* items) {
  return reinterpret_cast<MPI_T_enum>(const_cast<ToolEnum*>(items));
}

bool is_enum(ToolInterface& tool, MPI_T_enum handle) {
  if (enum_of(handle) == &ToolEvents::element_names()) return true;
  for (int i = 0; i < tool.controls().size(); ++i)
    if (handle != MPI_T_ENUM_NULL && enum_of(handle) == tool.controls().find(i)->items.get()) return true;
  return false;
}

const ToolCategory* category_of(ToolInterface& tool, int index) {
  const auto& all = tool.categories();
  return index >= 0 && static_cast<std::size_t>(index) < all.size() ? &all[static_cast<std::size_t>(index)]
                                                                    : nullptr;
}

int list_of(const char* function, int cat_index, std::vector<int> ToolCategory::*list, int len,
            int* indices) {
  return with_tool(function, [&](Entry&, ToolInterface& tool) {
    const ToolCategory* category = category_of(tool, cat_index);
    if (category == nullptr) return ToolCode::invalid_index;
    const std::vector<int>& all = category->*list;
    for (std::size_t i = 0; i < all.size() && static_cast<int>(i) < len; ++i) indices[i] = all[i];
    return ToolCode::success;
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_T_init_thread(int required, int* provided) noexcept try {
  Entry entry("MPI_T_init_thread", Entry::AnyTime());
  const int level = to_core_thread_level(required);
  if (thread_level_name(level).empty()) return code_of(ToolCode::invalid);
  MpiProcess& process = entry.process();
  if (level == thread_multiple && process.environment().has_threads) process.lock().enable();
  process.tool().initialize();
  give(provided, required);
  return MPI_SUCCESS;
} catch (const std::bad_alloc&) {
  return code_of(ToolCode::memory);
}

int PMPI_T_finalize() noexcept {
  Entry entry("MPI_T_finalize", Entry::AnyTime());
  return code_of(entry.process().tool().finalize());
}

int PMPI_T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) noexcept {
  return with_tool("MPI_T_enum_get_info", [&](Entry&, ToolInterface& tool) {
    if (!is_enum(tool, enumtype)) return ToolCode::invalid_handle;
    give(num, enum_of(enumtype)->items.size());
    give_text(name, name_len, enum_of(enumtype)->name);
    return ToolCode::success;
  });
}

int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) noexcept {
  return with_tool("MPI_T_enum_get_item", [&](Entry&, ToolInterface& tool) {
    if (!is_enum(tool, enumtype)) return ToolCode::invalid_handle;
    const auto& items = enum_of(enumtype)->items;
    if (indx < 0 || static_cast<std::size_t>(indx) >= items.size()) return ToolCode::invalid_item;
    give(value, indx);
    give_text(name, name_len, items[static_cast<std::size_t>(indx)]);
    return ToolCode::success;
  });
}

// --- Control variables ---

int PMPI_T_cvar_get_num(int* num_cvar) noexcept {
  return with_tool("MPI_T_cvar_get_num", [&](Entry&, ToolInterface& tool) {
    give(num_cvar, tool.controls().size());
    return ToolCode::success;
  });
}

int PMPI_T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                         MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) noexcept {
  return with_tool("MPI_T_cvar_get_info", [&](Entry&, ToolInterface& tool) {
    const ControlVariable* variable = tool.controls().find(cvar_index);
    if (variable == nullptr) return ToolCode::invalid_index;
    give_text(name, name_len, variable->knob.variable);
    give(verbosity, from_core_t_verbosity(variable->verbosity));
    give(datatype, datatype_of(variable->type));
    if (enumtype != nullptr) *enumtype = handle_of(variable->items.get());
    give_text(desc, desc_len, variable->knob.doc);
    give(bind, MPI_T_BIND_NO_OBJECT);
    give(scope, from_core_t_scope(variable->scope));
    return ToolCode::success;
  });
}

int PMPI_T_cvar_get_index(const char* name, int* cvar_index) noexcept {
  return with_tool("MPI_T_cvar_get_index", [&](Entry&, ToolInterface& tool) {
    if (name == nullptr || cvar_index == nullptr) return ToolCode::invalid;
    const std::optional<int> index = tool.controls().index_of(name);
    if (!index) return ToolCode::invalid_name;
    *cvar_index = *index;
    return ToolCode::success;
  });
}

int PMPI_T_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) noexcept {
  return with_tool("MPI_T_cvar_handle_alloc", [&](Entry&, ToolInterface& tool) {
    const ControlVariable* variable = tool.controls().find(cvar_index);
    if (variable == nullptr) return ToolCode::invalid_index;
    if (handle == nullptr) return ToolCode::invalid;
    *handle = static_cast<MPI_T_cvar_handle>(tool.add_control_handle(cvar_index));
    give(count, variable->count);
    return ToolCode::success;
  });
}

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) noexcept {
  return with_tool("MPI_T_cvar_handle_free", [&](Entry&, ToolInterface& tool) {
    if (handle == nullptr) return ToolCode::invalid_handle;
    const ToolCode code = tool.free_control(*handle);
    if (code == ToolCode::success) *handle = MPI_T_CVAR_HANDLE_NULL;
    return code;
  });
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void* buf) noexcept {
  return with_tool("MPI_T_cvar_read", [&](Entry&, ToolInterface& tool) {
    const int* index = tool.find_control(handle);
    if (index == nullptr) return ToolCode::invalid_handle;
    if (buf == nullptr) return ToolCode::invalid;
    tool.controls().read(*index, buf);
    return ToolCode::success;
  });
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buf) noexcept {
  return with_tool("MPI_T_cvar_write", [&](Entry&, ToolInterface& tool) {
    const int* index = tool.find_control(handle);
    if (index == nullptr) return ToolCode::invalid_handle;
    return buf == nullptr ? ToolCode::invalid : tool.controls().write(*index, buf);
  });
}

// --- Categories ---

int PMPI_T_category_get_num(int* num_cat) noexcept {
  return with_tool("MPI_T_category_get_num", [&](Entry&, ToolInterface& tool) {
    give(num_cat, tool.categories().size());
    return ToolCode::success;
  });
}

int PMPI_T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                             int* num_cvars, int* num_pvars, int* num_categories) noexcept {
  return with_tool("MPI_T_category_get_info", [&](Entry&, ToolInterface& tool) {
    const ToolCategory* category = category_of(tool, cat_index);
    if (category == nullptr) return ToolCode::invalid_index;
    give_text(name, name_len, category->name);
    give_text(desc, desc_len, category->description);
    give(num_cvars, category->controls.size());
    give(num_pvars, category->performances.size());
    give(num_categories, category->categories.size());
    return ToolCode::success;
  });
}

int PMPI_T_category_get_num_events(int cat_index, int* num_events) noexcept {
  return with_tool("MPI_T_category_get_num_events", [&](Entry&, ToolInterface& tool) {
    const ToolCategory* category = category_of(tool, cat_index);
    if (category == nullptr) return ToolCode::invalid_index;
    give(num_events, category->events.size());
    return ToolCode::success;
  });
}

int PMPI_T_category_get_index(const char* name, int* cat_index) noexcept {
  return with_tool("MPI_T_category_get_index", [&](Entry&, ToolInterface& tool) {
    if (name == nullptr || cat_index == nullptr) return ToolCode::invalid;
    const auto& all = tool.categories();
    const auto found = std::ranges::find(all, std::string(name), &ToolCategory::name);
    if (found == all.end()) return ToolCode::invalid_name;
    *cat_index = static_cast<int>(found - all.begin());
    return ToolCode::success;
  });
}

int PMPI_T_category_get_cvars(int cat_index, int len, int indices[]) noexcept {
  return list_of("MPI_T_category_get_cvars", cat_index, &ToolCategory::controls, len, indices);
}
int PMPI_T_category_get_pvars(int cat_index, int len, int indices[]) noexcept {
  return list_of("MPI_T_category_get_pvars", cat_index, &ToolCategory::performances, len, indices);
}
int PMPI_T_category_get_events(int cat_index, int len, int indices[]) noexcept {
  return list_of("MPI_T_category_get_events", cat_index, &ToolCategory::events, len, indices);
}
int PMPI_T_category_get_categories(int cat_index, int len, int indices[]) noexcept {
  return list_of("MPI_T_category_get_categories", cat_index, &ToolCategory::categories, len, indices);
}

// Categories never change.
int PMPI_T_category_changed(int* update_number) noexcept {
  return with_tool("MPI_T_category_changed", [&](Entry&, ToolInterface&) {
    give(update_number, 0);
    return ToolCode::success;
  });
}

}  // extern "C"

HAWSER_ALIAS(T_init_thread);
HAWSER_ALIAS(T_finalize);
HAWSER_ALIAS(T_enum_get_info);
HAWSER_ALIAS(T_enum_get_item);
HAWSER_ALIAS(T_cvar_get_num);
HAWSER_ALIAS(T_cvar_get_info);
HAWSER_ALIAS(T_cvar_get_index);
HAWSER_ALIAS(T_cvar_handle_alloc);
HAWSER_ALIAS(T_cvar_handle_free);
HAWSER_ALIAS(T_cvar_read);
HAWSER_ALIAS(T_cvar_write);
HAWSER_ALIAS(T_category_get_num);
HAWSER_ALIAS(T_category_get_info);
HAWSER_ALIAS(T_category_get_num_events);
HAWSER_ALIAS(T_category_get_index);
HAWSER_ALIAS(T_category_get_cvars);
HAWSER_ALIAS(T_category_get_pvars);
HAWSER_ALIAS(T_category_get_events);
HAWSER_ALIAS(T_category_get_categories);
HAWSER_ALIAS(T_category_changed);

#pragma GCC visibility pop
}  // namespace hawser::binding
