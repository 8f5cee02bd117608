// Address handles where making one waits for a port that does not answer (real kernels over RoCE): whoever
// sends must not wait, nor ask all the time, nor stand behind others.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "local_rails.h"

namespace hawser::rdma::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// ibv_create_ah as a kernel does it: a port whose GID ends with `silent` does not answer.
class Kernel {
 public:
  static constexpr std::uint8_t silent = 0xee;
  static inline std::mutex lock;
  static inline std::condition_variable changed;
  static inline bool held = false;  // calls about the silent port wait while this is so
  static inline int calls = 0, silent_calls = 0, waiting = 0;
  static inline bool caller_held = false;  // the thread that sends would have waited
  static inline std::thread::id caller;

  static ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
    std::unique_lock guard(lock);
    ++calls;
    if (attributes->grh.dgid.raw[15] != silent) return ::ibv_create_ah(domain, attributes);
    ++silent_calls;
    if (std::this_thread::get_id() == caller) {
      caller_held |= held;
    } else {
      ++waiting;
      changed.notify_all();
      changed.wait(guard, [] { return !held; });
      --waiting;
    }
    errno = ETIMEDOUT;
    return nullptr;
  }
  static void release() {
    const std::scoped_lock guard(lock);
    held = false;
    changed.notify_all();
  }
  static void begin(bool hold) {
    held = hold;
    calls = silent_calls = waiting = 0;
    caller_held = false;
    caller = std::this_thread::get_id();
  }
};

class AddressHandlesTest : public testing::Test {
 protected:
  static fabric::Parameters ethernet() {
    fabric::Parameters parameters;
    parameters.link_layer = fabric::LinkLayer::ethernet;
    return parameters;
  }
  ~AddressHandlesTest() override { Kernel::release(); }

  void open(bool hold) {
    Kernel::begin(hold);
    near_ = rails_.open_first(0);
    far_ = rails_.open_first(1);
    VerbsFunctions functions = linked_provider_functions();
    functions.may_wait = true;
    functions.create_ah = &Kernel::create_ah;
    near_.reset();
    turn() = &platform();
    VerbsDeviceSource source(functions);
    near_ = std::move(source.open_devices().value().front());
    datagrams_ = near_->make_datagram_queue_pair(1, 7).value();
    peer_ = far_->make_datagram_queue_pair(1, 7).value();
    to_peer_ = {far_->query_port(1).value().address, peer_->number()};
    to_silent_ = to_peer_;
    to_silent_.port.gids[2][15] = Kernel::silent;
  }
  verbs::Platform& platform() { return *rails_.platform(0); }
  // Until the handle is there.
  bool sent_in_time() {
    for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(1ms))
      if (datagrams_->send(to_peer_, text_)) return true;
    return false;
  }

  LocalRails rails_{two_hosts(), ethernet()};
  std::unique_ptr<Device> near_, far_;
  std::unique_ptr<DatagramQueuePair> datagrams_, peer_;
  DatagramAddress to_peer_, to_silent_;
  const std::byte text_[5] = {};
};

TEST_F(AddressHandlesTest, WhoSendsDoesNotWaitForAPortThatDoesNotAnswer) {
  open(true);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(datagrams_->send(to_silent_, text_));
  EXPECT_FALSE(datagrams_->answers(to_silent_.port));
  {
    std::unique_lock guard(Kernel::lock);
    EXPECT_TRUE(Kernel::changed.wait_for(guard, 60s, [] { return Kernel::waiting == 1; }));
  }
  EXPECT_FALSE(Kernel::caller_held);
  // Others are reached meanwhile, and a connection to them does not wait.
  EXPECT_TRUE(sent_in_time());
  EXPECT_TRUE(datagrams_->answers(to_peer_.port));
  rails_.run();
  EXPECT_EQ(peer_->receive().size(), sizeof text_);
  EXPECT_EQ(Kernel::silent_calls, 1);
}

TEST_F(AddressHandlesTest, APortThatDoesNotAnswerIsAskedLessAndLess) {
  open(false);
  const auto begin = Clock::now();
  while (Clock::now() - begin < 500ms) {
    EXPECT_FALSE(datagrams_->send(to_silent_, text_));
    std::this_thread::sleep_for(100us);
  }
  // After 0, 20, 60, 140, 300, 620, 1260 ms, then every second at most.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
  const std::scoped_lock guard(Kernel::lock);
  EXPECT_GE(Kernel::silent_calls, 1);
  EXPECT_LE(Kernel::silent_calls, 6 + 2 * seconds);
}

TEST_F(AddressHandlesTest, HandlesAreMadeAnewWhenTheOwnAddressChanges) {
  open(false);
  ASSERT_TRUE(sent_in_time());
  rails_.run();
  const int before = Kernel::calls;
  rails_.inject("gid n0/hw0 move 0 3");
  rails_.run();
  ASSERT_TRUE(near_->query_port(1));
  ASSERT_TRUE(sent_in_time());
  rails_.run();
  EXPECT_GT(Kernel::calls, before);
  EXPECT_EQ(peer_->receive().size(), sizeof text_);
  EXPECT_EQ(peer_->receive().size(), sizeof text_);
}

// A queue pair that goes while somebody is asked waits for the answer: what was asked uses its domain.
TEST_F(AddressHandlesTest, AnAnswerThatComesLateFindsItsDevice) {
  open(true);
  EXPECT_FALSE(datagrams_->send(to_silent_, text_));
  {
    std::unique_lock guard(Kernel::lock);
    ASSERT_TRUE(Kernel::changed.wait_for(guard, 60s, [] { return Kernel::waiting == 1; }));
  }
  std::thread later([] {
    std::this_thread::sleep_for(20ms);
    Kernel::release();
  });
  datagrams_.reset();
  EXPECT_EQ(Kernel::waiting, 0);
  later.join();
}

}  // namespace
}  // namespace hawser::rdma::test
