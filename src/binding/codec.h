// What both ABIs' handle codecs share. Codec<T> turns the handle of a T into its number in the process's
// table and back. A handle that was never given out becomes `no_number`, or a number that is not in the
// table: either way find() answers null, so garbage is an error and not a crash.
#pragma once

#include <cstdint>

#include "communicator/communicator.h"
#include "datatype/operator.h"
#include "mpi/error_class.h"
#include "process/handles.h"
#include "window/window.h"

namespace hawser::binding {

inline constexpr std::uint64_t no_number = UINT64_MAX;

template <class T>
struct Codec;

// What is said of a kind of handle in messages, and the class of the error when one is not valid.
template <class T>
struct Noun;
template <>
struct Noun<Communicator> {
  static constexpr const char* text = "communicator";
  static constexpr ErrorClass error_class = ErrorClass::comm;
};
template <>
struct Noun<Datatype> {
  static constexpr const char* text = "datatype";
  static constexpr ErrorClass error_class = ErrorClass::type;
};
template <>
struct Noun<Operator> {
  static constexpr const char* text = "operation";
  static constexpr ErrorClass error_class = ErrorClass::op;
};
template <>
struct Noun<Group> {
  static constexpr const char* text = "group";
  static constexpr ErrorClass error_class = ErrorClass::group;
};
template <>
struct Noun<Info> {
  static constexpr const char* text = "info object";
  static constexpr ErrorClass error_class = ErrorClass::info;
};
template <>
struct Noun<ErrorHandler> {
  static constexpr const char* text = "error handler";
  static constexpr ErrorClass error_class = ErrorClass::errhandler;
};
template <>
struct Noun<Session> {
  static constexpr const char* text = "session";
  static constexpr ErrorClass error_class = ErrorClass::session;
};
template <>
struct Noun<Window> {
  static constexpr const char* text = "window";
  static constexpr ErrorClass error_class = ErrorClass::win;
};
template <>
struct Noun<Request> {
  static constexpr const char* text = "request";
  static constexpr ErrorClass error_class = ErrorClass::request;
};
template <>
struct Noun<Message> {
  static constexpr const char* text = "message";
  static constexpr ErrorClass error_class = ErrorClass::request;
};

template <class T>
auto& table_of(Handles& handles) {
  if constexpr (std::is_same_v<T, Communicator>)
    return handles.communicators;
  else if constexpr (std::is_same_v<T, Datatype>)
    return handles.datatypes;
  else if constexpr (std::is_same_v<T, Operator>)
    return handles.operators;
  else if constexpr (std::is_same_v<T, Group>)
    return handles.groups;
  else if constexpr (std::is_same_v<T, Info>)
    return handles.infos;
  else if constexpr (std::is_same_v<T, ErrorHandler>)
    return handles.error_handlers;
  else if constexpr (std::is_same_v<T, Session>)
    return handles.sessions;
  else if constexpr (std::is_same_v<T, Message>)
    return handles.messages;
  else if constexpr (std::is_same_v<T, Window>)
    return handles.windows;
  else
    return handles.requests;
}

}  // namespace hawser::binding
