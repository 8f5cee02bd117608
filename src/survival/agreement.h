// Agreement: how the living processes of a communicator agree on one value though any of them may fail at any
// time (MPIX_Comm_agree, MPIX_Comm_shrink). Three-phase commit with a coordinator that may be replaced
// (Skeen 1981): the lowest rank that is not known to have failed coordinates.
//
//   participant                          coordinator
//   contribute (what it decided or  ->
//   accepted before, if anything)        has heard from all that live: the value that one decided or
//                                   <-   accepted, else made of all contributions; propose
//   accept                          ->
//                                        all that live have accepted
//                                   <-   decide
//
// Whoever learns that its coordinator has failed contributes to the next one. A value is decided only when
// every living process has accepted it, so a next coordinator hears of it from everyone, and nobody ends
// with another. That needs a detector of failures that is never wrong and, sooner or later, tells everyone.
//
// Pure state: takes messages and failures, leaves messages in `take_output`. Also serves after it has
// decided, because others may not have heard.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hawser {

struct AgreementValue {
  std::uint32_t flag = 0;      // the bitwise and of all contributions
  std::uint32_t context = 0;   // of the communicator that MPIX_Comm_shrink makes
  std::int32_t area = -1;      // its shared area; -1: none
  std::set<int> failed;        // ranks
  std::set<int> acknowledged;  // those of `failed` that all contributors had acknowledged

  bool operator==(const AgreementValue&) const = default;
};

struct AgreementMessage {
  enum class Kind : std::uint8_t { contribute, propose, accept, decide };
  // What the value of a contribution is.
  enum class Stage : std::uint8_t { own, accepted, decided };
  Kind kind = Kind::contribute;
  Stage stage = Stage::own;
  AgreementValue value;
};

// What a coordinator adds that nobody else does: for MPIX_Comm_shrink, the context id and the area.
class AgreementFounder {
 public:
  virtual void found(AgreementValue& value) = 0;

 protected:
  ~AgreementFounder() = default;
};

class Agreement {
 public:
  using Kind = AgreementMessage::Kind;
  using Stage = AgreementMessage::Stage;

  Agreement(int rank, int size) : rank_(rank), size_(size) {}

  // This process takes part: what it contributes. `failed`: those that it knows of. `founder` is asked at
  // most once, and not after the end; null: nothing is to be founded.
  void begin(AgreementValue own, AgreementFounder* founder);
  void on_failed(int rank);
  // 0 <= from < size.
  void on_message(int from, const AgreementMessage& message);

  bool decided() const { return stage_ == Stage::decided; }
  const AgreementValue& value() const { return value_; }
  // Ranks, and what they are to be sent.
  std::vector<std::pair<int, AgreementMessage>> take_output() { return std::exchange(output_, {}); }

 private:
  // The lowest rank that lives; this process itself does.
  int coordinator() const;
  bool lives(int rank) const { return failed_.count(rank) == 0; }
  void step();
  void coordinate();
  void tell_all(Kind kind);
  AgreementValue join_contributions();

  const int rank_;
  const int size_;
  bool begun_ = false;
  AgreementFounder* founder_ = nullptr;
  Stage stage_ = Stage::own;
  AgreementValue value_;  // of this stage
  std::set<int> failed_;
  int contributed_to_ = -1;
  // As coordinator.
  std::vector<std::optional<AgreementMessage>> contributions_;  // by rank; empty: none came
  bool proposed_ = false;
  bool told_ = false;  // all of the decision
  std::set<int> accepted_by_;
  std::vector<std::pair<int, AgreementMessage>> output_;
};

}  // namespace hawser
