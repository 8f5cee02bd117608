// The control variables of MPI_T: the knobs, by the names of their environment variables (MPI-5.0
// section 15.3.6). Numbers are MPI_COUNT, switches and choices MPI_INT with an enumeration, texts MPI_CHAR.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/knobs.h"
#include "mpi_t/tool_types.h"

namespace hawser {

struct ControlVariable {
  KnobInfo knob;
  ToolType type = ToolType::count;
  int count = 1;                        // elements; of a text its room, with the terminator
  std::vector<std::string_view> names;  // of the enumeration's items
  std::unique_ptr<ToolEnum> items;      // null: no enumeration
  int verbosity = tool_verbosity::tuner_detail;
  int scope = tool_scope::read_only;
};

class ControlVariables {
 public:
  // `knobs` are those that the process looks at; they outlive this.
  explicit ControlVariables(Knobs& knobs);

  int size() const { return static_cast<int>(variables_.size()); }
  const ControlVariable* find(int index) const;  // null: no such index
  std::optional<int> index_of(std::string_view name) const;

  // `buffer` holds `count` elements of the variable's type.
  void read(int index, void* buffer) const;
  // Most knobs are looked at once, when the process joins the job: cvar_set_never.
  ToolCode write(int index, const void* buffer);

 private:
  Knobs& knobs_;
  std::vector<ControlVariable> variables_;
};

}  // namespace hawser
