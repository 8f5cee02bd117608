#include "rails/recovery/address_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/failure.h"
#include "rails/recovery/path_lookup.h"

namespace hawser {
namespace {

// After a change everybody is told at these times, for datagrams are lost.
constexpr Nanoseconds rounds[] = {0, 20 * millisecond, 200 * millisecond, 2 * second, 20 * second};
// A datagram queue holds only so many.
constexpr int at_once = 8;
constexpr Nanoseconds pause = 200 * microsecond;
// The launcher serves all processes of the job. It is asked at most so often, and its answers are looked for
// again and again for some time.
constexpr Nanoseconds launcher_pause = 10 * millisecond, launcher_answer_pause = 2 * millisecond,
                      launcher_answer_time = 200 * millisecond;
constexpr int most_launcher_questions = 64;  // at a time
constexpr std::string_view table_key = "hawser-rails", secret_key = "hawser-rails-secret";

struct AddressBody {
  ProcessIndex process = 0;
  std::uint16_t rail = 0;
  std::uint16_t reserved = 0;
  RailAddress address;
};
struct QuestionBody {
  ProcessIndex about = 0;
};

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

}  // namespace

AddressBook::AddressBook(RailContext& context, const RailResources& resources, const PeerTable& peers,
                         TimerList& timers, Upward& upward, AddressExchange& exchange, PathLookup& paths,
                         ControlMessages& control, MachineEvents& machines)
    : context_(context),
      resources_(resources),
      peers_(peers),
      timers_(timers),
      exchange_(exchange),
      paths_(paths),
      control_(control),
      machines_(machines) {
  upward.tables = this;
}

// The launcher's exchange.

Result<> AddressBook::publish() {
  const std::array<std::uint64_t, 2>& secret = context_.settings.secret;
  if (context_.settings.self == 0)
    HAWSER_TRY(exchange_.put(secret_key, fmt::format("{:016x}{:016x}", secret[0], secret[1])));
  // What changes from here on others have to be told.
  for (std::size_t i = 0; i < resources_.table.rails.size(); ++i) told_[i] = resources_.table.rails[i];
  return exchange_.put(table_key, resources_.table.text());
}

Result<std::array<std::uint64_t, 2>> AddressBook::job_secret() {
  auto text = exchange_.get(0, secret_key);
  if (!text) return text.take_error();
  std::array<std::uint64_t, 2> secret = {};
  const std::string& digits = text.value();
  if (digits.size() != 32) return failure(ErrorKind::other, "the job's secret is not known");
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(digits[i]);
    secret[i / 16] = secret[i / 16] << 4 | (digit & 15);
  }
  if (secret[0] == 0 && secret[1] == 0) return failure(ErrorKind::other, "the job's secret is empty");
  return secret;
}

Result<RailTable> AddressBook::latest_table(ProcessIndex process) {
  // What it told others when this process's own adapters were opened again may not have come here.
  if (changed_ != 0) ask_launcher(process);
  return known_table(process);
}

Result<RailTable> AddressBook::known_table(ProcessIndex process) {
  if (const auto kept = kept_.find(process); kept != kept_.end()) return kept->second;
  auto text = exchange_.get(process, table_key);
  if (!text) return text.take_error();
  auto table = RailTable::parse(text.value());
  const auto heard = heard_.find(process);
  if (!table || heard == heard_.end()) return table;
  std::vector<RailAddress>& rails = table.value().rails;
  for (std::size_t i = 0; i < std::min(rails.size(), heard->second.rails.size()); ++i)
    if (heard->second.rails[i].later_than(rails[i])) rails[i] = heard->second.rails[i];
  return table;
}

RailTable AddressBook::table_of(ProcessIndex process) {
  if (VirtualChannel* const peer = peers_.find(process)) return peer->remote();
  auto table = known_table(process);
  if (!table) return {};
  return std::move(table).value();
}

bool AddressBook::send_to_stranger(Rail& rail, ProcessIndex process, std::span<const std::byte> bytes) {
  const RailTable table = table_of(process);
  if (table.rails.empty()) return false;
  const rdma::PortAddress own = rail.attributes().address;
  const RailAddress& there = table.rails[rail.number() % table.rails.size()];
  if (there.port.link_layer != own.link_layer || there.port.transport != own.transport) return false;
  const auto record = paths_.find(rail, there.port);
  return record.has_value() &&
         rail.datagrams().send({there.port, there.datagram_queue_pair, record->service_level}, bytes);
}

// Telling.

void AddressBook::progress() {
  note_changes();
  if (context_.now >= due_) tell_some();
  if (context_.now >= launcher_due_) hear_launcher();
}

void AddressBook::note_changes() {
  bool any = false;
  for (const auto& rail : resources_.rails) {
    RailAddress& told = told_[rail->number()];
    const RailAddress address = rail->address();
    if (!rail->up() || !address.later_than(told)) continue;
    changed_ |= 1u << rail->number();
    told = address;
    any = true;
  }
  if (!any) return;
  RailTable table = resources_.table;
  std::copy_n(told_.begin(), table.rails.size(), table.rails.begin());
  exchange_.tell_address(table.text());
  ask_about_unreached();
  round_ = 0;
  next_ = 0;
  due_ = context_.now;
}

void AddressBook::tell_some() {
  for (int sent = 0; sent < at_once && next_ < context_.settings.job_size; ++next_) {
    if (next_ == context_.settings.self) continue;
    for (const auto& rail : resources_.rails) {
      if ((changed_ >> rail->number() & 1) == 0 || !rail->up()) continue;
      const auto through = static_cast<std::uint16_t>((rail->number() + round_) % resources_.rails.size());
      tell(next_, context_.settings.self, rail->number(), rail->address(), through);
      ++sent;
    }
  }
  if (next_ < context_.settings.job_size) {
    due_ = context_.now + pause;
    return;
  }
  next_ = 0;
  ++round_;
  due_ = round_ < std::size(rounds) ? context_.now + rounds[round_] : never;
}

bool AddressBook::tell(ProcessIndex to, ProcessIndex about, std::uint16_t rail, const RailAddress& address,
                       std::uint16_t through) {
  const AddressBody body{about, rail, 0, address};
  return control_.send_control(to, through, DatagramKind::address, bytes_of(body));
}

// Asking.

// One that is connected will answer; but who has only this peer must ask strangers, to whom the peer told it,
// too.
void AddressBook::ask(ProcessIndex about) {
  if (context_.now >= launcher_asked_ + launcher_pause) ask_launcher(about);
  const std::size_t count = peers_.known().size();
  for (std::size_t i = 0; i < count; ++i) {
    const VirtualChannel& peer = *peers_.known()[turn_++ % count];
    if (peer.process() == about || peer.lost() || peer.paths().ready() == 0) continue;
    ask(peer.process(), about);
    break;
  }
  const std::int32_t processes = context_.settings.job_size;
  for (std::int32_t i = 0; i < processes; ++i) {
    next_asked_ = (next_asked_ + 1) % processes;
    if (next_asked_ == about || next_asked_ == context_.settings.self) continue;
    ask(next_asked_, about);
    break;
  }
}

void AddressBook::ask(ProcessIndex whom, ProcessIndex about) {
  const auto through = static_cast<std::uint16_t>(++turn_ % resources_.rails.size());
  // For the answer to find the way.
  for (const auto& rail : resources_.rails)
    if ((changed_ >> rail->number() & 1) != 0 && rail->up())
      tell(whom, context_.settings.self, rail->number(), rail->address(), through);
  const QuestionBody body{about};
  control_.send_control(whom, through, DatagramKind::address_query, bytes_of(body));
}

void AddressBook::ask_launcher(ProcessIndex about) {
  exchange_.ask_address(about);
  launcher_asked_ = context_.now;
  launcher_due_ = context_.now + launcher_answer_pause;
  timers_.run_before(launcher_due_);
}

// Their adapters may have failed with the own ones. Whoever is back last finds all others in this way.
void AddressBook::ask_about_unreached() {
  int asked = 0;
  for (const VirtualChannel* peer : peers_.known()) {
    if (peer->lost() || peer->paths().ready() > 0) continue;
    if (++asked > most_launcher_questions) return;
    ask_launcher(peer->process());
  }
}

void AddressBook::hear_launcher() {
  launcher_due_ =
      context_.now < launcher_asked_ + launcher_answer_time ? context_.now + launcher_answer_pause : never;
  for (const auto& [process, text] : exchange_.take_addresses()) {
    const auto table = RailTable::parse(text);
    if (!table || process < 0 || process >= context_.settings.job_size || process == context_.settings.self) {
      context_.report_malformed(process, "addresses by way of the launcher");
      continue;
    }
    const std::vector<RailAddress>& rails = table.value().rails;
    for (std::uint16_t rail = 0; rail < rails.size(); ++rail) learn(process, rail, rails[rail]);
  }
}

void AddressBook::on_question(ProcessIndex from, std::span<const std::byte> bytes) {
  QuestionBody body;
  if (!read_body(bytes, 0, body) || body.about < 0 || body.about >= context_.settings.job_size)
    return context_.report_malformed(
        from, bytes.size() < sizeof(body)
                  ? fmt::format("a question for an address of only {} bytes", bytes.size())
                  : fmt::format("a question for the address of process {}", body.about));
  if (body.about == context_.settings.self) return;
  const RailTable table = table_of(body.about);
  for (std::uint16_t rail = 0; rail < table.rails.size(); ++rail)
    tell(from, body.about, rail, table.rails[rail],
         static_cast<std::uint16_t>((rail + turn_) % resources_.rails.size()));
  ++turn_;
}

void AddressBook::on_address(ProcessIndex from, std::span<const std::byte> bytes) {
  AddressBody body;
  if (!read_body(bytes, 0, body) || body.process < 0 || body.process >= context_.settings.job_size ||
      body.process == context_.settings.self || body.rail >= max_rails) {
    return context_.report_malformed(
        from, bytes.size() < sizeof(body)
                  ? fmt::format("an address of only {} bytes", bytes.size())
                  : fmt::format("the address of rail {} of process {}", body.rail, body.process));
  }
  learn(body.process, body.rail, body.address);
}

void AddressBook::learn(ProcessIndex process, std::uint16_t rail, const RailAddress& address) {
  VirtualChannel* const peer = peers_.find(process);
  if (peer == nullptr) {
    if (const auto kept = kept_.find(process); kept != kept_.end()) {
      if (rail < kept->second.rails.size()) kept->second.learn(rail, address);
      return;
    }
    auto& rails = heard_[process].rails;
    if (rails.size() <= rail) rails.resize(rail + 1u);
    if (address.later_than(rails[rail])) rails[rail] = address;
    return;
  }
  if (rail >= peer->remote().rails.size() || peer->lost() || !address.later_than(peer->remote().rails[rail]))
    return;
  peer->remote().learn(rail, address);
  for (Subchannel& subchannel : peer->subchannels()) {
    if (subchannel.remote_rail == rail)
      machines_.on(subchannel, {.kind = SubchannelEvent::Kind::path_returned});
  }
}

}  // namespace hawser
