// ElfObject: one ELF file (a program or a shared library) as the simulator needs it: what it needs and is
// called, and a copy of it that the loader takes for another object. Each rank of `hawser sim exec` has such
// copies of its program and of the libraries with state of their own.
//
// Only x86-64 files as the loader maps them; sections are not looked at, so stripped files serve as well.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

class ElfObject {
 public:
  // Reads the file. An error names the file and what is wrong with it.
  static Result<ElfObject> read(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& soname() const { return soname_; }  // empty: it has none
  const std::vector<std::string>& needed() const { return needed_; }
  const std::string& interpreter() const { return interpreter_; }  // empty: a library, or a static program
  bool position_independent() const { return header().e_type == ET_DYN; }
  std::uint64_t entry() const { return header().e_entry; }
  // What is read-only once the loader has set it; null: nothing is.
  const Elf64_Phdr* read_only_after_loading() const { return find_segment(PT_GNU_RELRO); }
  // The thread-local variables; null: it has none.
  const Elf64_Phdr* thread_local_segment() const { return find_segment(PT_TLS); }
  std::span<const std::byte> bytes_of(const Elf64_Phdr& segment) const {
    return std::span(bytes_).subspan(segment.p_offset, segment.p_filesz);
  }
  // What is to be called when it is loaded: a function (0: none), then those of an array of addresses.
  struct Constructors {
    std::uint64_t function, array, length;
  };
  Constructors constructors() const;
  // The parts of the file that are only read once they are loaded: code, constants.
  std::vector<Elf64_Phdr> read_only_segments() const;
  // The variables of other objects that this program has copies of, which all use (R_X86_64_COPY).
  struct Variable {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };
  std::vector<Variable> copied_variables() const;
  std::optional<Variable> find_variable(std::string_view name) const;

  // The bytes of a copy that needs other objects, and whose constructors the loader does not run. `rename`
  // answers the name of what is needed in place of the object of this name, which may not be longer; or ""
  // for what is not to be needed.
  std::vector<std::byte> copy(const std::function<std::string(const std::string&)>& rename) const;

 private:
  explicit ElfObject(std::string path) : path_(std::move(path)) {}
  Result<> parse();
  const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(bytes_.data()); }
  const Elf64_Phdr* find_segment(std::uint32_t type) const;
  // Where in the file an address lies; none: nowhere.
  std::optional<std::size_t> offset_of(std::uint64_t address) const;
  std::optional<Variable> symbol_at(std::size_t index, bool defined) const;
  Result<std::string> string_at(std::uint64_t offset) const;

  std::string path_;
  std::vector<std::byte> bytes_;
  std::vector<Elf64_Phdr> segments_;
  std::size_t dynamic_ = 0;  // offset of the dynamic section, and its entries
  std::size_t dynamic_entries_ = 0;
  std::size_t strings_ = 0;  // offset of the dynamic strings, and their bytes
  std::size_t strings_size_ = 0;
  std::size_t symbols_ = 0, symbol_count_ = 0;  // offset of the dynamic symbols
  std::size_t relocations_ = 0, relocations_size_ = 0;
  std::string soname_, interpreter_;
  std::vector<std::string> needed_;
};

}  // namespace hawser
