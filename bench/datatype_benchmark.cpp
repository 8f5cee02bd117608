// Packing against loops written by hand for the same data, and reductions against memory speed. Pairs of
// benchmarks named X/engine and X/by_hand; the engine should be within 20 %. Build it with
// `cmake --build --preset release --target datatype_benchmark`, run build/release/bin/datatype_benchmark.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "datatype/constructors.h"
#include "datatype/operator.h"
#include "datatype/predefined.h"
#include "datatype/type_packer.h"

namespace hawser {
namespace {

using Numbers = std::vector<std::int64_t>;

// Memory that was written to before it is measured. Where it starts in a page is always the same: a copy
// whose two sides stand alike in their pages is slower, and chance must not choose who meets that.
class Warm {
 public:
  explicit Warm(std::int64_t bytes, std::size_t start = 0)
      : bytes_(static_cast<std::size_t>(bytes) + 2 * page, std::byte{1}) {
    void* first = bytes_.data();
    std::size_t room = bytes_.size();
    start_ = static_cast<std::byte*>(std::align(page, page, first, room)) + start;
  }
  std::byte* data() { return start_; }

 private:
  static constexpr std::size_t page = 4096;
  std::vector<std::byte> bytes_;
  std::byte* start_;
};
constexpr std::size_t packed_start = 2048;

void engine(benchmark::State& state, Ref<Datatype> type, std::int64_t count, bool packing) {
  type->commit();
  Warm memory(type->extent * count + type->true_extent + 64);
  Warm packed(type->size * count, packed_start);
  for (auto _ : state) {
    TypePacker packer(memory.data() - type->true_lower_bound, count, *type);
    if (packing)
      packer.pack(0, packed.data(), packer.size());
    else
      packer.unpack(0, packed.data(), packer.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * type->size * count);
}

template <class F>
void by_hand(benchmark::State& state, std::int64_t memory_bytes, std::int64_t packed_bytes, F loop) {
  Warm memory(memory_bytes);
  Warm packed(packed_bytes, packed_start);
  for (auto _ : state) {
    loop(memory.data(), packed.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * packed_bytes);
}

// A vector of `count` blocks of `length` T, `stride` T apart. Who writes the loop by hand knows the lengths.
template <class T, std::int64_t length, std::int64_t stride>
void add_vector(const std::string& name, PredefinedTypes& types, PredefinedType which, std::int64_t count) {
  const auto type = make_vector(count, length, stride, types[which], CountForm::plain).value();
  for (const bool packing : {true, false}) {
    const std::string prefix = name + (packing ? "/pack" : "/unpack");
    benchmark::RegisterBenchmark((prefix + "/engine").c_str(),
                                 [=](benchmark::State& state) { engine(state, type, 1, packing); });
    benchmark::RegisterBenchmark((prefix + "/by_hand").c_str(), [=](benchmark::State& state) {
      by_hand(state, count * stride * static_cast<std::int64_t>(sizeof(T)), type->size,
              [=](std::byte* memory, std::byte* packed) {
                T* m = reinterpret_cast<T*>(memory);
                T* p = reinterpret_cast<T*>(packed);
                if (packing) {
                  for (std::int64_t i = 0; i < count; ++i)
                    for (std::int64_t j = 0; j < length; ++j) *p++ = m[i * stride + j];
                } else {
                  for (std::int64_t i = 0; i < count; ++i)
                    for (std::int64_t j = 0; j < length; ++j) m[i * stride + j] = *p++;
                }
              });
    });
  }
}

struct Particle {
  double position[3];
  int kind;
  char tag;
  double mass;
};
// The same without gaps, as a program would write it out.
struct [[gnu::packed]] PackedParticle {
  double position[3];
  int kind;
  char tag;
  double mass;
};

void add_struct(PredefinedTypes& types, std::int64_t count) {
  const auto one = make_struct(Numbers{3, 1, 1, 1},
                               Numbers{offsetof(Particle, position), offsetof(Particle, kind),
                                       offsetof(Particle, tag), offsetof(Particle, mass)},
                               std::vector<Datatype*>{
                                   &types[PredefinedType::double_float], &types[PredefinedType::plain_int],
                                   &types[PredefinedType::character], &types[PredefinedType::double_float]},
                               CountForm::plain)
                       .value();
  for (const bool packing : {true, false}) {
    const std::string prefix = "struct_" + std::to_string(count) + (packing ? "/pack" : "/unpack");
    benchmark::RegisterBenchmark((prefix + "/engine").c_str(),
                                 [=](benchmark::State& state) { engine(state, one, count, packing); });
    benchmark::RegisterBenchmark((prefix + "/by_hand").c_str(), [=](benchmark::State& state) {
      by_hand(state, count * static_cast<std::int64_t>(sizeof(Particle)), one->size * count,
              [=](std::byte* memory, std::byte* packed) {
                auto* m = reinterpret_cast<Particle*>(memory);
                auto* p = reinterpret_cast<PackedParticle*>(packed);
                for (std::int64_t i = 0; i < count; ++i) {
                  if (packing) {
                    std::memcpy(p[i].position, m[i].position, sizeof(p->position));
                    p[i].kind = m[i].kind;
                    p[i].tag = m[i].tag;
                    p[i].mass = m[i].mass;
                  } else {
                    std::memcpy(m[i].position, p[i].position, sizeof(p->position));
                    m[i].kind = p[i].kind;
                    m[i].tag = p[i].tag;
                    m[i].mass = p[i].mass;
                  }
                }
              });
    });
  }
}

// The inner face of a block of doubles: planes of rows of short runs.
void add_subarray(PredefinedTypes& types, const std::string& name, std::int64_t n, Numbers subsizes) {
  const auto type = make_subarray(Numbers{n, n, n}, subsizes, Numbers{1, 1, 1}, ArrayOrder::c, 12,
                                  types[PredefinedType::double_float], CountForm::plain)
                        .value();
  benchmark::RegisterBenchmark((name + "/pack/engine").c_str(),
                               [=](benchmark::State& state) { engine(state, type, 1, true); });
  benchmark::RegisterBenchmark((name + "/pack/by_hand").c_str(), [=](benchmark::State& state) {
    by_hand(state, n * n * n * 8, type->size, [=](std::byte* memory, std::byte* packed) {
      const double* m = reinterpret_cast<const double*>(memory);
      double* p = reinterpret_cast<double*>(packed);
      for (std::int64_t i = 1; i <= subsizes[0]; ++i)
        for (std::int64_t j = 1; j <= subsizes[1]; ++j)
          for (std::int64_t k = 1; k <= subsizes[2]; ++k) *p++ = m[(i * n + j) * n + k];
    });
  });
}

void add_indexed(PredefinedTypes& types, std::int64_t count) {
  Random random(1);
  Numbers places(static_cast<std::size_t>(count));
  std::int64_t at = 0;
  for (std::int64_t& place : places) place = at += 1 + static_cast<std::int64_t>(random.below(3));
  const auto type =
      make_indexed_block(1, places, types[PredefinedType::double_float], CountForm::plain).value();
  benchmark::RegisterBenchmark("indexed_block/pack/engine",
                               [=](benchmark::State& state) { engine(state, type, 1, true); });
  benchmark::RegisterBenchmark("indexed_block/pack/by_hand", [=](benchmark::State& state) {
    by_hand(state, (at + 1) * 8, type->size, [&](std::byte* memory, std::byte* packed) {
      const double* m = reinterpret_cast<const double*>(memory);
      double* p = reinterpret_cast<double*>(packed);
      for (std::size_t i = 0; i < places.size(); ++i) p[i] = m[places[i]];
    });
  });
}

void add_reduction(PredefinedTypes& types, PredefinedOperators& operators, PredefinedType type,
                   PredefinedOperator kind, std::int64_t count) {
  const std::string name =
      std::string(operators[kind].name()) + "/" + types[type].name + "/" + std::to_string(count);
  benchmark::RegisterBenchmark(name.c_str(), [=, &types, &operators](benchmark::State& state) {
    Warm in(types[type].size * count);
    Warm inout(types[type].size * count, packed_start);
    for (auto _ : state) {
      operators[kind].reduce(in.data(), inout.data(), count, types[type]);
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * types[type].size * count);
  });
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) {
  using hawser::add_indexed, hawser::add_reduction, hawser::add_struct, hawser::add_subarray,
      hawser::add_vector;
  using hawser::PredefinedOperator, hawser::PredefinedOperators, hawser::PredefinedTypes;
  PredefinedTypes types;
  PredefinedOperators operators;
  using enum hawser::PredefinedType;
  add_vector<char, 1, 3>("vector_1_byte", types, byte, 4096);
  add_vector<short, 1, 3>("vector_2_bytes", types, short_int, 4096);
  add_vector<int, 1, 3>("vector_4_bytes", types, plain_int, 4096);
  add_vector<double, 1, 2>("vector_8_bytes", types, double_float, 4096);
  add_vector<double, 1, 2>("vector_8_bytes_large", types, double_float, 1 << 18);
  add_vector<double, 1, 512>("matrix_column", types, double_float, 512);
  add_vector<double, 2, 4>("vector_16_bytes", types, double_float, 4096);
  add_vector<double, 3, 5>("vector_24_bytes", types, double_float, 4096);
  add_vector<double, 25, 64>("vector_200_bytes", types, double_float, 512);
  add_vector<double, 32, 64>("vector_256_bytes", types, double_float, 512);
  add_vector<double, 50, 64>("vector_400_bytes", types, double_float, 512);
  add_vector<double, 125, 200>("vector_1000_bytes", types, double_float, 512);
  add_vector<double, 2, 4>("vector_few", types, double_float, 4);
  add_struct(types, 4);
  add_struct(types, 1000);
  add_struct(types, 100000);
  add_subarray(types, "subarray_inner", 64, {62, 62, 62});
  add_subarray(types, "subarray_thin", 64, {62, 62, 1});
  add_subarray(types, "subarray_short_rows", 64, {62, 62, 3});
  add_indexed(types, 4096);
  for (const std::int64_t count : {1, 1024, 131072}) {
    add_reduction(types, operators, double_float, PredefinedOperator::sum, count);
    add_reduction(types, operators, plain_int, PredefinedOperator::max, count);
  }
  add_reduction(types, operators, double_int, PredefinedOperator::minloc, 1024);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return ran == 0 ? 2 : 0;  // a filter that selects nothing; the library says so
}
