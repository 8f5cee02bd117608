// The functions by which the core calls the application in this ABI. None takes or releases the process's
// lock: whoever calls them knows whether the application may call MPI inside.
#include "binding/arrays.h"
#include "binding/entry.h"

namespace hawser::binding {
namespace {

// Numbers that go to a callback by their address are followed by their upper half: Fortran programs with
// INTEGERs of eight bytes read both.

// The handle of an object for the length of a call: one that the application has freed meanwhile, or that has
// not been handed out yet, gets one for now.
template <class T>
class Lent {
 public:
  Lent(MpiProcess& process, T& object) : process_(process), object_(object), lent_(object.handle == 0) {
    auto& table = table_of<T>(process.handles());
    handle = Codec<T>::handle(lent_ ? table.give_out(object) : object.handle);
    if constexpr (sizeof handle == sizeof(int)) upper_half_ = handle < 0 ? -1 : 0;
  }
  ~Lent() {
    if (lent_) table_of<T>(process_.handles()).take_back(object_);
  }
  Lent(const Lent&) = delete;

  alignas(8) decltype(Codec<T>::handle(0)) handle;

 private:
  [[maybe_unused]] int upper_half_;
  MpiProcess& process_;
  T& object_;
  bool lent_;
};

void reduce(AbiFunction function, const void* in, void* inout, std::int64_t count, Datatype& datatype) {
  Lent<Datatype> type(current_slot().process(), datatype);
  int n[2] = {static_cast<int>(count), 0};
  reinterpret_cast<MPI_User_function*>(function)(const_cast<void*>(in), inout, n, &type.handle);
}

void reduce_large(AbiFunction function, const void* in, void* inout, std::int64_t count, Datatype& datatype) {
  Lent<Datatype> type(current_slot().process(), datatype);
  MPI_Count n = count;
  reinterpret_cast<MPI_User_function_c*>(function)(const_cast<void*>(in), inout, &n, &type.handle);
}

int copy_attribute(MpiProcess& process, AbiFunction function, const AbiObject& object, int keyval,
                   void* extra_state, void* value_in, void*& value_out, bool& copied) {
  copied = false;
  if (function == nullptr) return 0;  // NULL_COPY
  if (function == Keyval::duplicate_function()) {
    value_out = value_in;
    copied = true;
    return 0;
  }
  int flag = 0;
  int code = 0;
  if (object.communicator != nullptr) {
    Lent<Communicator> communicator(process, *object.communicator);
    code = reinterpret_cast<MPI_Comm_copy_attr_function*>(function)(
        communicator.handle, from_core_keyval(keyval), extra_state, value_in, &value_out, &flag);
  } else if (object.datatype != nullptr) {
    Lent<Datatype> type(process, *object.datatype);
    code = reinterpret_cast<MPI_Type_copy_attr_function*>(function)(type.handle, from_core_keyval(keyval),
                                                                    extra_state, value_in, &value_out, &flag);
  } else if (object.window != nullptr) {
    Lent<Window> window(process, *object.window);
    code = reinterpret_cast<MPI_Win_copy_attr_function*>(function)(window.handle, from_core_keyval(keyval),
                                                                   extra_state, value_in, &value_out, &flag);
  }
  copied = flag != 0;
  return to_core_error_code(code);
}

int delete_attribute(MpiProcess& process, AbiFunction function, const AbiObject& object, int keyval,
                     void* value, void* extra_state) {
  if (function == nullptr) return 0;  // NULL_DELETE
  int code = 0;
  if (object.communicator != nullptr) {
    Lent<Communicator> communicator(process, *object.communicator);
    code = reinterpret_cast<MPI_Comm_delete_attr_function*>(function)(
        communicator.handle, from_core_keyval(keyval), value, extra_state);
  } else if (object.datatype != nullptr) {
    Lent<Datatype> type(process, *object.datatype);
    code = reinterpret_cast<MPI_Type_delete_attr_function*>(function)(type.handle, from_core_keyval(keyval),
                                                                      value, extra_state);
  } else if (object.window != nullptr) {
    Lent<Window> window(process, *object.window);
    code = reinterpret_cast<MPI_Win_delete_attr_function*>(function)(window.handle, from_core_keyval(keyval),
                                                                     value, extra_state);
  }
  return to_core_error_code(code);
}

void report_error(MpiProcess& process, AbiFunction function, const AbiObject& object, int error_code) {
  int code[2] = {from_core_error_code(error_code), 0};
  if (object.session != nullptr) {
    Lent<Session> session(process, *object.session);
    return reinterpret_cast<MPI_Session_errhandler_function*>(function)(&session.handle, code);
  }
  if (object.window != nullptr) {
    Lent<Window> window(process, *object.window);
    return reinterpret_cast<MPI_Win_errhandler_function*>(function)(&window.handle, code);
  }
  Lent<Communicator> communicator(process,
                                  object.communicator != nullptr ? *object.communicator : process.self());
  reinterpret_cast<MPI_Comm_errhandler_function*>(function)(&communicator.handle, code);
}

int query_request(AbiFunction function, void* extra_state, Status& status) {
  MPI_Status out{};
  write_status(out, status);
  out.MPI_ERROR = MPI_SUCCESS;
  const int code = reinterpret_cast<MPI_Grequest_query_function*>(function)(extra_state, &out);
  read_status(out, status);
  return to_core_error_code(code);
}

int free_request(AbiFunction function, void* extra_state) {
  return to_core_error_code(reinterpret_cast<MPI_Grequest_free_function*>(function)(extra_state));
}

int cancel_request(AbiFunction function, void* extra_state, bool complete) {
  return to_core_error_code(
      reinterpret_cast<MPI_Grequest_cancel_function*>(function)(extra_state, complete ? 1 : 0));
}

#ifdef HAWSER_ABI_OF_MPICH
constexpr const char* abi_name = "mpich";
#else
constexpr const char* abi_name = "standard";
#endif

constexpr AbiHooks hooks{abi_name,     reduce,        reduce_large, copy_attribute, delete_attribute,
                         report_error, query_request, free_request, cancel_request};

}  // namespace

const AbiHooks& abi_hooks() { return hooks; }

}  // namespace hawser::binding
