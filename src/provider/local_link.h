// LocalLink: a device whose fabric is in this process, in virtual time. Doorbells and calls are function
// calls; nobody can sleep here, so whoever waits for an event fires the fabric's event queue and asks again.
#pragma once

#include <deque>
#include <map>

#include "provider/link.h"
#include "provider/session.h"

namespace hawser::verbs {

class LocalLink final : public Link, private SessionPort {
 public:
  // What a client may have to hear of. Called from within the model: must not call the link.
  class Listener {
   public:
    virtual void on_completion() = 0;   // in a completion queue, armed or not
    virtual void on_async_event() = 0;  // in channel 0
    // A queue was armed for this completion: where there are files, a descriptor is readable now. After
    // on_completion().
    virtual void on_completion_event() = 0;

   protected:
    ~Listener() = default;
  };
  // `places_data`: the client's buffers are this process's memory, and nobody else's.
  LocalLink(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space,
            Listener* listener = nullptr, bool places_data = false);

  Reply call(const Request& request, const SharedBytes* memory) override;
  void linger(std::int64_t) override {}  // whose time it is is not known here
  SharedBytes allocate(std::size_t bytes) override;
  void ring(std::uint32_t queue_pair) override { session_.doorbell(queue_pair); }
  void ring(std::uint32_t queue_pair, std::uint64_t posted) { session_.doorbell(queue_pair, posted); }
  bool rest(std::uint32_t) override { return true; }
  std::uint32_t create_channel() override;
  void destroy_channel(std::uint32_t channel) override { completions_.erase(channel); }
  int descriptor(std::uint32_t) const override { return -1; }
  int read_record(std::uint32_t channel, void* record, std::size_t bytes) override;
  bool overslept() const { return session_.overslept(); }

 private:
  void completion_event(std::uint32_t channel, CompletionRecord record) override;
  void async_event(const AsyncRecord& record) override;
  void completion_written() override;
  bool client_places_data() const override { return places_data_; }

  Listener* const listener_;
  const bool places_data_;
  std::deque<AsyncRecord> events_;
  std::map<std::uint32_t, std::deque<CompletionRecord>> completions_;
  std::uint32_t next_channel_ = 1;
  Session session_;
};

// The adapters of one host of a fabric in this process.
class LocalPlatform final : public Platform {
 public:
  LocalPlatform(fabric::Fabric& fabric, std::int32_t host) : fabric_(fabric), host_(host) {}
  Result<std::vector<AdapterAttributes>> adapters() override;
  Result<std::unique_ptr<Link>> open(std::uint32_t adapter) override;
  // There are no files here: the descriptor itself is what is shared.
  int identify(int descriptor, std::uint64_t& device, std::uint64_t& inode) override {
    device = 0;
    inode = static_cast<std::uint64_t>(descriptor);
    return 0;
  }
  void complain(const std::string& text) override { once_per_outage.push_back(text); }

  std::vector<std::string> once_per_outage;

 private:
  fabric::Fabric& fabric_;
  std::int32_t host_;
};

}  // namespace hawser::verbs
