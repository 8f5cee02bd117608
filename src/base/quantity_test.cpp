#include "base/quantity.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().text;
}

TEST(Quantity, Counts) {
  EXPECT_EQ(parse_count("0").value(), 0u);
  EXPECT_EQ(parse_count("4096").value(), 4096u);
  EXPECT_EQ(parse_count("0x1F").value(), 31u);
  EXPECT_EQ(parse_count("18446744073709551615").value(), UINT64_MAX);
  EXPECT_EQ(error_of(parse_count("18446744073709551616", {0, 9})),
            "'18446744073709551616' is not a number: it is beyond 64 bits; write a number from 0 to 9");
  EXPECT_EQ(error_of(parse_count("12a", {1, 99}, "a rank")),
            "'12a' is not a rank: 'a' at character 3 is no digit; write a rank from 1 to 99");
  EXPECT_EQ(error_of(parse_count("", {1, 99})),
            "'' is not a number: it is empty; write a number from 1 to 99");
  EXPECT_EQ(error_of(parse_count("0x", {0, 9})),
            "'0x' is not a number: there is no digit at character 3; write a number from 0 to 9");
  EXPECT_EQ(error_of(parse_count("0", {.least = 1})), "'0' is not a number from 1 up");
  EXPECT_EQ(error_of(parse_count("16", {0, 15}, "a GID index")), "'16' is not a GID index from 0 to 15");
  for (const char* text : {"-1", "+1", " 1", "1 ", "1.5", "1K", "1e3", "x"})
    EXPECT_FALSE(parse_count(text)) << text;
}

TEST(Quantity, Bytes) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"0", 0},          {"17", 17},
      {"17B", 17},       {"64K", 65536},
      {"64KB", 65536},   {"64KiB", 65536},
      {"64kib", 65536},  {"2m", 2 << 20},
      {"1G", 1 << 30},   {"1gb", 1 << 30},
      {"1.5M", 1572864}, {"0.5K", 512},
      {"1e3", 1000},     {"1e3B", 1000},
      {"1.7K", 1741},    {"8000000000000000001", 8'000'000'000'000'000'001},
  };
  for (const auto& [text, bytes] : good) EXPECT_EQ(parse_bytes(text).value(), bytes) << text;
  for (const char* text :
       {"", "K", "-5", "+5", "1T", "1 K", "1Kb/s", "inf", "nan", "0x10", "99999999999999G", "1e300"})
    EXPECT_FALSE(parse_bytes(text)) << text;
  EXPECT_EQ(
      error_of(parse_bytes("12q")),
      "'12q' is not a number of bytes: 'q' at character 3 is no unit of it; write a number of bytes such as "
      "4096, 64K or 1.5M (units: B, K, KiB, KB, M, MiB, MB, G, GiB, GB)");
  EXPECT_EQ(error_of(parse_bytes("2000G", {0, std::int64_t{1} << 40})),
            "'2000G' is not a number of bytes from 0 to 1024G");
}

TEST(Quantity, Durations) {
  const std::pair<const char*, Nanoseconds> good[] = {
      {"0", 0},
      {"5ns", 5},
      {"20us", 20'000},
      {"20US", 20'000},
      {"2s", 2 * second},
      {"1.5ms", 1'500'000},
      {"0.1s", 100 * millisecond},
      {"1e3us", millisecond},
      {".5us", 500},
      {"0.4ns", 0},
  };
  for (const auto& [text, duration] : good) EXPECT_EQ(parse_duration(text).value(), duration) << text;
  for (const char* text : {"5", "-5ms", "5h", "5min", "", "ms", "soon", "1.2.3s", "5 ms", "9e9999s", "1e11s"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_EQ(parse_duration("90", {}, second).value(), 90 * second);
  EXPECT_EQ(parse_duration("0.5", {}, second).value(), second / 2);
  EXPECT_EQ(parse_duration("5ms", {}, second).value(), 5 * millisecond);
  EXPECT_FALSE(parse_duration("5h", {}, second));
  EXPECT_EQ(error_of(parse_duration("5")),
            "'5' is not a duration: its unit is missing at character 2; write a number with its unit such as "
            "1.5ms, or "
            "0 (units: ns, us, ms, s)");
  EXPECT_EQ(error_of(parse_duration("soon")),
            "'soon' is not a duration: there is no number at character 1; write a number with its unit such "
            "as 1.5ms, "
            "or 0 (units: ns, us, ms, s)");
  EXPECT_EQ(error_of(parse_duration("9e9s", {0, 1000 * second})),
            "'9e9s' is not a duration from 0ns to 1000s");
}

TEST(Quantity, Rates) {
  const std::pair<const char*, double> good[] = {
      {"0", 0},        {"unlimited", 0},    {"200MB/s", 2e8},    {"1.5GB/s", 1.5e9}, {"20Gb/s", 2.5e9},
      {"1e9B/s", 1e9}, {"1MiB/s", 1 << 20}, {"1GiB/s", 1 << 30}, {"8Kb/s", 1000},    {"0MB/s", 0},
  };
  for (const auto& [text, rate] : good) EXPECT_DOUBLE_EQ(parse_rate(text).value(), rate) << text;
  // A byte is not a bit, so the case of rates' units counts.
  for (const char* text : {"200", "-1MB/s", "1mb/s", "1MB", "fast", "1e-400MB/s", "infB/s"})
    EXPECT_FALSE(parse_rate(text)) << text;
  EXPECT_EQ(error_of(parse_rate("999B/s", {1e3, 1e15})), "'999B/s' is not a rate from 1000B/s to 1e+06GB/s");
  EXPECT_EQ(parse_rate("0", {1e3, 1e15}).value(), 0);
}

TEST(Quantity, Shares) {
  EXPECT_DOUBLE_EQ(parse_share("10%").value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_share("0.1").value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_share("1").value(), 1);
  for (const char* text : {"110%", "2", "-1%", "ten", "10 %", ""}) EXPECT_FALSE(parse_share(text)) << text;
  EXPECT_EQ(error_of(parse_share("2")), "'2' is not a share: it is more than the whole (100%)");
}

TEST(Quantity, ParsersTakeWhatIsWritten) {
  for (const std::int64_t bytes : {0L, 1L, 1023L, 1024L, 1025L, 65536L, 3L << 20, 5L << 30, 1L << 60})
    EXPECT_EQ(parse_bytes(format_bytes(bytes)).value(), bytes) << format_bytes(bytes);
  for (const Nanoseconds duration : {0L, 1L, 999L, 1'001L, 4'096L, 1'234'567L, 1'500'000L, 999'999'999L,
                                     1'000'000'001L, 1'000'000'000'000'000L})
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration) << format_duration(duration);
  for (const double rate : {0., 1e3, 2e8, 1.25e9, 1e15})
    EXPECT_DOUBLE_EQ(parse_rate(format_rate(rate)).value(), rate) << format_rate(rate);
  EXPECT_EQ(format_bytes(65536), "64K");
  EXPECT_EQ(format_bytes(1025), "1025");
  EXPECT_EQ(format_duration(1'500'000), "1.5ms");
}

}  // namespace
}  // namespace hawser
