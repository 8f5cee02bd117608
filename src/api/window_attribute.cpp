// Attributes of windows (MPI-5.0 sections 7.7.3 and 12.2.6).
#include <array>
#include <bit>

#include "api/functions.h"
#include "communicator/attribute.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"
#include "window/window.h"

namespace hawser::mpi {

namespace {

bool predefined(int number) {
  return number >= predefined_keyval::win_base && number <= predefined_keyval::win_model;
}

Result<Keyval*> user_keyval(MpiProcess& process, int number) {
  if (Keyval* keyval = process.keyvals().find(AttributeKind::window, number)) return keyval;
  if (predefined(number)) return failure(ErrorClass::keyval, "keyval {} is predefined and read-only", number);
  return failure(ErrorClass::keyval, "{} is not a keyval of windows", number);
}

// A program gets the addresses of ints: of one for every value that there is.
template <class Value>
void* address_of(Value value) {
  static constexpr int first = 311;
  static constexpr auto numbers = [] {
    std::array<int, 12> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = first + static_cast<int>(i);
    return all;
  }();
  static_assert(static_cast<int>(WindowFlavor::create) == first &&
                static_cast<std::size_t>(WindowModel::separate) - first < numbers.size());
  return const_cast<int*>(&numbers[static_cast<std::size_t>(value) - first]);
}

void* predefined_value(Window& window, int number) {
  auto& memory = const_cast<WindowMemory&>(window.memory());
  switch (number) {
    case predefined_keyval::win_base:
      return memory.base;
    case predefined_keyval::win_size:
      return &memory.size;
    case predefined_keyval::win_disp_unit:
      static_assert(std::endian::native == std::endian::little);
      return &memory.displacement_unit;  // the int is its low half
    case predefined_keyval::win_create_flavor:
      return address_of(memory.flavor);
    default:
      return address_of(memory.model);
  }
}

}  // namespace

Result<> win_create_keyval(MpiProcess& process, AbiFunction win_copy_attr_fn, AbiFunction win_delete_attr_fn,
                           int& win_keyval, void* extra_state) {
  win_keyval = process.keyvals()
                   .create(AttributeKind::window, win_copy_attr_fn, win_delete_attr_fn, extra_state)
                   .number;
  return {};
}

Result<> win_free_keyval(MpiProcess& process, int win_keyval) {
  auto keyval = user_keyval(process, win_keyval);
  if (!keyval) return keyval.take_error();
  return process.keyvals().free(AttributeKind::window, win_keyval);
}

Result<> win_set_attr(MpiProcess& process, Window& win, int win_keyval, void* attribute_val) {
  auto keyval = user_keyval(process, win_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Window> kept(&win);
  return win.attributes.set(*keyval.value(), attribute_val, win, process.attribute_callbacks());
}

Result<> win_get_attr(MpiProcess& process, Window& win, int win_keyval, void*& attribute_val, bool& flag) {
  if (predefined(win_keyval)) {
    flag = true;
    attribute_val = predefined_value(win, win_keyval);
    return {};
  }
  auto keyval = user_keyval(process, win_keyval);
  if (!keyval) return keyval.take_error();
  void* value = win.attributes.find(*keyval.value(), flag);
  if (flag) attribute_val = value;
  return {};
}

Result<> win_delete_attr(MpiProcess& process, Window& win, int win_keyval) {
  auto keyval = user_keyval(process, win_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Window> kept(&win);
  return win.attributes.remove(*keyval.value(), win, process.attribute_callbacks());
}

}  // namespace hawser::mpi
