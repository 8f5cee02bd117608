// Mean rate of the latest samples, as part of a port's rate.
#pragma once

namespace hawser {

class RateMean {
 public:
  RateMean(double mean, double weight) : sum_(mean * weight), weight_(weight) {}
  // What was known before weighs so much less.
  void add(double rate, double keep) {
    sum_ = sum_ * keep + rate;
    weight_ = weight_ * keep + 1;
  }
  double mean() const { return sum_ / weight_; }
  // With so many samples of that mean beside it.
  double with(double mean, double weight) const { return (sum_ + mean * weight) / (weight_ + weight); }
  bool any() const { return weight_ > 0; }

 private:
  double sum_;
  double weight_;
};

}  // namespace hawser
