// Names of enumerators. enum_name(PathReason::watchdog) is "watchdog": the word of the source, which the
// compiler writes into the name of a function that is instantiated with the enumerator. So the enumeration is
// the only list. EnumTexts is for enumerations of which people shall read other words. For enumerators from 0
// to 63; sources include this, headers need not.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace hawser {
namespace enum_names_detail {

inline constexpr std::size_t most = 64;

// Empty if no enumerator has this value: then the compiler writes a cast.
template <auto Value>
consteval std::string_view word() {
  std::string_view text =
      __PRETTY_FUNCTION__;  // GCC: [with auto Value = E::name; ...], Clang: [Value = E::name]
  constexpr std::string_view before = "Value = ";
  text.remove_prefix(text.find(before) + before.size());
  text = text.substr(0, text.find_first_of(";]"));
  return text.front() == '(' ? std::string_view{} : text.substr(text.rfind(':') + 1);
}

// The same with a 0 behind, for who takes a const char*.
template <auto Value>
inline constexpr auto stored = [] {
  std::array<char, word<Value>().size() + 1> text = {};
  for (std::size_t i = 0; i < word<Value>().size(); ++i) text[i] = word<Value>()[i];
  return text;
}();

template <class Enum, std::size_t... Values>
consteval auto words(std::index_sequence<Values...>) {
  return std::array<const char*, most>{
      (word<static_cast<Enum>(Values)>().empty() ? nullptr : stored<static_cast<Enum>(Values)>.data())...};
}
// Not by the pointers in `all`: with -fsanitize=undefined, comparing them with null is no constant.
template <class Enum, std::size_t... Values>
consteval std::size_t count(std::index_sequence<Values...>) {
  return (std::size_t{0} + ... + (word<static_cast<Enum>(Values)>().empty() ? 0 : 1));
}
template <class Enum>
inline constexpr auto all = words<Enum>(std::make_index_sequence<most>{});

}  // namespace enum_names_detail

template <class Enum>
inline constexpr std::size_t enumerators =
    enum_names_detail::count<Enum>(std::make_index_sequence<enum_names_detail::most>{});

// "?" for a number that is no enumerator's.
template <class Enum>
constexpr const char* enum_name(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  const auto& names = enum_names_detail::all<Enum>;
  return index < names.size() && names[index] != nullptr ? names[index] : "?";
}

template <class Enum>
constexpr std::optional<Enum> enum_of(std::string_view name) {
  const auto& names = enum_names_detail::all<Enum>;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != nullptr && name == names[i]) return static_cast<Enum>(i);
  return {};
}

// A text for each enumerator: a table that lacks one does not compile.
template <class Enum>
class EnumTexts {
 public:
  struct Row {
    Enum value;
    const char* text;
  };
  template <std::size_t Rows>
  consteval explicit EnumTexts(const Row (&rows)[Rows]) {
    static_assert(Rows == enumerators<Enum>);
    for (const Row& row : rows) {
      const char*& text = texts_.at(static_cast<std::size_t>(row.value));
      if (text != nullptr) throw "two texts of one enumerator";
      text = row.text;
    }
  }
  constexpr const char* operator()(Enum value) const {
    const auto index = static_cast<std::size_t>(value);
    return index < texts_.size() && texts_[index] != nullptr ? texts_[index] : "?";
  }

 private:
  std::array<const char*, enum_names_detail::most> texts_ = {};
};

}  // namespace hawser
