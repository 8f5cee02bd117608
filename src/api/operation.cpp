// Reduction operations (MPI-5.0 sections 6.9.5 and 6.9.7): the user's own, and the reduction of local data.
#include <climits>

#include "api/functions.h"
#include "datatype/operator.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// A function of the application, called in its ABI. It may call MPI functions that are local and need the
// process's lock, which is the caller's now; so the lock is given up meanwhile.
class ApplicationReduction final : public UserReduction {
 public:
  ApplicationReduction(MpiProcess& process, AbiFunction function, bool large)
      : process_(process), hooks_(process.hooks()), function_(function), large_(large) {}

  void reduce(const void* in, void* inout, std::int64_t count, Datatype& type) override {
    const Unlocked unlocked(process_);
    (large_ ? hooks_.reduce_large : hooks_.reduce)(function_, in, inout, count, type);
  }
  std::int64_t count_limit() const override { return large_ ? INT64_MAX : INT_MAX; }

 private:
  MpiProcess& process_;
  const AbiHooks& hooks_;
  AbiFunction function_;
  bool large_;
};

}  // namespace

Result<> op_create(MpiProcess& process, AbiFunction user_fn, bool commute, Ref<Operator>& op, bool large) {
  if (user_fn == nullptr) return failure(ErrorClass::arg, "the user function is null");
  op = make_counted<Operator>(make_counted<ApplicationReduction>(process, user_fn, large), commute);
  return {};
}

Result<> op_free(MpiProcess&, Operator& op) {
  if (op.predefined()) return failure(ErrorClass::op, "{} is predefined and may not be freed", op.name());
  return {};
}

Result<> op_commutative(MpiProcess&, Operator& op, bool& commute) {
  commute = op.commutative();
  return {};
}

Result<> reduce_local(MpiProcess&, const void* inbuf, void* inoutbuf, std::int64_t count, Datatype& datatype,
                      Operator& op) {
  if (count < 0) return failure(ErrorClass::count, "count is negative: {}", count);
  if (inbuf == in_place || inoutbuf == in_place)
    return failure(ErrorClass::buffer, "MPI_Reduce_local does not accept MPI_IN_PLACE");
  if (inbuf == inoutbuf && inbuf != nullptr && count > 0)
    return failure(ErrorClass::buffer, "inbuf and inoutbuf are the same memory");
  HAWSER_TRY(op.check(datatype));
  if (!datatype.committed) return failure(ErrorClass::type, "the datatype is not committed");
  if (count > 0) op.reduce(inbuf, inoutbuf, count, datatype);
  return {};
}

}  // namespace hawser::mpi
