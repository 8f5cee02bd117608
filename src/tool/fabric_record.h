// FabricRecord: what `hawser fabric watch --record FILE` writes, for programs that draw it. One JSON object a
// line:
//
//   {"fabric": "lab", "origin": 12.5, "links": [{"a": "n0/hw0", "b": "switch0:1", "rate": 1e8}, ...]}
//   {"seconds": 1.5, "out": [...], "in": [...], "dropped": [...], "down": [3]}
//   {"seconds": 1.2, "fault": "link n0/hw0 down"}
//
// The first line is the fabric: `origin` is the second of the machine's monotonic clock at which the fabric's
// time began (event logs of ranks have that clock), `rate` in bytes per second, 0 without limit. A look has,
// for every link in that order, the bytes that left `a` and `b` and the packets that were dropped since the
// look before, and the numbers of the links that are down. Faults stand between the looks that saw them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hawser {

class FabricRecord {
 public:
  // The lines for what the daemon answers to `links N`, each ended. The first look only tells what there is.
  std::string add(const nlohmann::json& look);

 private:
  nlohmann::json before_;
  std::uint64_t faults_told_ = 0;
};

}  // namespace hawser
