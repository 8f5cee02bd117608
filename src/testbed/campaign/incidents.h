// The faults of the campaign: one small class per kind, each of which draws an incident and knows how it is
// healed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "testbed/simulator/fabric_options.h"

namespace hawser {

// What there is to break.
struct FabricParts {
  int hosts = 2;
  int rails = 2;
  int ports = 1;                      // of an adapter
  std::vector<std::string> switches;  // of which each host has at least one adapter
  bool checksum = false;              // corrupted payload will be noticed
  bool ethernet = false;
  int mortal_host = 0;  // all of whose adapters may die; of the other hosts only
  int mortal_rail = 0;  // those of this rail, where there are others

  std::string adapter(int host, int rail) const;
};

class IncidentKind {
 public:
  virtual const char* name() const = 0;
  virtual bool possible(const FabricParts& parts) const = 0;
  // Adds what begins, and what ends it; both may name the same thing several times.
  virtual void draw(const FabricParts& parts, Random& random, Incident& incident) const = 0;

 protected:
  ~IncidentKind() = default;
};

std::span<const IncidentKind* const> incident_kinds();
// Others, drawn apart, so that adding to them changes no seed that has none of them.
std::span<const IncidentKind* const> rare_incident_kinds();

// The commands that make the fabric whole, whatever was drawn before.
std::vector<std::string> healing(const FabricParts& parts);

}  // namespace hawser
