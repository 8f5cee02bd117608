// MPI_T: performance variables.
#include <algorithm>

#include "binding/hand_tool.h"

namespace hawser::binding {
namespace {

// Calls body(entry, session, handle) for a handle of a session.
template <class Body>
int with_handle(const char* function, MPI_T_pvar_session session, MPI_T_pvar_handle handle, Body&& body) {
  return with_tool(function, [&](Entry& entry, ToolInterface& tool) {
    ToolInterface::Session* found = tool.find_session(session);
    if (found == nullptr) return ToolCode::invalid_session;
    PerformanceHandle* variable = found->find(handle);
    return variable == nullptr ? ToolCode::invalid_handle : body(entry.process(), *variable);
  });
}

// The same for one handle or, where it makes sense, for all of the session.
template <class Body>
int with_handles(const char* function, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                 ToolCode if_continuous, Body&& body) {
  const auto change = [&](MpiProcess& process, PerformanceHandle& variable) {
    if (variable.variable().continuous()) return if_continuous;
    body(process, variable);
    return ToolCode::success;
  };
  if (handle != MPI_T_PVAR_ALL_HANDLES) return with_handle(function, session, handle, change);
  return with_tool(function, [&](Entry& entry, ToolInterface& tool) {
    ToolInterface::Session* found = tool.find_session(session);
    if (found == nullptr) return ToolCode::invalid_session;
    for (const auto& variable : found->handles) (void)change(entry.process(), *variable);
    return ToolCode::success;
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_T_pvar_get_num(int* num_pvar) noexcept {
  return with_tool("MPI_T_pvar_get_num", [&](Entry&, ToolInterface& tool) {
    give(num_pvar, tool.performances().size());
    return ToolCode::success;
  });
}

int PMPI_T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                         MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind,
                         int* readonly, int* continuous, int* atomic) noexcept {
  return with_tool("MPI_T_pvar_get_info", [&](Entry&, ToolInterface& tool) {
    const auto& all = tool.performances();
    if (pvar_index < 0 || static_cast<std::size_t>(pvar_index) >= all.size()) return ToolCode::invalid_index;
    const PerformanceVariable& variable = all[static_cast<std::size_t>(pvar_index)];
    give_text(name, name_len, variable.name);
    give(verbosity, from_core_t_verbosity(variable.verbosity));
    give(var_class, from_core_t_pvar_class(variable.variable_class));
    give(datatype, datatype_of(variable.type));
    if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
    give_text(desc, desc_len, variable.description);
    give(bind, from_core_t_bind(variable.bind));
    give(readonly, variable.continuous());
    give(continuous, variable.continuous());
    give(atomic, !variable.continuous());
    return ToolCode::success;
  });
}

int PMPI_T_pvar_get_index(const char* name, int var_class, int* pvar_index) noexcept {
  return with_tool("MPI_T_pvar_get_index", [&](Entry&, ToolInterface& tool) {
    if (name == nullptr || pvar_index == nullptr) return ToolCode::invalid;
    const auto& all = tool.performances();
    const auto found = std::ranges::find_if(all, [&](const PerformanceVariable& variable) {
      return variable.name == name && variable.variable_class == to_core_t_pvar_class(var_class);
    });
    if (found == all.end()) return ToolCode::invalid_name;
    *pvar_index = static_cast<int>(found - all.begin());
    return ToolCode::success;
  });
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session* session) noexcept {
  return with_tool("MPI_T_pvar_session_create", [&](Entry&, ToolInterface& tool) {
    if (session == nullptr) return ToolCode::invalid;
    *session = reinterpret_cast<MPI_T_pvar_session>(&tool.add_session());
    return ToolCode::success;
  });
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session* session) noexcept {
  return with_tool("MPI_T_pvar_session_free", [&](Entry&, ToolInterface& tool) {
    if (session == nullptr) return ToolCode::invalid_session;
    const ToolCode code = tool.free_session(*session);
    if (code == ToolCode::success) *session = MPI_T_PVAR_SESSION_NULL;
    return code;
  });
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle,
                             MPI_T_pvar_handle* handle, int* count) noexcept {
  return with_tool("MPI_T_pvar_handle_alloc", [&](Entry& entry, ToolInterface& tool) {
    ToolInterface::Session* found = tool.find_session(session);
    if (found == nullptr) return ToolCode::invalid_session;
    const auto& all = tool.performances();
    if (pvar_index < 0 || static_cast<std::size_t>(pvar_index) >= all.size()) return ToolCode::invalid_index;
    if (handle == nullptr) return ToolCode::invalid;
    const PerformanceVariable& variable = all[static_cast<std::size_t>(pvar_index)];
    Ref<Communicator> communicator;
    if (variable.bind == tool_bind::communicator) {
      if (obj_handle == nullptr) return ToolCode::invalid;
      communicator = Ref<Communicator>(entry.find<Communicator>(*static_cast<const MPI_Comm*>(obj_handle)));
      if (!communicator) return ToolCode::invalid;
    }
    found->handles.push_back(std::make_unique<PerformanceHandle>(variable, std::move(communicator)));
    *handle = reinterpret_cast<MPI_T_pvar_handle>(found->handles.back().get());
    give(count, 1);
    return ToolCode::success;
  });
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) noexcept {
  return with_tool("MPI_T_pvar_handle_free", [&](Entry&, ToolInterface& tool) {
    ToolInterface::Session* found = tool.find_session(session);
    if (found == nullptr) return ToolCode::invalid_session;
    if (handle == nullptr) return ToolCode::invalid_handle;
    const ToolCode code = found->free(*handle);
    if (code == ToolCode::success) *handle = MPI_T_PVAR_HANDLE_NULL;
    return code;
  });
}

int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return with_handles("MPI_T_pvar_start", session, handle, ToolCode::pvar_no_start_stop,
                      [](MpiProcess& process, PerformanceHandle& variable) { variable.start(process); });
}

int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return with_handles("MPI_T_pvar_stop", session, handle, ToolCode::pvar_no_start_stop,
                      [](MpiProcess& process, PerformanceHandle& variable) { variable.stop(process); });
}

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) noexcept {
  return with_handle("MPI_T_pvar_read", session, handle,
                     [&](MpiProcess& process, PerformanceHandle& variable) {
                       if (buf == nullptr) return ToolCode::invalid;
                       variable.read(process, buf);
                       return ToolCode::success;
                     });
}

int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) noexcept {
  return with_handle("MPI_T_pvar_write", session, handle,
                     [&](MpiProcess& process, PerformanceHandle& variable) {
                       if (variable.variable().continuous()) return ToolCode::pvar_no_write;
                       if (buf == nullptr) return ToolCode::invalid;
                       variable.set(process, *static_cast<const unsigned long long*>(buf));
                       return ToolCode::success;
                     });
}

int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return with_handles("MPI_T_pvar_reset", session, handle, ToolCode::pvar_no_write,
                      [](MpiProcess& process, PerformanceHandle& variable) { variable.set(process, 0); });
}

int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) noexcept {
  return with_handle("MPI_T_pvar_readreset", session, handle,
                     [&](MpiProcess& process, PerformanceHandle& variable) {
                       if (variable.variable().continuous()) return ToolCode::pvar_no_write;
                       if (buf == nullptr) return ToolCode::invalid;
                       variable.read(process, buf);
                       variable.set(process, 0);
                       return ToolCode::success;
                     });
}

}  // extern "C"

HAWSER_ALIAS(T_pvar_get_num);
HAWSER_ALIAS(T_pvar_get_info);
HAWSER_ALIAS(T_pvar_get_index);
HAWSER_ALIAS(T_pvar_session_create);
HAWSER_ALIAS(T_pvar_session_free);
HAWSER_ALIAS(T_pvar_handle_alloc);
HAWSER_ALIAS(T_pvar_handle_free);
HAWSER_ALIAS(T_pvar_start);
HAWSER_ALIAS(T_pvar_stop);
HAWSER_ALIAS(T_pvar_read);
HAWSER_ALIAS(T_pvar_write);
HAWSER_ALIAS(T_pvar_reset);
HAWSER_ALIAS(T_pvar_readreset);

#pragma GCC visibility pop
}  // namespace hawser::binding
