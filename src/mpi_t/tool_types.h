// What the tool information interface (MPI-5.0 chapter 15) is made of, without an ABI: its error codes and
// the descriptions of variables. Numbers are the standard ABI's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hawser {

enum class ToolCode : int {
  success = 0,
  cannot_init = 1001,
  not_initialized = 1003,
  memory = 1005,
  invalid = 1006,
  invalid_index = 1007,
  invalid_item = 1008,
  invalid_session = 1009,
  invalid_handle = 1010,
  invalid_name = 1011,
  cvar_set_not_now = 1014,
  cvar_set_never = 1015,
  pvar_no_write = 1016,
  pvar_no_start_stop = 1017,
};

enum class ToolType : std::uint8_t {
  character,  // MPI_CHAR
  integer,    // MPI_INT
  count,      // MPI_COUNT
  number,     // MPI_UNSIGNED_LONG_LONG
  real,       // MPI_DOUBLE
};

namespace tool_verbosity {
inline constexpr int user_basic = 9;
inline constexpr int user_detail = 10;
inline constexpr int tuner_basic = 17;
inline constexpr int tuner_detail = 18;
inline constexpr int developer_basic = 33;
}  // namespace tool_verbosity

namespace tool_bind {
inline constexpr int no_object = 1;
inline constexpr int communicator = 2;
}  // namespace tool_bind

namespace tool_scope {
inline constexpr int read_only = 2;
inline constexpr int local = 3;
inline constexpr int all_equal = 7;
}  // namespace tool_scope

namespace tool_class {
inline constexpr int level = 2;
inline constexpr int high_water_mark = 5;
inline constexpr int counter = 7;
inline constexpr int timer = 9;
}  // namespace tool_class

// Names of the values 0, 1, 2, ...
struct ToolEnum {
  std::string_view name;
  std::span<const std::string_view> items;
};

}  // namespace hawser
