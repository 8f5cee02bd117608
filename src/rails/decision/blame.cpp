#include "rails/decision/blame.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser {
namespace {

bool bad(const Witness& witness) {
  return witness.says == Testimony::failed || witness.says == Testimony::silent;
}
bool good(const Witness& witness) { return witness.says == Testimony::well; }

bool same_ports(const Witness& a, const Witness& b) {
  return a.rail == b.rail && a.peer == b.peer && a.remote_rail == b.remote_rail;
}

template <class Which>
bool any(std::span<const Witness> witnesses, Which&& which) {
  return std::any_of(witnesses.begin(), witnesses.end(), which);
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::undecided:
      return "undecided";
    case Verdict::path:
      return "path";
    case Verdict::network:
      return "network";
    case Verdict::remote_port:
      return "remote_port";
    case Verdict::remote_adapter:
      return "remote_adapter";
    case Verdict::local_port:
      return "local_port";
    case Verdict::local_adapter:
      return "local_adapter";
  }
  HAWSER_UNREACHABLE();
}

Verdict judge(const Witness& f, std::span<const Witness> others) {
  // Both ports work: another route between them does.
  if (any(others, [&f](const Witness& w) { return same_ports(w, f) && w.path != f.path && good(w); })) {
    const auto same_way = [&f](const Witness& w) {
      return w.rail == f.rail && w.path == f.path && w.peer != f.peer;
    };
    const bool several = any(others, [&](const Witness& w) { return same_way(w) && bad(w); });
    const bool leads_on = any(others, [&](const Witness& w) { return same_way(w) && good(w); });
    return several && !leads_on ? Verdict::network : Verdict::path;
  }
  // The own port works: other peers are reached through it.
  const auto through_port = [&f](const Witness& w) { return w.rail == f.rail && w.peer != f.peer; };
  if (any(others, [&](const Witness& w) { return through_port(w) && good(w); })) {
    const auto sibling = [&f](const Witness& w) {
      return w.peer == f.peer && w.remote_adapter == f.remote_adapter && w.remote_rail != f.remote_rail;
    };
    const bool fails = any(others, [&](const Witness& w) { return sibling(w) && bad(w); });
    const bool works = any(others, [&](const Witness& w) { return sibling(w) && good(w); });
    return fails && !works ? Verdict::remote_adapter : Verdict::remote_port;
  }
  if (any(others, [&](const Witness& w) { return through_port(w) && bad(w); })) {
    const auto sibling = [&f](const Witness& w) { return w.adapter == f.adapter && w.rail != f.rail; };
    const bool fails = any(others, [&](const Witness& w) { return sibling(w) && bad(w); });
    const bool works = any(others, [&](const Witness& w) { return sibling(w) && good(w); });
    return fails && !works ? Verdict::local_adapter : Verdict::local_port;
  }
  return Verdict::undecided;
}

bool implicated(Verdict verdict, const Witness& failed, const Witness& other) {
  switch (verdict) {
    case Verdict::undecided:
      return same_ports(failed, other);
    case Verdict::path:
      return same_ports(failed, other) && failed.path == other.path;
    case Verdict::network:
      return failed.rail == other.rail && failed.path == other.path;
    case Verdict::remote_port:
      return failed.peer == other.peer && failed.remote_rail == other.remote_rail;
    case Verdict::remote_adapter:
      return failed.peer == other.peer && failed.remote_adapter == other.remote_adapter;
    case Verdict::local_port:
      return failed.rail == other.rail;
    case Verdict::local_adapter:
      return failed.adapter == other.adapter;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
