#include "access/verbs/address_handles.h"

#include <csignal>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "access/verbs/verbs_translation.h"

namespace hawser::rdma {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_addresses = 8192;
// A destination that does not answer holds a thread up for a second: others do not wait behind it.
constexpr int most_threads = 8;
// Kernels believe an Ethernet address for 15 s at least before they ask again.
constexpr auto believed_for = 5s;
constexpr auto first_pause = 20ms, longest_pause = 1000ms;

}  // namespace

struct AddressHandles::Asked {
  struct Question {
    Key key;
    std::uint32_t generation;
    ibv_ah_attr attributes;
  };
  struct Answer {
    Key key;
    std::uint32_t generation;
    ibv_ah* handle;  // null: none
  };
  decltype(VerbsFunctions::create_ah) create = nullptr;
  ibv_pd* domain = nullptr;
  std::mutex lock;
  std::condition_variable ended;
  std::deque<Question> questions;
  std::vector<Answer> answers;
  int threads = 0;
  std::atomic<bool> any_answer = false;
};

AddressHandles::AddressHandles(VerbsDevice& device, std::uint8_t port)
    : device_(device), port_(port), asked_(std::make_shared<Asked>()) {
  asked_->create = device.functions().create_ah;
  asked_->domain = device.domain();
}

AddressHandles::~AddressHandles() {
  {
    std::unique_lock lock(asked_->lock);
    asked_->questions.clear();
    asked_->ended.wait(lock, [this] { return asked_->threads == 0; });
    asked_->any_answer = true;
  }
  ++generation_;
  take_answers();
  drop();
}

bool AddressHandles::in_background() const {
  if (!device_.functions().may_wait) return false;
  const auto own = device_.port_attributes(port_);
  return own && own.value().address.link_layer == LinkLayer::ethernet;
}

AddressHandles::Key AddressHandles::key_of(const PortAddress& to, std::uint8_t service_level) {
  return {std::bit_cast<decltype(Key::port)>(to), service_level};
}

ibv_ah* AddressHandles::find(const PortAddress& to, std::uint8_t service_level) {
  take_answers();
  const Key key = key_of(to, service_level);
  Entry& entry = entries_[key];
  if (entry.handle == nullptr) ask(key, to, entry);
  return entry.handle;
}

bool AddressHandles::answers(const PortAddress& to) {
  if (!in_background()) return true;
  take_answers();
  const Key key = key_of(to, 0);
  Entry& entry = entries_[key];
  const bool known = entry.handle != nullptr && Clock::now() - entry.answered < believed_for;
  if (!known) ask(key, to, entry);
  return known;
}

void AddressHandles::ask(const Key& key, const PortAddress& to, Entry& entry) {
  if (entry.asked || (entry.failures > 0 && Clock::now() < entry.due)) return;
  const auto own = device_.port_attributes(port_);
  if (!own) return;
  Route route;
  route.destination = to;
  route.port = port_;
  route.service_level = key.service_level;
  ibv_ah_attr attributes = address_vector(own.value(), route);
  if (!in_background()) {
    entry.handle = device_.functions().create_ah(device_.domain(), &attributes);
    return;
  }
  entry.asked = true;
  const std::scoped_lock guard(asked_->lock);
  asked_->questions.push_back({key, generation_, attributes});
  if (asked_->threads == most_threads) return;
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([asked = asked_] { work(asked); }).detach();
    ++asked_->threads;
  } catch (const std::system_error&) {  // no more threads: those that there are do it, or the next call
    if (asked_->threads == 0) {
      asked_->questions.pop_back();
      note(entry, nullptr);
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void AddressHandles::work(const std::shared_ptr<Asked>& asked) {
  std::unique_lock lock(asked->lock);
  while (!asked->questions.empty()) {
    Asked::Question question = asked->questions.front();
    asked->questions.pop_front();
    lock.unlock();
    ibv_ah* const handle = asked->create(asked->domain, &question.attributes);
    lock.lock();
    asked->answers.push_back({question.key, question.generation, handle});
    asked->any_answer.store(true, std::memory_order_release);
  }
  --asked->threads;
  asked->ended.notify_all();
}

void AddressHandles::take_answers() {
  if (!asked_->any_answer.load(std::memory_order_acquire)) return;
  std::vector<Asked::Answer> answers;
  {
    const std::scoped_lock guard(asked_->lock);
    answers.swap(asked_->answers);
    asked_->any_answer.store(false, std::memory_order_relaxed);
  }
  for (const Asked::Answer& answer : answers) {
    if (answer.generation == generation_)
      note(entries_[answer.key], answer.handle);
    else if (answer.handle != nullptr)
      device_.functions().destroy_ah(answer.handle);
  }
}

void AddressHandles::note(Entry& entry, ibv_ah* made) {
  entry.asked = false;
  const auto now = Clock::now();
  if (made == nullptr) {
    const auto pause =
        std::min<Clock::duration>(longest_pause, first_pause * (1 << std::min(entry.failures, 6u)));
    ++entry.failures;
    entry.due = now + pause;
    return;
  }
  entry.failures = 0;
  entry.answered = now;
  // The newer one has the Ethernet address of today.
  if (ibv_ah* const old = std::exchange(entry.handle, made)) replaced_.push_back(old);
}

bool AddressHandles::tidy(bool in_use) {
  take_answers();
  const bool all = stale_ || entries_.size() >= most_addresses;
  if (in_use) return !all;
  for (ibv_ah* const old : replaced_) device_.functions().destroy_ah(old);
  replaced_.clear();
  if (all) {
    ++generation_;
    drop();
    stale_ = false;
  }
  return true;
}

void AddressHandles::drop() {
  for (ibv_ah* const old : replaced_) device_.functions().destroy_ah(old);
  replaced_.clear();
  for (const auto& [to, entry] : entries_)
    if (entry.handle != nullptr) device_.functions().destroy_ah(entry.handle);
  entries_.clear();
}

}  // namespace hawser::rdma
