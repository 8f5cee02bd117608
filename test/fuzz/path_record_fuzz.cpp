// Datagrams that arrive from where the subnet's administrator should be.
#include "access/path_record.h"
#include "base/assert.h"
#include "fuzz_input.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  const auto answer = rdma::decode_path_answer(input.take(size));
  if (answer) HAWSER_ASSERT(answer->record.service_level < 16 && answer->record.mtu <= 5);
  return 0;
}
