#include "collective/tuned_table.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/crc32c.h"
#include "base/machine.h"
#include "base/quantity.h"
#include "collective/algorithms/algorithms.h"
#include "mpi/failure.h"

namespace hawser {
namespace {

constexpr std::string_view form =
    "must be 'ranks N nodes N', or an operation, bytes and an algorithm, 'messages' or 'default', such as "
    "'alltoall 65536 pairwise'";

// The words of a line without its comment; more than there is room for count, too.
template <std::size_t most>
std::size_t split(std::string_view line, std::array<std::string_view, most>& words) {
  line = line.substr(0, line.find('#'));
  constexpr std::string_view blank = " \t\r";
  std::size_t count = 0;
  for (std::size_t at = line.find_first_not_of(blank); at != std::string_view::npos;
       at = line.find_first_not_of(blank, at)) {
    const std::size_t end = std::min(line.find_first_of(blank, at), line.size());
    if (count < most) words[count] = line.substr(at, end - at);
    ++count;
    at = end;
  }
  return count;
}

bool goes_by_slots(const Algorithm& algorithm) {
  return algorithm.run == algorithms::alltoallv_two_level || algorithm.run == algorithms::gatherv_two_level ||
         algorithm.run == algorithms::scatterv_two_level;
}

}  // namespace

Result<> TunedTable::add_shape(std::string_view line) {
  std::array<std::string_view, 4> words;
  if (split(line, words) != words.size() || words[2] != "nodes") return failure(ErrorClass::arg, "{}", form);
  std::array<int, 2> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_count(words[2 * i + 1], {.least = 1, .most = 1 << 24});
    if (!number) return number.error();
    numbers[i] = static_cast<int>(number.value());
  }
  shapes_.push_back({numbers[0], numbers[1], {}});
  return {};
}

Result<> TunedTable::add_entry(std::string_view line) {
  std::array<std::string_view, 3> words;
  if (split(line, words) != words.size()) return failure(ErrorClass::arg, "{}", form);
  if (shapes_.empty()) return failure(ErrorClass::arg, "a line 'ranks N nodes N' must come before");
  const auto from = parse_bytes(words[1]);
  if (!from) return from.error();
  std::string names;
  bool known = false;
  Entry entry{Collective::barrier, from.value(), {.tuned = words[2] != "default"}};
  for (const Algorithm& algorithm : algorithm_table()) {
    if (words[0] != name_of(algorithm.kind)) continue;
    known = true;
    entry.kind = algorithm.kind;
    if (words[2] == algorithm.name) entry.way.algorithm = &algorithm;
    names += fmt::format("{}, ", algorithm.name);
  }
  if (!known) return failure(ErrorClass::arg, "'{}' is no collective operation; {}", words[0], form);
  if (entry.way.algorithm == nullptr && entry.way.tuned && words[2] != "messages")
    return failure(ErrorClass::arg, "'{}' is no algorithm of {}; there are {}messages and default", words[2],
                   words[0], names);
  if (entry.way.algorithm != nullptr && goes_by_slots(*entry.way.algorithm))
    return failure(ErrorClass::arg, "{} goes in two levels where its ranks agree on that", words[0]);
  for (const Entry& other : shapes_.back().entries)
    if (other.kind == entry.kind && other.from >= entry.from)
      return failure(ErrorClass::arg, "{} from {} bytes on must come before {} bytes", words[0], entry.from,
                     other.from);
  shapes_.back().entries.push_back(entry);
  return {};
}

Result<TunedTable> TunedTable::parse(std::string_view text, std::string_view name) {
  TunedTable table;
  table.checksum_ = crc32c(std::as_bytes(std::span(text)));
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    std::array<std::string_view, 1> first;
    if (split(line, first) == 0) continue;
    const Result<> added = first[0] == "ranks" ? table.add_shape(line) : table.add_entry(line);
    if (!added)
      return failure(ErrorClass::arg, "HAWSER_COLLECTIVE_TABLE={}, line {}: {}", name, number,
                     added.error().text);
  }
  return table;
}

Result<TunedTable> TunedTable::read(const std::string& file_name) {
  const auto text = read_text(file_name);
  if (!text) return failure(ErrorClass::arg, "HAWSER_COLLECTIVE_TABLE: {}", text.error().text);
  return parse(text.value(), file_name);
}

TunedWay TunedTable::find(Collective kind, const Shape& shape) const {
  TunedWay way;
  for (const OfShape& of : shapes_) {
    if (of.ranks != shape.ranks || of.nodes != shape.nodes) continue;
    for (const Entry& entry : of.entries)
      if (entry.kind == kind && entry.from <= shape.bytes) way = entry.way;
  }
  return way;
}

}  // namespace hawser
