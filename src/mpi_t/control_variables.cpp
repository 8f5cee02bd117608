#include "mpi_t/control_variables.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hawser {

namespace {

// A text's room, its terminator included.
constexpr int text_room = 1024;

// How a knob is read and written whose type only the table knows; one of number and text is set.
struct Access {
  std::int64_t (*number)(const Knobs&) = nullptr;
  void (*set_number)(Knobs&, std::int64_t) = nullptr;
  const std::string& (*text)(const Knobs&) = nullptr;
};

template <auto member>
constexpr Access access() {
  using Value = std::remove_cvref_t<decltype(std::declval<Knobs&>().*member)>;
  Access result;
  if constexpr (std::is_same_v<Value, std::string>) {
    result.text = [](const Knobs& knobs) -> const std::string& { return knobs.*member; };
  } else {
    result.number = [](const Knobs& knobs) { return static_cast<std::int64_t>(knobs.*member); };
    result.set_number = [](Knobs& knobs, std::int64_t value) { knobs.*member = static_cast<Value>(value); };
  }
  return result;
}

constexpr Access accesses[] = {
#define HAWSER_KNOB(type, name, default_value, minimum, maximum, unit, doc) access<&Knobs::name>(),
#include "base/knob_table.def"
#undef HAWSER_KNOB
};

// The knobs that are looked at each time they matter, and may therefore change at any time.
constexpr std::array<std::string_view, 3> live_knobs = {"HAWSER_CHECKS", "HAWSER_PARTITION_BYTES",
                                                        "HAWSER_PARTITION_MESSAGES"};

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('|', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

ControlVariable describe(KnobInfo knob) {
  ControlVariable variable;
  switch (knob.kind) {
    case KnobKind::boolean:
      variable.type = ToolType::integer;
      variable.names = {"off", "on"};
      break;
    case KnobKind::choice:
      variable.type = ToolType::integer;
      variable.names = split(knob.unit);
      break;
    case KnobKind::text:
      variable.type = ToolType::character;
      variable.count = text_room;
      break;
    case KnobKind::integer:
    case KnobKind::bytes:
    case KnobKind::duration:
      variable.type = ToolType::count;
  }
  if (!variable.names.empty()) {
    const char* name = knob.kind == KnobKind::boolean ? "switch" : "choices";
    variable.items = std::make_unique<ToolEnum>(ToolEnum{name, variable.names});
  }
  if (std::ranges::count(live_knobs, knob.variable) != 0) variable.scope = tool_scope::local;
  if (knob.variable == "HAWSER_STATS" || knob.variable == "HAWSER_CHECKS")
    variable.verbosity = tool_verbosity::user_basic;
  variable.knob = std::move(knob);
  return variable;
}

}  // namespace

ControlVariables::ControlVariables(Knobs& knobs) : knobs_(knobs) {
  for (KnobInfo& knob : knob_infos()) variables_.push_back(describe(std::move(knob)));
}

const ControlVariable* ControlVariables::find(int index) const {
  return index >= 0 && index < size() ? &variables_[static_cast<std::size_t>(index)] : nullptr;
}

std::optional<int> ControlVariables::index_of(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name,
                                       [](const auto& v) -> const std::string& { return v.knob.variable; });
  if (found == variables_.end()) return {};
  return static_cast<int>(found - variables_.begin());
}

void ControlVariables::read(int index, void* buffer) const {
  const auto i = static_cast<std::size_t>(index);
  const ControlVariable& variable = variables_[i];
  if (variable.type == ToolType::character) {
    const std::string text = accesses[i].text(knobs_).substr(0, text_room - 1);
    std::memcpy(buffer, text.c_str(), text.size() + 1);
  } else if (variable.type == ToolType::count) {
    const std::int64_t value = accesses[i].number(knobs_);
    std::memcpy(buffer, &value, sizeof value);
  } else {
    int value = 0;
    if (variable.knob.kind == KnobKind::boolean) {
      value = static_cast<int>(accesses[i].number(knobs_));
    } else {
      const auto found = std::ranges::find(variable.items->items, accesses[i].text(knobs_));
      value = static_cast<int>(found - variable.items->items.begin());
    }
    std::memcpy(buffer, &value, sizeof value);
  }
}

ToolCode ControlVariables::write(int index, const void* buffer) {
  const auto i = static_cast<std::size_t>(index);
  const ControlVariable& variable = variables_[i];
  if (variable.scope == tool_scope::read_only) return ToolCode::cvar_set_never;
  std::int64_t value = 0;
  if (variable.type == ToolType::integer) {
    int small = 0;
    std::memcpy(&small, buffer, sizeof small);
    value = small;
  } else {
    std::memcpy(&value, buffer, sizeof value);
  }
  if (value < variable.knob.minimum || value > variable.knob.maximum) return ToolCode::invalid;
  accesses[i].set_number(knobs_, value);
  return ToolCode::success;
}

}  // namespace hawser
