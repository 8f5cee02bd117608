// The table's rows of connections that are closed on purpose.
#include "rails/decision/subchannel_machine_test_support.h"

namespace hawser::machine_test {

std::vector<Row> rows_of_closing() {
  using enum State;
  using K = EventKind;
  const std::string closes = "show(closing,torn_down) leave_service(torn_down)";
  const std::string suspect_closes = "show(closing,torn_down) use_again leave_service(torn_down)";
  const std::string flushed = " send_close(5:9,0) -> closing";
  const std::string gone = "forget destroy drop_unsequenced";
  const std::string told = gone + " send_parted(5:3,9,0) -> parting";
  return {
      {"close, with something under way",
       {.kind = K::close, .own_received = 3, .own_sent = 9},
       false,
       {{ready, closes + " -> closing"},
        {suspected, suspect_closes + " -> closing"},
        {connecting, "forget destroy show(parked,torn_down) park(connecting) -> parked"},
        {failed, "show(parked,torn_down) park(failed) -> parked"},
        {asking, "show(parked,torn_down) park(asking) -> parked"}}},
      {"close, with nothing under way",
       {.kind = K::close, .flushed = true, .own_received = 3, .own_sent = 9},
       false,
       {{ready, closes + flushed},
        {suspected, suspect_closes + flushed},
        {connecting, "forget destroy show(parked,torn_down) park(connecting) -> parked"},
        {failed, "show(parked,torn_down) park(failed) -> parked"},
        {asking, "show(parked,torn_down) park(asking) -> parked"}}},
      {"look, and all is there",
       {.kind = K::look, .flushed = true, .own_received = 3, .own_sent = 9},
       false,
       {{probing, "send_probes"}, {emptying, told}}},
      {"look, and something is to come",
       {.kind = K::look, .flushed = true, .own_received = 2, .own_sent = 9},
       false,
       {{probing, "send_probes"}}},
      {"peer_closes, with something under way",
       {.kind = K::peer_closes, .connection_generation = 5, .sent = 3, .own_received = 3, .own_sent = 9},
       false,
       elsewhere("stale", {{ready, closes + " -> emptying"},
                           {suspected, suspect_closes + " -> emptying"},
                           {closing, "-> emptying"},
                           {emptying, ""},
                           {parting, ""},
                           {failed, "send_parted(5:3,9,0)"},
                           {asking, "send_parted(5:3,9,0)"},
                           {parked, "send_parted(5:3,9,0)"}})},
      {"peer_closes, and all is there",
       {.kind = K::peer_closes,
        .connection_generation = 5,
        .sent = 3,
        .flushed = true,
        .own_received = 3,
        .own_sent = 9},
       false,
       elsewhere("stale", {{ready, closes + " " + told},
                           {suspected, suspect_closes + " " + told},
                           {closing, told},
                           {emptying, ""},
                           {parting, ""},
                           {failed, "send_parted(5:3,9,0)"},
                           {asking, "send_parted(5:3,9,0)"},
                           {parked, "send_parted(5:3,9,0)"}})},
      {"peer_closes, another",
       {.kind = K::peer_closes, .connection_generation = 4},
       false,
       elsewhere("stale", {})},
  };
}

std::vector<Row> rows_of_parting() {
  using enum State;
  using K = EventKind;
  const std::string gone = "forget destroy drop_unsequenced send_answer(5:3,0) " + parts;
  const std::map<State, std::string> as_a_fence = {
      {closed, "forget send_answer(5:0,0)"},
      {connecting, given_up + " send_answer(5:0,0) -> failed"},
      {stopping, "-> answering"},
      {answering, ""},
      {fencing, "send_answer(5:3,0) reissue(7) show(failed,none) -> failed"},
      {failed, "send_answer(5:3,0)"},
      {asking, "send_answer(5:3,0)"},
      {parting, "send_answer(5:3,0) " + parts},
      {parked, "send_answer(5:3,0)"}};
  return {
      {"peer_parted, with something under way",
       {.kind = K::peer_parted,
        .connection_generation = 5,
        .received = 7,
        .sent = 3,
        .own_received = 3,
        .own_sent = 9},
       false,
       elsewhere("stale", with(as_a_fence, {{closing, "-> emptying"}, {emptying, ""}}))},
      {"peer_parted, and all is there",
       {.kind = K::peer_parted,
        .connection_generation = 5,
        .received = 7,
        .sent = 3,
        .flushed = true,
        .own_received = 3,
        .own_sent = 9},
       false,
       elsewhere("stale", with(as_a_fence, {{closing, gone}, {emptying, gone}}))},
      {"peer_parted, another",
       {.kind = K::peer_parted, .connection_generation = 0xffffff00},
       false,
       elsewhere("stale", {})},
  };
}

}  // namespace hawser::machine_test
