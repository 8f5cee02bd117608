#include "survival/agreement.h"

#include <algorithm>
#include <iterator>

#include "base/planted_bug.h"

namespace hawser {

void Agreement::begin(AgreementValue own, AgreementFounder* founder) {
  begun_ = true;
  founder_ = founder;
  failed_.insert(own.failed.begin(), own.failed.end());
  if (stage_ == Stage::own) value_ = std::move(own);
  step();
}

int Agreement::coordinator() const {
  int lowest = 0;
  while (lowest < rank_ && !lives(lowest)) ++lowest;
  return lowest;
}

void Agreement::on_failed(int rank) {
  if (failed_.insert(rank).second) step();
}

void Agreement::on_message(int from, const AgreementMessage& message) {
  if (!lives(from)) return;
  switch (message.kind) {
    case Kind::contribute:
      if (contributions_.empty()) contributions_.resize(static_cast<std::size_t>(size_));
      contributions_[static_cast<std::size_t>(from)] = message;
      // It came after all were told.
      if (told_ && message.stage != Stage::decided) output_.push_back({from, {Kind::decide, stage_, value_}});
      break;
    case Kind::propose:
      if (stage_ == Stage::decided || from != coordinator()) return;
      stage_ = Stage::accepted;
      value_ = message.value;
      output_.push_back({from, {Kind::accept, Stage::own, {}}});
      return;
    case Kind::accept:
      accepted_by_.insert(from);
      break;
    case Kind::decide:
      if (stage_ == Stage::decided) return;
      stage_ = Stage::decided;
      value_ = message.value;
      break;
  }
  step();
}

void Agreement::step() {
  const int now = coordinator();
  if (now == rank_) return coordinate();
  if (!begun_ || contributed_to_ == now) return;
  contributed_to_ = now;
  output_.push_back({now, {Kind::contribute, stage_, value_}});
}

void Agreement::coordinate() {
  if (!begun_) return;
  if (!proposed_ && stage_ != Stage::decided) {
    if (contributions_.empty()) contributions_.resize(static_cast<std::size_t>(size_));
    const AgreementMessage* known = nullptr;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_ || !lives(rank)) continue;
      const auto& contribution = contributions_[static_cast<std::size_t>(rank)];
      if (!contribution) return;
      if (planted(PlantedBug::forgetful_coordinator)) continue;
      if (contribution->stage != Stage::own && (known == nullptr || contribution->stage == Stage::decided))
        known = &*contribution;
    }
    if (stage_ == Stage::own) value_ = known != nullptr ? known->value : join_contributions();
    stage_ = known != nullptr && known->stage == Stage::decided ? Stage::decided : Stage::accepted;
    if (stage_ == Stage::accepted) {
      proposed_ = true;
      tell_all(Kind::propose);
    }
  }
  if (stage_ != Stage::decided) {
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_ && lives(rank) && accepted_by_.count(rank) == 0) return;
    stage_ = Stage::decided;
  }
  if (std::exchange(told_, true)) return;
  tell_all(Kind::decide);
}

void Agreement::tell_all(Kind kind) {
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_ && lives(rank)) output_.push_back({rank, {kind, stage_, value_}});
}

// Also of those that have failed since they contributed.
AgreementValue Agreement::join_contributions() {
  AgreementValue joint = value_;
  std::vector<const AgreementValue*> all = {&value_};
  for (const auto& contribution : contributions_)
    if (contribution) all.push_back(&contribution->value);
  for (const AgreementValue* one : all) {
    joint.flag &= one->flag;
    joint.failed.insert(one->failed.begin(), one->failed.end());
    std::set<int> both;
    std::set_intersection(joint.acknowledged.begin(), joint.acknowledged.end(), one->acknowledged.begin(),
                          one->acknowledged.end(), std::inserter(both, both.end()));
    joint.acknowledged = std::move(both);
  }
  joint.failed.insert(failed_.begin(), failed_.end());
  if (founder_ != nullptr) founder_->found(joint);
  return joint;
}

}  // namespace hawser
