// verbs_shell: a verbs program that does what it is told, one JSON object a line on standard input, one
// answer a line on standard output. A driver starts one on every virtual host and carries addresses between
// them, so that a scenario reads as one story (fabric_faults_test.py).
//
// It keeps the books itself: bytes around its registered memory that nobody may touch, and how often every
// work request has completed (`audit`). Every request is signaled.
#include "verbs_support.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace verbs_test;
using Json = nlohmann::json;

constexpr std::size_t guard = 1 << 16;
constexpr std::byte guard_byte{0xa5};

const std::map<std::string, ibv_wr_opcode> opcodes{{"send", IBV_WR_SEND},
                                                   {"send_imm", IBV_WR_SEND_WITH_IMM},
                                                   {"write", IBV_WR_RDMA_WRITE},
                                                   {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
                                                   {"read", IBV_WR_RDMA_READ},
                                                   {"swap", IBV_WR_ATOMIC_CMP_AND_SWP},
                                                   {"add", IBV_WR_ATOMIC_FETCH_AND_ADD}};
const std::map<std::string, ibv_qp_state> states{{"RESET", IBV_QPS_RESET}, {"ERR", IBV_QPS_ERR}};

constexpr int rights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

class Shell {
 public:
  Json answer(const Json& request);

 private:
  Json open(const Json& r);
  Json create(const Json& r);
  Json connect(const Json& r);
  Json post(const Json& r);
  Json receive(const Json& r);
  Json poll_completions(const Json& r);
  Json sleep_for_completion(const Json& r);
  Json events(const Json& r);
  Json query(const Json& r);
  Json audit(const Json& r);
  Json fill(const Json& r);
  Json store(const Json& r);
  Json look(const Json& r);
  Json modify(const Json& r);
  Json rearm(const Json& r);
  Json close_all(const Json& r);
  Json flow(const Json& r);
  Json burst(const Json& r);
  Json times(const Json& r);

  ibv_ah_attr path(const Json& r) const;
  ibv_qp* qp_of(const Json& r) { return qps_.at(r.value("qp", std::size_t{0})); }
  ibv_sge segment(const Json& r) const;
  ibv_send_wr request_of(const Json& r, ibv_sge& element) const;
  // {offset, bytes} of the registered memory.
  std::span<std::byte> range(const Json& r) {
    const std::size_t offset = r.value("offset", std::size_t{0}), bytes = r.at("bytes").get<std::size_t>();
    if (offset + bytes > bytes_) throw std::runtime_error("outside the memory");
    return std::span(memory_).subspan(guard + offset, bytes);
  }
  Json note_posted(std::uint64_t id) {
    if (!posted_.emplace(id, 0).second) throw std::runtime_error("an id was used twice");
    return Json::object();
  }
  static std::int64_t deadline_of(const Json& r) {
    return now() + r.value("milliseconds", std::int64_t{60'000}) * 1'000'000;
  }
  Json take(const ibv_wc& wc);

  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq_ex* cq_ex_ = nullptr;  // the same
  ibv_cq* cq_ = nullptr;
  std::vector<std::byte> memory_;
  std::size_t bytes_ = 0;
  ibv_mr* region_ = nullptr;
  std::uint8_t port_ = 1;
  bool global_ = false;
  std::vector<ibv_qp*> qps_;
  std::map<std::uint64_t, int> posted_;  // how often each work request has completed
};

// {device, port, bytes, completions} -> where others find this memory and this port.
Json Shell::open(const Json& r) {
  const std::string wanted = r.value("device", "hw0");
  int count = 0;
  ibv_device** const list = made("ibv_get_device_list", ibv_get_device_list(&count));
  for (int i = 0; i < count && context_ == nullptr; ++i) {
    if (wanted == ibv_get_device_name(list[i])) context_ = made("ibv_open_device", ibv_open_device(list[i]));
  }
  ibv_free_device_list(list);
  if (context_ == nullptr)
    throw std::runtime_error("there is no device " + wanted + " among " + std::to_string(count));
  port_ = r.value("port", std::uint8_t{1});
  domain_ = made("ibv_alloc_pd", ibv_alloc_pd(context_));
  channel_ = made("ibv_create_comp_channel", ibv_create_comp_channel(context_));
  ibv_cq_init_attr_ex queue{};
  queue.cqe = r.value("completions", 1024u);
  queue.channel = channel_;
  queue.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  cq_ex_ = made("ibv_create_cq_ex", ibv_create_cq_ex(context_, &queue));
  cq_ = ibv_cq_ex_to_cq(cq_ex_);
  bytes_ = r.value("bytes", std::size_t{1} << 20);
  memory_.assign(bytes_ + 2 * guard, guard_byte);
  std::byte* const start = memory_.data() + guard;
  std::memset(start, 0, bytes_);
  region_ = made("ibv_reg_mr", ibv_reg_mr(domain_, start, bytes_, r.value("rights", rights)));
  ibv_port_attr port{};
  check("ibv_query_port", ibv_query_port(context_, port_, &port));
  global_ = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  ibv_gid gid{};
  check("ibv_query_gid", ibv_query_gid(context_, port_, 0, &gid));
  ibv_device_attr device{};
  check("ibv_query_device", ibv_query_device(context_, &device));
  Json lids = Json::array();
  for (std::uint8_t each = 1; each <= device.phys_port_cnt; ++each) {
    check("ibv_query_port", ibv_query_port(context_, each, &port));
    lids.push_back(port.lid);
  }
  return {{"lids", lids},
          {"gid", gid_text(gid)},
          {"address", reinterpret_cast<std::uintptr_t>(start)},
          {"rkey", region_->rkey},
          {"lkey", region_->lkey}};
}

Json Shell::create(const Json& r) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_;
  init.qp_type = IBV_QPT_RC;
  init.cap = {r.value("depth", 256u), r.value("depth", 256u), 1, 1, 0};
  ibv_qp* const qp = made("ibv_create_qp", ibv_create_qp(domain_, &init));
  qps_.push_back(qp);
  return {{"qp", qps_.size() - 1}, {"number", qp->qp_num}};
}

ibv_ah_attr Shell::path(const Json& r) const {
  const std::uint8_t bits = r.value("path_bits", std::uint8_t{0});
  ibv_ah_attr out{};
  out.dlid = static_cast<std::uint16_t>(r.at("lid").get<unsigned>() + bits);
  out.src_path_bits = bits;
  out.port_num = r.value("port", port_);
  if (global_) {
    out.is_global = 1;
    out.grh.dgid = gid_of(r.at("gid").get<std::string>());
    out.grh.hop_limit = 1;
  }
  return out;
}

// {number, lid, gid, timeout, retries, rnr_retries, rnr_timer, reads, alternate: {lid, path_bits, port}}
Json Shell::connect(const Json& r) {
  ibv_qp* const qp = qp_of(r);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = r.value("port", port_);
  attr.qp_access_flags = static_cast<unsigned>(r.value("rights", rights));
  check("to INIT",
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr = path(r);
  attr.path_mtu = IBV_MTU_2048;
  attr.dest_qp_num = r.at("number").get<std::uint32_t>();
  attr.max_dest_rd_atomic = r.value("reads", std::uint8_t{4});
  attr.min_rnr_timer = r.value("rnr_timer", std::uint8_t{12});
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (r.contains("alternate")) {
    attr.alt_ah_attr = path(r.at("alternate"));
    attr.alt_port_num = attr.alt_ah_attr.port_num;
    attr.alt_timeout = r.value("timeout", std::uint8_t{14});
    mask |= IBV_QP_ALT_PATH;
  }
  check("to RTR", ibv_modify_qp(qp, &attr, mask));
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = r.value("timeout", std::uint8_t{14});
  attr.retry_cnt = r.value("retries", std::uint8_t{7});
  attr.rnr_retry = r.value("rnr_retries", std::uint8_t{7});
  attr.max_rd_atomic = attr.max_dest_rd_atomic;
  attr.path_mig_state = IBV_MIG_REARM;
  mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
         IBV_QP_MAX_QP_RD_ATOMIC;
  if (r.contains("alternate")) mask |= IBV_QP_PATH_MIG_STATE;
  check("to RTS", ibv_modify_qp(qp, &attr, mask));
  return Json::object();
}

ibv_sge Shell::segment(const Json& r) const {
  // An offset may lie outside the region: that is what tests of protection do.
  const auto start = reinterpret_cast<std::uintptr_t>(memory_.data()) + guard;
  return {start + static_cast<std::uint64_t>(r.value("offset", std::int64_t{0})), r.value("bytes", 0u),
          r.value("lkey", region_->lkey)};
}

ibv_send_wr Shell::request_of(const Json& r, ibv_sge& element) const {
  element = segment(r);
  ibv_send_wr wr{};
  wr.wr_id = r.value("id", std::uint64_t{0});
  wr.sg_list = &element;
  wr.num_sge = 1;
  wr.opcode = opcodes.at(r.at("op").get<std::string>());
  wr.send_flags = IBV_SEND_SIGNALED;
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = r.at("remote").get<std::uint64_t>();
    wr.wr.atomic.rkey = r.at("rkey").get<std::uint32_t>();
    wr.wr.atomic.compare_add = r.value("compare_add", std::uint64_t{0});
    wr.wr.atomic.swap = r.value("swap", std::uint64_t{0});
  } else {
    wr.wr.rdma.remote_addr = r.value("remote", std::uint64_t{0});
    wr.wr.rdma.rkey = r.value("rkey", 0u);
  }
  return wr;
}

Json Shell::post(const Json& r) {
  ibv_sge element{};
  ibv_send_wr wr = request_of(r, element);
  ibv_send_wr* bad = nullptr;
  check("ibv_post_send", ibv_post_send(qp_of(r), &wr, &bad));
  return note_posted(wr.wr_id);
}

Json Shell::receive(const Json& r) {
  ibv_sge element = segment(r);
  ibv_recv_wr wr{};
  wr.wr_id = r.value("id", std::uint64_t{0});
  wr.sg_list = &element;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  check("ibv_post_recv", ibv_post_recv(qp_of(r), &wr, &bad));
  return note_posted(wr.wr_id);
}

Json Shell::take(const ibv_wc& wc) {
  ++posted_[wc.wr_id];
  return {{"id", wc.wr_id},
          {"status", wc.status},

          {"bytes", wc.byte_len}};
}

// {count, milliseconds} -> as many completions as came in that time. More than `count` are told too.
Json Shell::poll_completions(const Json& r) {
  const auto count = r.value("count", std::size_t{1});
  const std::int64_t deadline = deadline_of(r);
  Json found = Json::array();
  for (;;) {
    ibv_wc wc{};
    const int got = ibv_poll_cq(cq_, 1, &wc);
    if (got < 0) return {{"completions", found}, {"failed", got}};
    if (got > 0) found.push_back(take(wc));
    if (got == 0 && (found.size() >= count || now() >= deadline)) return {{"completions", found}};
  }
}

// Arms the completion queue and waits for its event, as programs do that do not poll.
Json Shell::sleep_for_completion(const Json& r) {
  const std::int64_t deadline = deadline_of(r);
  check("ibv_req_notify_cq", ibv_req_notify_cq(cq_, 0));
  std::cout << "{\"armed\": true}" << std::endl;
  if (!readable(channel_->fd, deadline)) return {{"event", false}};
  ibv_cq* cq = nullptr;
  void* argument = nullptr;
  if (ibv_get_cq_event(channel_, &cq, &argument) != 0) return {{"failed", errno}};
  ibv_ack_cq_events(cq, 1);
  return {{"event", true}};
}

// {count, milliseconds} -> asynchronous events, in order.
Json Shell::events(const Json& r) {
  const auto count = r.value("count", std::size_t{1});
  const std::int64_t deadline = deadline_of(r);
  Json found = Json::array();
  while (readable(context_->async_fd, found.size() >= count ? 0 : deadline)) {
    ibv_async_event event{};
    if (ibv_get_async_event(context_, &event) != 0) return {{"events", found}, {"failed", errno}};
    Json each{{"event", event.event_type}};
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      if (event.element.qp == qps_[i]) each["qp"] = i;
    }
    found.push_back(each);
    ibv_ack_async_event(&event);
  }
  return {{"events", found}};
}

Json Shell::query(const Json& r) {
  ibv_port_attr port{};
  check("ibv_query_port", ibv_query_port(context_, port_, &port));
  ibv_gid first{};
  check("ibv_query_gid", ibv_query_gid(context_, port_, 0, &first));
  Json out{{"port_state", ibv_port_state_str(port.state)}, {"lid", port.lid}, {"gid", gid_text(first)}};
  if (qps_.empty()) return out;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  check("ibv_query_qp",
        ibv_query_qp(qp_of(r), &attr, IBV_QP_STATE | IBV_QP_PATH_MIG_STATE | IBV_QP_AV, &init));
  static constexpr const char* states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  static constexpr const char* migration[] = {"MIGRATED", "REARM", "ARMED"};
  out["state"] = states[attr.qp_state];
  out["migration"] = migration[attr.path_mig_state];
  out["path_lid"] = attr.ah_attr.dlid;
  out["path_port"] = attr.ah_attr.port_num;
  return out;
}

Json Shell::audit(const Json&) {
  const auto whole = [&](std::size_t from) {
    return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(from),
                       memory_.begin() + static_cast<std::ptrdiff_t>(from + guard),
                       [](std::byte each) { return each == guard_byte; });
  };
  Json missing = Json::array(), repeated = Json::array();
  for (const auto& [id, times] : posted_) {
    if (times == 0) missing.push_back(id);
    if (times > 1) repeated.push_back(id);
  }
  return {{"guards", whole(0) && whole(guard + bytes_)},
          {"missing", missing},
          {"repeated", repeated},
          {"posted", posted_.size()}};
}

// {depth} plus a request: keeps so many of it going until one fails.
Json Shell::flow(const Json& r) {
  ibv_sge element{};
  ibv_send_wr wr = request_of(r, element);
  ibv_send_wr* bad = nullptr;
  for (int i = 0; i < r.value("depth", 8); ++i) check("ibv_post_send", ibv_post_send(qp_of(r), &wr, &bad));
  for (;;) {
    ibv_wc wc{};
    const int got = ibv_poll_cq(cq_, 1, &wc);
    if (got < 0) throw std::runtime_error("ibv_poll_cq failed");
    if (got == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
    check("ibv_post_send", ibv_post_send(qp_of(r), &wr, &bad));
  }
}

// {count, fenced} plus a request: posts so many of it at once. Fenced: each read waits for the one before.
Json Shell::burst(const Json& r) {
  ibv_sge element{};
  const ibv_send_wr one = request_of(r, element);
  std::vector<ibv_send_wr> requests(r.at("count").get<std::size_t>(), one);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].wr_id = one.wr_id + i;
    if (r.value("fenced", false)) requests[i].send_flags |= IBV_SEND_FENCE;
    if (i + 1 < requests.size()) requests[i].next = &requests[i + 1];
    note_posted(requests[i].wr_id);
  }
  ibv_send_wr* bad = nullptr;
  check("ibv_post_send", ibv_post_send(qp_of(r), requests.data(), &bad));
  return Json::object();
}

// {count, milliseconds} -> when so many requests completed, by the adapter's clock, in nanoseconds.
Json Shell::times(const Json& r) {
  const auto count = r.at("count").get<std::size_t>();
  const std::int64_t deadline = deadline_of(r);
  Json found = Json::array();
  while (found.size() < count && now() < deadline) {
    ibv_poll_cq_attr none{};
    const int got = ibv_start_poll(cq_ex_, &none);
    if (got == ENOENT) continue;
    check("ibv_start_poll", got);
    if (cq_ex_->status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(cq_ex_->status));
    ++posted_[cq_ex_->wr_id];
    found.push_back(ibv_wc_read_completion_ts(cq_ex_));
    ibv_end_poll(cq_ex_);
  }
  return {{"times", found}};
}

// {offset, bytes, seed}
Json Shell::fill(const Json& r) {
  std::uint64_t state = r.at("seed").get<std::uint64_t>();
  for (std::byte& each : range(r)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    each = static_cast<std::byte>(state >> 56);
  }
  return Json::object();
}

// {offset, value}: 64 bits.
Json Shell::store(const Json& r) {
  const auto value = r.at("value").get<std::uint64_t>();
  std::memcpy(range({{"offset", r.at("offset")}, {"bytes", sizeof value}}).data(), &value, sizeof value);
  return Json::object();
}

// {offset, bytes} -> the values, when they are few, and their digest.
Json Shell::look(const Json& r) {
  constexpr std::size_t few = 4096;
  const std::span<std::byte> wanted = range(r);
  std::uint64_t digest = 14695981039346656037u;
  std::vector<unsigned> values;
  for (const std::byte each : wanted) {
    digest = (digest ^ std::to_integer<unsigned>(each)) * 1099511628211u;
    if (wanted.size() <= few) values.push_back(std::to_integer<unsigned>(each));
  }
  return {{"values", values}, {"digest", digest}};
}

Json Shell::modify(const Json& r) {
  ibv_qp_attr attr{};
  attr.qp_state = states.at(r.at("state").get<std::string>());
  check("ibv_modify_qp", ibv_modify_qp(qp_of(r), &attr, IBV_QP_STATE));
  return Json::object();
}

// {lid, path_bits, port}: another alternate path, to be armed.
Json Shell::rearm(const Json& r) {
  ibv_qp_attr attr{};
  attr.alt_ah_attr = path(r);
  attr.alt_port_num = attr.alt_ah_attr.port_num;
  attr.alt_timeout = r.value("timeout", std::uint8_t{14});
  attr.path_mig_state = IBV_MIG_REARM;
  check("ibv_modify_qp", ibv_modify_qp(qp_of(r), &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
  return Json::object();
}

// Gives everything back -> what each step answered.
Json Shell::close_all(const Json&) {
  Json out = Json::array();
  for (ibv_qp* const each : qps_) out.push_back(ibv_destroy_qp(each));
  out.push_back(ibv_dereg_mr(region_));
  out.push_back(ibv_destroy_cq(cq_));
  out.push_back(ibv_destroy_comp_channel(channel_));
  out.push_back(ibv_dealloc_pd(domain_));
  out.push_back(ibv_close_device(context_));
  qps_.clear();
  context_ = nullptr;
  return {{"answers", out}};
}

Json Shell::answer(const Json& r) {
  static const std::map<std::string, Json (Shell::*)(const Json&)> verbs{
      {"open", &Shell::open},       {"create", &Shell::create},
      {"connect", &Shell::connect}, {"post", &Shell::post},
      {"receive", &Shell::receive}, {"poll", &Shell::poll_completions},
      {"events", &Shell::events},   {"sleep", &Shell::sleep_for_completion},
      {"query", &Shell::query},     {"audit", &Shell::audit},
      {"flow", &Shell::flow},       {"burst", &Shell::burst},
      {"times", &Shell::times},     {"fill", &Shell::fill},
      {"look", &Shell::look},       {"store", &Shell::store},
      {"modify", &Shell::modify},   {"rearm", &Shell::rearm},
      {"close", &Shell::close_all}};
  const auto verb = verbs.find(r.at("do").get<std::string>());
  if (verb == verbs.end()) throw std::runtime_error("there is no " + r.at("do").dump());
  return (this->*verb->second)(r);
}

}  // namespace

int main() {
  Shell shell;
  std::string line;
  while (std::getline(std::cin, line)) {
    Json answer;
    try {
      answer = shell.answer(Json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
