// What launchers and other ranks say in words: process mappings, encoded values, fences, addresses, rail
// tables, core places.
#include "channel/socket_connection.h"
#include "fuzz_input.h"
#include "launch/fence_frame.h"
#include "launch/process_mapping.h"
#include "launch/value_encoding.h"
#include "rails/wire/rail_table.h"

using namespace hawser;

namespace {

void check_mapping(std::string_view text) {
  const int size = static_cast<int>(text.size() % 40) + 1;
  const auto nodes = parse_process_mapping(text, size);
  if (!nodes) return;
  HAWSER_ASSERT(std::ssize(nodes.value()) == size);
  const auto again = parse_process_mapping(format_process_mapping(nodes.value()), size);
  HAWSER_ASSERT(again && again.value() == nodes.value());
}

void check_value(std::string_view text) {
  static_cast<void>(count_parts(text));
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1)
    parts.emplace_back(text.substr(at, text.find(' ', at) - at));
  static_cast<void>(decode_value(parts));
  const auto whole = decode_value(encode_value(text, 32));
  HAWSER_ASSERT(whole && whole.value() == text);
  if (const auto bytes = decode_base64(text))
    HAWSER_ASSERT(encode_base64(bytes.value()).size() <= text.size() + 3);
}

void check_frame(std::string_view text) {
  const auto entries = parse_entries(text);
  if (!entries) return;
  std::string again;
  for (const FenceEntry& entry : entries.value()) append_entry(again, entry);
  HAWSER_ASSERT(again == text);
}

void check_table(std::string_view text) {
  const auto table = RailTable::parse(text);
  if (!table) return;
  HAWSER_ASSERT(table.value().rails.size() <= max_rails);
  const auto again = RailTable::parse(table.value().text());
  HAWSER_ASSERT(again && again.value().text() == table.value().text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  const auto kind = input.value<std::uint8_t>();
  const std::string_view text = input.rest();
  switch (kind % 5) {
    case 0:
      check_mapping(text);
      break;
    case 1:
      check_value(text);
      break;
    case 2:
      check_frame(text);
      break;
    case 3:
      check_table(text);
      break;
    default:
      static_cast<void>(SocketAddress::parse(text));
  }
  return 0;
}
