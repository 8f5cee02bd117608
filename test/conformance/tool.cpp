// The tool information interface (MPI-5.0 chapter 15). Which variables there are is the library's affair:
// cases walk through all of them; a few know the names of this library's.
#include <string>
#include <vector>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// MPI_T is initialized as long as one lives.
class Tools {
 public:
  explicit Tools(Conformance& t) {
    int provided = -1;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  }
  ~Tools() { MPI_T_finalize(); }
  Tools(const Tools&) = delete;
};

struct ControlInfo {
  char name[256] = "", description[1024] = "";
  int verbosity = -1, bind = -1, scope = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum items = MPI_T_ENUM_NULL;
};

int describe(int index, ControlInfo& info) {
  int name_length = sizeof info.name, description_length = sizeof info.description;
  return MPI_T_cvar_get_info(index, info.name, &name_length, &info.verbosity, &info.type, &info.items,
                             info.description, &description_length, &info.bind, &info.scope);
}

void initialized_more_than_once(Conformance& t) {
  int provided = -1, number = -1;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_finalize());
  OK(MPI_T_cvar_get_num(&number));
  CHECK(number >= 0);
  OK(MPI_T_finalize());
  CHECK_EQ(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

void control_variables(Conformance& t) {
  const Tools tools(t);
  int number = 0;
  OK(MPI_T_cvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    ControlInfo info;
    const int code = describe(i, info);
    if (code == MPI_T_ERR_INVALID_INDEX) continue;
    OK(code);
    int index = -1;
    OK(MPI_T_cvar_get_index(info.name, &index));
    CHECK_EQ(index, i);
    // Everything may be left out.
    OK(MPI_T_cvar_get_info(i, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                           nullptr));
    if (info.bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    OK(MPI_T_cvar_handle_alloc(i, nullptr, &handle, &count));
    CHECK(count >= 1);
    std::vector<char> value(static_cast<std::size_t>(count) * 16);
    OK(MPI_T_cvar_read(handle, value.data()));
    if (info.items != MPI_T_ENUM_NULL) {
      int items = 0;
      OK(MPI_T_enum_get_info(info.items, &items, nullptr, nullptr));
      CHECK(items >= 1);
      for (int k = 0; k < items; ++k) {
        char name[256] = "";
        int length = sizeof name, item = -1;
        OK(MPI_T_enum_get_item(info.items, k, &item, name, &length));
        CHECK_EQ(static_cast<int>(std::string(name).size()) + 1, length);
      }
    }
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  }
  int index = 0;
  CHECK_EQ(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
  ControlInfo info;
  CHECK_EQ(describe(number, info), MPI_T_ERR_INVALID_INDEX);
}

void names_in_too_little_room(Conformance& t) {
  const Tools tools(t);
  char name[4] = "???";
  int room = sizeof name, needed = 0;
  OK(MPI_T_cvar_get_info(0, nullptr, &needed, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  REQUIRE(needed > 4);
  OK(MPI_T_cvar_get_info(0, name, &room, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  CHECK_EQ(room, needed);
  CHECK_EQ(std::string(name).size(), std::size_t{3});
}

void performance_variables(Conformance& t) {
  const Tools tools(t);
  int number = 0;
  OK(MPI_T_pvar_get_num(&number));
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  OK(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < number; ++i) {
    char name[256] = "";
    int length = sizeof name, variable_class = -1, bind = -1, read_only = -1, continuous = -1, index = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code = MPI_T_pvar_get_info(i, name, &length, nullptr, &variable_class, &type, nullptr, nullptr,
                                         nullptr, &bind, &read_only, &continuous, nullptr);
    if (code == MPI_T_ERR_INVALID_INDEX) continue;
    OK(code);
    OK(MPI_T_pvar_get_index(name, variable_class, &index));
    CHECK_EQ(index, i);
    MPI_Comm comm = MPI_COMM_WORLD;
    if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) continue;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0;
    OK(MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &comm : nullptr, &handle, &count));
    std::vector<char> value(static_cast<std::size_t>(count) * 16);
    if (!continuous) OK(MPI_T_pvar_start(session, handle));
    if (continuous) CHECK_EQ(MPI_T_pvar_start(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    OK(MPI_T_pvar_read(session, handle, value.data()));
    if (read_only) CHECK_EQ(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
    if (!continuous) OK(MPI_T_pvar_stop(session, handle));
    OK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  }
  OK(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

void categories(Conformance& t) {
  const Tools tools(t);
  int number = 0, cvars = 0, pvars = 0, before = 0, after = 0;
  OK(MPI_T_category_changed(&before));
  OK(MPI_T_category_get_num(&number));
  OK(MPI_T_cvar_get_num(&cvars));
  OK(MPI_T_pvar_get_num(&pvars));
  for (int i = 0; i < number; ++i) {
    char name[256] = "";
    int length = sizeof name, own_cvars = 0, own_pvars = 0, own_categories = 0, index = -1;
    OK(MPI_T_category_get_info(i, name, &length, nullptr, nullptr, &own_cvars, &own_pvars, &own_categories));
    OK(MPI_T_category_get_index(name, &index));
    CHECK_EQ(index, i);
    std::vector<int> members(static_cast<std::size_t>(own_cvars + own_pvars + own_categories) + 1, -1);
    OK(MPI_T_category_get_cvars(i, own_cvars, members.data()));
    for (int k = 0; k < own_cvars; ++k)
      CHECK(members[static_cast<std::size_t>(k)] >= 0 && members[static_cast<std::size_t>(k)] < cvars);
    OK(MPI_T_category_get_pvars(i, own_pvars, members.data()));
    for (int k = 0; k < own_pvars; ++k)
      CHECK(members[static_cast<std::size_t>(k)] >= 0 && members[static_cast<std::size_t>(k)] < pvars);
    OK(MPI_T_category_get_categories(i, own_categories, members.data()));
  }
  OK(MPI_T_category_changed(&after));
  CHECK(after >= before);
}

#ifdef HAWSER
// A counter and a level of this library, over messages that come before their receive.
class Reading {
 public:
  Reading(Conformance& t, const char* name, int variable_class, MPI_Comm comm = MPI_COMM_NULL) : t_(t) {
    int index = -1, count = 0;
    MPI_Comm bound = comm;
    OK(MPI_T_pvar_session_create(&session_));
    OK(MPI_T_pvar_get_index(name, variable_class, &index));
    OK(MPI_T_pvar_handle_alloc(session_, index, comm == MPI_COMM_NULL ? nullptr : &bound, &handle_, &count));
  }
  ~Reading() { MPI_T_pvar_session_free(&session_); }
  unsigned long long value() {
    Conformance& t = t_;
    unsigned long long number = 0;
    OK(MPI_T_pvar_read(session_, handle_, &number));
    return number;
  }
  MPI_T_pvar_session session() const { return session_; }
  MPI_T_pvar_handle handle() const { return handle_; }

 private:
  Conformance& t_;
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle_ = MPI_T_PVAR_HANDLE_NULL;
};

void unexpected_messages(Conformance& t) {
  const Tools tools(t);
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  Reading total(t, "message_unexpected_total", MPI_T_PVAR_CLASS_COUNTER);
  Reading waiting(t, "communicator_unexpected", MPI_T_PVAR_CLASS_LEVEL, comm);
  Reading most(t, "message_unexpected_most", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  Reading bytes(t, "message_unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
  const auto send_and_receive = [&](int messages) {
    std::vector<char> data(1000);
    const unsigned long long bytes_before = bytes.value();
    for (int i = 0; i < messages; ++i) OK(MPI_Send(data.data(), 1000, MPI_CHAR, 0, i, comm));
    CHECK_EQ(waiting.value(), static_cast<unsigned long long>(messages));
    CHECK_EQ(bytes.value() - bytes_before, 1000ull * static_cast<unsigned>(messages));
    CHECK(most.value() >= static_cast<unsigned long long>(messages));
    for (int i = 0; i < messages; ++i)
      OK(MPI_Recv(data.data(), 1000, MPI_CHAR, 0, i, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(waiting.value(), 0ull);
  };
  CHECK_EQ(total.value(), 0ull);
  send_and_receive(1);
  CHECK_EQ(total.value(), 0ull);  // not started
  OK(MPI_T_pvar_start(total.session(), total.handle()));
  send_and_receive(3);
  CHECK(total.value() >= 3);
  OK(MPI_T_pvar_stop(total.session(), MPI_T_PVAR_ALL_HANDLES));
  const unsigned long long stopped = total.value();
  send_and_receive(2);
  CHECK_EQ(total.value(), stopped);
  unsigned long long read = 0;
  OK(MPI_T_pvar_readreset(total.session(), total.handle(), &read));
  CHECK_EQ(read, stopped);
  CHECK_EQ(total.value(), 0ull);
  const unsigned long long written = 17;
  OK(MPI_T_pvar_write(total.session(), total.handle(), &written));
  CHECK_EQ(total.value(), 17ull);
}

void one_sided_operations(Conformance& t) {
  const Tools tools(t);
  long memory[4] = {}, value = 1, old = 0;
  OwnedWin win;
  OK(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_SELF, win.out()));
  Reading puts(t, "one_sided_puts", MPI_T_PVAR_CLASS_COUNTER);
  Reading fetches(t, "one_sided_fetches", MPI_T_PVAR_CLASS_COUNTER);
  Reading written(t, "one_sided_bytes_written", MPI_T_PVAR_CLASS_COUNTER);
  Reading read(t, "one_sided_bytes_read", MPI_T_PVAR_CLASS_COUNTER);
  for (Reading* reading : {&puts, &fetches, &written, &read})
    OK(MPI_T_pvar_start(reading->session(), reading->handle()));
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  OK(MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win));
  OK(MPI_Get(&old, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
  OK(MPI_Win_flush(0, win));
  OK(MPI_Fetch_and_op(&value, &old, MPI_LONG, 0, 2, MPI_SUM, win));
  OK(MPI_Win_flush(0, win));
  OK(MPI_Fetch_and_op(&value, &old, MPI_LONG, 0, 2, MPI_NO_OP, win));
  OK(MPI_Win_unlock_all(win));
  CHECK_EQ(puts.value(), 1ull);
  CHECK_EQ(fetches.value(), 2ull);
  CHECK_EQ(written.value(), 2 * sizeof(long));
  CHECK_EQ(read.value(), 3 * sizeof(long));
}

// The checks of arguments can be switched off and on at any time; the size of a ring cannot be changed.
void knobs_that_change(Conformance& t) {
  const Tools tools(t);
  int checks = -1, slots = -1, count = 0;
  OK(MPI_T_cvar_get_index("HAWSER_CHECKS", &checks));
  OK(MPI_T_cvar_get_index("HAWSER_SHM_RING_SLOTS", &slots));
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL, fixed = MPI_T_CVAR_HANDLE_NULL;
  OK(MPI_T_cvar_handle_alloc(checks, nullptr, &handle, &count));
  OK(MPI_T_cvar_handle_alloc(slots, nullptr, &fixed, &count));
  int before = -1, value = 0;
  OK(MPI_T_cvar_read(handle, &before));
  OK(MPI_T_cvar_write(handle, &value));
  value = -1;
  OK(MPI_T_cvar_read(handle, &value));
  CHECK_EQ(value, 0);
  const int nonsense = 2;
  CHECK_EQ(MPI_T_cvar_write(handle, &nonsense), MPI_T_ERR_INVALID);
  OK(MPI_T_cvar_write(handle, &before));
  if (before == 1) CHECK_FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  const MPI_Count more = 1024;
  CHECK_EQ(MPI_T_cvar_write(fixed, &more), MPI_T_ERR_CVAR_SET_NEVER);
  OK(MPI_T_cvar_handle_free(&handle));
  OK(MPI_T_cvar_handle_free(&fixed));
  CHECK_EQ(MPI_T_cvar_read(fixed, &value), MPI_T_ERR_INVALID_HANDLE);
}

void on_event(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
  ++*static_cast<int*>(user_data);
}
void on_dropped(MPI_Count, MPI_T_event_registration, int, MPI_T_cb_safety, void*) {}
void on_freed(MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
  *static_cast<int*>(user_data) = 77;
}

// What happens when events do happen is in test/simulated/tool_events_test.cpp.
void events(Conformance& t) {
  const Tools tools(t);
  int number = 0, sources = 0;
  OK(MPI_T_event_get_num(&number));
  REQUIRE(number >= 3);
  for (int i = 0; i < number; ++i) {
    char name[256] = "";
    int length = sizeof name, elements = 0, index = -1;
    OwnedInfo info;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    OK(MPI_T_event_get_info(i, name, &length, nullptr, nullptr, nullptr, &elements, &items, info.out(),
                            nullptr, nullptr, nullptr));
    OK(MPI_T_event_get_index(name, &index));
    CHECK_EQ(index, i);
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(elements), MPI_DATATYPE_NULL);
    std::vector<MPI_Aint> places(types.size(), -1);
    OK(MPI_T_event_get_info(i, nullptr, nullptr, nullptr, types.data(), places.data(), &elements, nullptr,
                            nullptr, nullptr, nullptr, nullptr));
    for (std::size_t k = 0; k < types.size(); ++k) CHECK(types[k] != MPI_DATATYPE_NULL && places[k] >= 0);
    int items_number = 0;
    OK(MPI_T_enum_get_info(items, &items_number, nullptr, nullptr));
    CHECK_EQ(items_number, elements);
  }
  MPI_T_event_registration registration;
  int calls = 0;
  OK(MPI_T_event_handle_alloc(0, nullptr, MPI_INFO_NULL, &registration));
  OK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &calls,
                                   on_event));
  OK(MPI_T_event_set_dropped_handler(registration, on_dropped));
  OwnedInfo used;
  OK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, used.out()));
  OK(MPI_T_event_handle_free(registration, &calls, on_freed));
  CHECK_EQ(calls, 77);
  CHECK_EQ(MPI_T_event_handle_free(registration, &calls, on_freed), MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_source_get_num(&sources));
  REQUIRE(sources >= 1);
  MPI_Count ticks = 0, first = 0, second = 0;
  OK(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, &ticks, nullptr, nullptr));
  CHECK(ticks > 0);
  OK(MPI_T_source_get_timestamp(0, &first));
  OK(MPI_T_source_get_timestamp(0, &second));
  CHECK(second >= first);
}
#endif

}  // namespace

CHAPTER(tool, CASE(initialized_more_than_once), CASE(control_variables), CASE(names_in_too_little_room),
        CASE(performance_variables), CASE(categories)
#ifdef HAWSER
                                         ,
        CASE(unexpected_messages), CASE(one_sided_operations), CASE(knobs_that_change), CASE(events)
#endif
)

}  // namespace conformance
