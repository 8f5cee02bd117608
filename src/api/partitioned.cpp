// Partitioned communication (MPI-5.0 chapter 4).
#include "message/partitioned.h"

#include "api/functions.h"
#include "api/message_data.h"
#include "mpi/failure.h"

namespace hawser::mpi {

namespace {

Result<PartitionedRequest::Buffer> describe_partitions(const void* buf, int partitions, std::int64_t count,
                                                       Datatype& datatype) {
  if (partitions < 0) return failure(ErrorClass::arg, "partitions is {}, which is negative", partitions);
  const auto all = static_cast<unsigned __int128>(count) * static_cast<unsigned>(partitions);
  if (all >= datatype.count_bound)
    return failure(ErrorClass::count,
                   "count is {} in each of {} partitions, but memory has room for at most {} elements of the "
                   "datatype",
                   count, partitions, datatype.count_bound - 1);
  PartitionedRequest::Buffer buffer{};
  buffer.partitions = partitions;
  buffer.partition_bytes = count * datatype.size;
  buffer.bytes = describe_data(buf, partitions * count, datatype, buffer.packer);
  if (!buffer.bytes.contiguous()) buffer.datatype = Ref<const Datatype>(&datatype);
  return buffer;
}

Result<PartitionedRequest*> partitioned(Request* request) {
  if (request == nullptr || request->kind != Request::Kind::partitioned)
    return failure(ErrorClass::request, "the request was not made by MPI_Psend_init or MPI_Precv_init");
  return static_cast<PartitionedRequest*>(request);
}

Result<> check_partition(const PartitionedRequest& request, const char* name, int partition) {
  if (partition >= 0 && partition < request.partitions()) return {};
  return failure(ErrorClass::arg, "{} is {}, but must be 0 to {}", name, partition, request.partitions() - 1);
}

// A send that was started; errors go to its communicator.
Result<PartitionedSend*> active_send(MpiProcess& process, Request* request) {
  auto found = partitioned(request);
  if (!found) return found.take_error();
  process.set_error_origin(request->communicator);
  if (!found.value()->is_send()) return failure(ErrorClass::request, "the request is a receive");
  if (!request->active) return failure(ErrorClass::request, "the request has not been started");
  return static_cast<PartitionedSend*>(found.value());
}

// Forgets whom an error would have gone to.
Result<> well_done(MpiProcess& process) {
  process.set_error_origin(Ref<Counted>());
  return {};
}

}  // namespace

Result<> psend_init(MpiProcess& process, const void* buf, int partitions, std::int64_t count,
                    Datatype& datatype, int dest, int tag, Communicator& comm, Info*, Request*& request) {
  auto buffer = describe_partitions(buf, partitions, count, datatype);
  if (!buffer) return buffer.take_error();
  SendTarget pairing{proc_null, 0, comm.rank(), tag, TrafficClass::nonblocking};
  if (dest != proc_null) pairing = target_of(comm, dest, tag, TrafficClass::nonblocking);
  pairing.context = comm.context() + pairing_context;
  const Knobs& knobs = process.knobs();
  const std::int64_t together = partitions_per_part(partitions, buffer.value().partition_bytes,
                                                    knobs.partition_bytes, knobs.partition_messages);
  request = new PartitionedSend(process.point_to_point(), std::move(buffer).value(), pairing,
                                comm.context() + partition_context, together);
  request->communicator = Ref<Counted>(&comm);
  return {};
}

Result<> precv_init(MpiProcess& process, void* buf, int partitions, std::int64_t count, Datatype& datatype,
                    int source, int tag, Communicator& comm, Info*, Request*& request) {
  if (source == any_source)
    return failure(ErrorClass::rank,
                   "source is MPI_ANY_SOURCE, but a partitioned receive must name its source");
  auto buffer = describe_partitions(buf, partitions, count, datatype);
  if (!buffer) return buffer.take_error();
  const ProcessIndex from = source == proc_null ? proc_null : comm.process_of(source);
  request = new PartitionedReceive(process.point_to_point(), std::move(buffer).value(), from,
                                   {comm.context() + pairing_context, source, tag},
                                   comm.context() + partition_context);
  request->communicator = Ref<Counted>(&comm);
  return {};
}

Result<> pready(MpiProcess& process, int partition, Request* request) {
  return pready_range(process, partition, partition, request);
}

Result<> pready_range(MpiProcess& process, int partition_low, int partition_high, Request* request) {
  auto send = active_send(process, request);
  if (!send) return send.take_error();
  HAWSER_TRY(check_partition(*send.value(), "the first partition", partition_low));
  HAWSER_TRY(check_partition(*send.value(), "the last partition", partition_high));
  for (int i = partition_low; i <= partition_high; ++i) HAWSER_TRY(send.value()->set_ready(i));
  return well_done(process);
}

Result<> pready_list(MpiProcess& process, int length, const int* array_of_partitions, Request* request) {
  auto send = active_send(process, request);
  if (!send) return send.take_error();
  for (int i = 0; i < length; ++i)
    HAWSER_TRY(check_partition(*send.value(), "a partition of the list", array_of_partitions[i]));
  for (int i = 0; i < length; ++i) HAWSER_TRY(send.value()->set_ready(array_of_partitions[i]));
  return well_done(process);
}

Result<> parrived(MpiProcess& process, Request* request, int partition, bool& flag) {
  flag = true;
  if (request == nullptr) return {};
  auto found = partitioned(request);
  if (!found) return found.take_error();
  process.set_error_origin(request->communicator);
  if (found.value()->is_send()) return failure(ErrorClass::request, "the request is a send");
  HAWSER_TRY(check_partition(*found.value(), "partition", partition));
  const auto& receive = static_cast<const PartitionedReceive&>(*found.value());
  flag = receive.arrived(partition);
  if (!flag) {
    process.poll_for_test();
    flag = receive.arrived(partition);
  }
  return well_done(process);
}

}  // namespace hawser::mpi
