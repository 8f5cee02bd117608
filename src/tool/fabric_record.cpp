#include "tool/fabric_record.h"

#include <algorithm>

namespace hawser {
namespace {

using Json = nlohmann::json;

Json heading(const Json& look) {
  Json links = Json::array();
  for (const Json& link : look.at("links"))
    links.push_back({{"a", link.at("a")}, {"b", link.at("b")}, {"rate", link.at("rate")}});
  return {{"fabric", look.at("name")}, {"origin", look.at("origin")}, {"links", std::move(links)}};
}

std::uint64_t grown(const Json& after, const Json& before, const char* direction, const char* what) {
  return after.at(direction).at(what).get<std::uint64_t>() -
         before.at(direction).at(what).get<std::uint64_t>();
}

Json difference(const Json& before, const Json& after) {
  Json out = Json::array(), in = Json::array(), dropped = Json::array(), down = Json::array();
  for (std::size_t i = 0; i < after.at("links").size(); ++i) {
    const Json &link = after.at("links").at(i), &past = before.at("links").at(i);
    out.push_back(grown(link, past, "out", "bytes"));
    in.push_back(grown(link, past, "in", "bytes"));
    dropped.push_back(grown(link, past, "out", "dropped") + grown(link, past, "in", "dropped"));
    if (!link.at("up").get<bool>()) down.push_back(i);
  }
  return {{"seconds", after.at("seconds")},
          {"out", std::move(out)},
          {"in", std::move(in)},
          {"dropped", std::move(dropped)},
          {"down", std::move(down)}};
}

}  // namespace

std::string FabricRecord::add(const Json& look) {
  std::string lines;
  if (before_.is_null()) {
    lines = heading(look).dump() + "\n";
    faults_told_ = look.at("log_lines").get<std::uint64_t>();
  } else {
    // The answer has the latest lines of the log; those that are new are told.
    const Json& log = look.at("log");
    const auto ever = look.at("log_lines").get<std::uint64_t>();
    const std::uint64_t fresh = std::min<std::uint64_t>(ever - faults_told_, log.size());
    for (std::size_t i = log.size() - fresh; i < log.size(); ++i)
      lines += Json{{"seconds", log.at(i).at("seconds")}, {"fault", log.at(i).at("text")}}.dump() + "\n";
    faults_told_ = ever;
    lines += difference(before_, look).dump() + "\n";
  }
  before_ = look;
  return lines;
}

}  // namespace hawser
