#include "launch/mpiexec/pmi_server.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "launch/fence_frame.h"

namespace hawser {
namespace {

PmiJob job(int size) {
  return {"job", "(vector,(0,1,2))", 7, std::vector<int>(static_cast<std::size_t>(size), 0)};
}

std::string ask(PmiServer& server, int rank, std::string_view line) {
  server.receive(rank, line);
  return server.take_output(rank);
}

TEST(PmiServer, InitializationAsMpichDoesIt) {
  PmiServer server(job(2));
  EXPECT_EQ(server.phase(0), PmiServer::Phase::absent);
  EXPECT_EQ(ask(server, 0, "cmd=init pmi_version=1 pmi_subversion=1\n"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(ask(server, 0, "cmd=get_maxes\n"), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  EXPECT_EQ(ask(server, 0, "cmd=get_appnum\n"), "cmd=appnum appnum=0\n");
  EXPECT_EQ(ask(server, 0, "cmd=get_universe_size\n"), "cmd=universe_size size=7\n");
  EXPECT_EQ(ask(server, 0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname kvsname=job\n");
  EXPECT_EQ(ask(server, 0, "cmd=get kvsname=job key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
  EXPECT_EQ(server.phase(0), PmiServer::Phase::active);
  EXPECT_EQ(ask(server, 0, "cmd=finalize\n"), "cmd=finalize_ack\n");
  EXPECT_EQ(server.phase(0), PmiServer::Phase::finalized);
}

TEST(PmiServer, ValuesAndBarrier) {
  PmiServer server(job(2));
  EXPECT_EQ(ask(server, 0, "cmd=put kvsname=job key=a value=b\n"), "cmd=put_result rc=0 msg=success\n");
  EXPECT_NE(ask(server, 0, "cmd=put kvsname=job key=a value=c\n").find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(server, 1, "cmd=get kvsname=job key=x\n").find("rc=-1"), std::string::npos);
  EXPECT_EQ(ask(server, 0, "cmd=barrier_in\n"), "");
  EXPECT_EQ(ask(server, 1, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(server.take_output(0), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(ask(server, 1, "cmd=get kvsname=job key=a\n"), "cmd=get_result rc=0 msg=success value=b\n");
}

TEST(PmiServer, LinesInPieces) {
  PmiServer server(job(1));
  server.receive(0, "cmd=barr");
  EXPECT_EQ(server.take_output(0), "");
  server.receive(0, "ier_in\ncmd=barrier_in\n");
  EXPECT_EQ(server.take_output(0), "cmd=barrier_out rc=0\ncmd=barrier_out rc=0\n");
}

TEST(PmiServer, BytesThatAreNoRequestsEndTheJobAndAreNotKept) {
  const std::string entry = [] {
    std::string frame;
    append_entry(frame, {1, "key", "value"});
    return frame;
  }();
  const std::pair<std::string, const char*> cases[] = {
      {std::string(longest_pmi_line + 1, 'x'), "wrote 65537 bytes without a newline"},
      {"cmd=hawser_fence\n", "sent the PMI command hawser_fence with length="},
      {"cmd=hawser_fence length=-1\n", "with length=-1; it must be a number from 0 to 67108864"},
      {"cmd=hawser_abort exitcode=1 length=67108865\n", "hawser_abort with length=67108865"},
      {"cmd=hawser_fence length=4\nabcd", "sent a PMI fence of 4 bytes: the data of a fence is truncated"},
      {fmt::format("cmd=hawser_fence length={}\n{}", entry.size(), entry), "an entry of rank 1, not its own"},
      {"cmd=hawser_fence length=0\ncmd=hawser_fence length=0\n",
       "sent a PMI fence before its last one was over"},
  };
  for (const auto& [bytes, reason] : cases) {
    PmiServer server(job(2));
    // In pieces, as they come.
    for (std::size_t at = 0; at < bytes.size(); at += 1000) server.receive(0, bytes.substr(at, 1000));
    ASSERT_TRUE(server.abort()) << reason;
    EXPECT_EQ(server.abort()->rank, 0);
    EXPECT_FALSE(server.abort()->asked_for);
    EXPECT_NE(server.abort()->reason.find(reason), std::string::npos) << server.abort()->reason;
    EXPECT_EQ(ask(server, 1, "cmd=get_maxes\n"), "");
  }
}

std::string fence(int rank, std::string_view key, std::string_view value) {
  std::string frame;
  append_entry(frame, {rank, key, value});
  return fmt::format("cmd=hawser_fence length={}\n{}", frame.size(), frame);
}

TEST(PmiServer, FenceBringsAllValuesToAll) {
  PmiServer server(job(2));
  const std::string first = fence(0, "k", "zero\n"), second = fence(1, "k", "one");
  server.receive(0, std::string_view(first).substr(0, 30));
  server.receive(0, std::string_view(first).substr(30));
  server.receive(1, second);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string reply = server.take_output(rank);
    const auto entries = parse_entries(std::string_view(reply).substr(reply.find('\n') + 1));
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries.value().size(), 2u);
    EXPECT_EQ(entries.value()[0].value, "zero\n");
    EXPECT_EQ(entries.value()[1].value, "one");
  }
}

TEST(PmiServer, LargeFencesAreAskedFor) {
  PmiServer server(job(2));
  const std::string large(eager_fence_bytes, 'x');
  server.receive(0, fence(0, "early", "e"));
  server.receive(1, "cmd=hawser_fence length=0\n");
  for (const int rank : {0, 1}) (void)server.take_output(rank);
  server.receive(0, fence(0, "k", large));
  EXPECT_EQ(ask(server, 1, "cmd=hawser_fence length=0\n"), "cmd=hawser_fence_out rc=0 lazy=1 length=0\n");
  EXPECT_EQ(ask(server, 1, "cmd=hawser_get rank=0 key=early\n"), "cmd=hawser_value rc=0 length=1\ne");
  EXPECT_EQ(ask(server, 1, "cmd=hawser_get rank=0 key=k\n").size(), large.size() + 36);
  EXPECT_EQ(ask(server, 1, "cmd=hawser_get rank=1 key=k\n"), "cmd=hawser_value rc=-1 length=0\n");
}

TEST(PmiServer, AllRanksNeedTheSameLibrary) {
  PmiServer same(job(2));
  same.receive(0, "cmd=hawser_hello version=1 library=1.2.3\n");
  same.receive(1, "cmd=hawser_hello version=1 library=1.2.3\n");
  EXPECT_FALSE(same.abort());
  for (const char* other : {"cmd=hawser_hello version=1 library=1.2.4\n", "cmd=hawser_hello version=1\n",
                            "cmd=init pmi_version=1 pmi_subversion=1\n"}) {
    PmiServer server(job(3));
    server.receive(2, "cmd=hawser_hello version=1 library=1.2.3\n");
    server.receive(1, other);
    ASSERT_TRUE(server.abort());
    EXPECT_EQ(server.abort()->rank, 1);
    EXPECT_NE(server.abort()->reason.find("but rank 2 runs Hawser 1.2.3"), std::string::npos);
  }
}

TEST(PmiServer, FencesGoOnWithoutWhoIsLost) {
  PmiServer server(job(3));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(server.started());
    server.receive(rank, "cmd=hawser_hello version=1 library=1\n");
  }
  EXPECT_TRUE(server.started());
  server.receive(0, "cmd=hawser_fence length=0\n");
  server.receive(1, "cmd=hawser_fence length=0\n");
  EXPECT_EQ(server.take_output(0), "");
  server.lose(2, "was killed");
  const std::string told = "cmd=hawser_lost rank=2 length=10\nwas killed";
  EXPECT_EQ(server.take_output(0), told + "cmd=hawser_fence_out rc=0 length=0\n");
  EXPECT_EQ(server.take_output(1), told + "cmd=hawser_fence_out rc=0 length=0\n");
  EXPECT_EQ(server.take_output(2), "");
  // The next one is lost while it waits.
  server.receive(1, "cmd=hawser_fence length=0\n");
  server.lose(1, "too");
  EXPECT_EQ(server.take_output(0), "cmd=hawser_lost rank=1 length=3\ntoo");
  EXPECT_EQ(ask(server, 0, "cmd=hawser_fence length=0\n"), "cmd=hawser_fence_out rc=0 length=0\n");
  server.receive(0, "cmd=hawser_bye\n");
  EXPECT_FALSE(server.any_active());
}

TEST(PmiServer, WhoIsUnreachableIsReported) {
  PmiServer server(job(2));
  server.receive(0, "cmd=hawser_unreachable rank=1 length=4\nwhy");
  EXPECT_TRUE(server.take_unreached().empty()) << "a byte is missing";
  server.receive(0, "?");
  const auto unreached = server.take_unreached();
  ASSERT_EQ(unreached.size(), 1u);
  EXPECT_EQ(unreached[0].reporter, 0);
  EXPECT_EQ(unreached[0].accused, 1);
  EXPECT_EQ(unreached[0].why, "why?");
  server.receive(0, "cmd=hawser_unreachable rank=2 length=0\n");
  ASSERT_TRUE(server.abort().has_value());
  EXPECT_EQ(server.abort()->reason, "sent the PMI command hawser_unreachable about rank 2 of 2");
}

TEST(PmiServer, AsksWhoIsReached) {
  PmiServer server(job(3));
  server.ask_whether_reached(0, 2);
  EXPECT_EQ(server.take_output(0), "") << "it has not joined";
  server.receive(0, "cmd=hawser_hello version=1 library=1\n");
  (void)server.take_output(0);
  server.ask_whether_reached(0, 2);
  EXPECT_EQ(server.take_output(0), "cmd=hawser_ask rank=2\n");
  server.receive(0, "cmd=hawser_reached rank=2\n");
  EXPECT_EQ(server.take_reached(), (std::vector{std::pair(0, 2)}));
  EXPECT_TRUE(server.take_reached().empty());
  server.receive(0, "cmd=hawser_reached rank=-1\n");
  ASSERT_TRUE(server.abort().has_value());
  EXPECT_EQ(server.abort()->reason, "sent the PMI command hawser_reached about rank -1 of 3");
}

TEST(PmiServer, KeepsWhereRanksAre) {
  PmiServer server(job(2));
  EXPECT_EQ(ask(server, 0, "cmd=hawser_where rank=1\n"), "") << "it has told nothing";
  server.receive(1, "cmd=hawser_address length=4\nher");
  EXPECT_EQ(ask(server, 0, "cmd=hawser_where rank=1\n"), "") << "a byte is missing";
  server.receive(1, "e");
  EXPECT_EQ(ask(server, 0, "cmd=hawser_where rank=1\n"), "cmd=hawser_address rank=1 length=4\nhere");
  server.receive(1, "cmd=hawser_address length=5\nthere");
  EXPECT_EQ(ask(server, 0, "cmd=hawser_where rank=1\n"), "cmd=hawser_address rank=1 length=5\nthere");
  server.receive(1, "cmd=hawser_hello version=1 library=1\n");
  EXPECT_EQ(ask(server, 0, "cmd=hawser_where rank=1\n"), "") << "it has started again";
  server.receive(0, "cmd=hawser_where rank=2\n");
  ASSERT_TRUE(server.abort().has_value());
  EXPECT_EQ(server.abort()->reason, "sent the PMI command hawser_where about rank 2 of 2");
}

TEST(PmiServer, AbortIsKept) {
  PmiServer server(job(2));
  server.receive(1, "cmd=hawser_abort exitcode=3 length=11\nno such cow");
  server.receive(0, "cmd=abort exitcode=9\n");
  ASSERT_TRUE(server.abort());
  EXPECT_EQ(server.abort()->rank, 1);
  EXPECT_EQ(server.abort()->exit_code, 3);
  EXPECT_EQ(server.abort()->reason, "no such cow");
}

TEST(PmiServer, NamesSpawnAndNonsense) {
  PmiServer server(job(1));
  EXPECT_NE(ask(server, 0, "cmd=publish_name service=s port=p\n").find("rc=0"), std::string::npos);
  EXPECT_NE(ask(server, 0, "cmd=lookup_name service=s\n").find("port=p"), std::string::npos);
  EXPECT_NE(ask(server, 0, "cmd=unpublish_name service=s\n").find("rc=0"), std::string::npos);
  EXPECT_NE(ask(server, 0, "cmd=lookup_name service=s\n").find("rc=-1"), std::string::npos);
  EXPECT_EQ(ask(server, 0, "mcmd=spawn\nnprocs=2\nexecname=x\n"), "");
  EXPECT_NE(ask(server, 0, "endcmd\n").find("spawn_result rc=-1"), std::string::npos);
  EXPECT_NE(ask(server, 0, "cmd=dance\n").find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(server, 0, "=\n").find("rc=-1"), std::string::npos);
}

}  // namespace
}  // namespace hawser
