#include "testbed/exec/elf_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::uint64_t flag_of_programs = 0x08000000;  // DF_1_PIE: the loader refuses to open such a file
constexpr std::int64_t no_tag = 0x6000000d;             // in the range that the loader passes over

template <class T>
bool holds(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t count = 1) {
  return offset <= bytes.size() && count <= (bytes.size() - offset) / sizeof(T);
}

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Result<ElfObject> ElfObject::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return failure(ErrorKind::other, "cannot read {}: {}", path, std::strerror(errno));
  ElfObject object(path);
  object.bytes_.resize(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(object.bytes_.data()),
            static_cast<std::streamsize>(object.bytes_.size()));
  if (!file) return failure(ErrorKind::other, "cannot read {}", path);
  HAWSER_TRY(object.parse());
  return object;
}

Result<> ElfObject::parse() {
  const auto damaged = [&] { return failure(ErrorKind::other, "{} is not a complete ELF file", path_); };
  if (!holds<Elf64_Ehdr>(bytes_, 0) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
    return failure(ErrorKind::other,
                   "{} is not a program in ELF format; a script has to name the program it starts", path_);
  }
  const Elf64_Ehdr& head = header();
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
    return failure(ErrorKind::other, "{} is not a program for x86-64", path_);
  if (head.e_phentsize != sizeof(Elf64_Phdr) || !holds<Elf64_Phdr>(bytes_, head.e_phoff, head.e_phnum))
    return damaged();
  for (std::size_t i = 0; i < head.e_phnum; ++i)
    segments_.push_back(value_at<Elf64_Phdr>(bytes_, head.e_phoff + i * sizeof(Elf64_Phdr)));
  for (const Elf64_Phdr& segment : segments_)
    if (!holds<std::byte>(bytes_, segment.p_offset, segment.p_filesz)) return damaged();
  if (const Elf64_Phdr* found = find_segment(PT_INTERP); found != nullptr && found->p_filesz > 0)
    interpreter_.assign(reinterpret_cast<const char*>(bytes_.data()) + found->p_offset, found->p_filesz - 1);
  const Elf64_Phdr* const found = find_segment(PT_DYNAMIC);
  if (found == nullptr) return {};
  dynamic_ = found->p_offset;
  dynamic_entries_ = found->p_filesz / sizeof(Elf64_Dyn);
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> name;
  for (std::size_t i = 0; i < dynamic_entries_; ++i) {
    const auto entry = value_at<Elf64_Dyn>(bytes_, dynamic_ + i * sizeof(Elf64_Dyn));
    const auto where = offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_SONAME) name = entry.d_un.d_val;
    if (entry.d_tag == DT_STRSZ) strings_size_ = entry.d_un.d_val;
    if (entry.d_tag == DT_STRTAB && where) strings_ = *where;
    if (entry.d_tag == DT_SYMTAB && where) symbols_ = *where;
    if (entry.d_tag == DT_RELA && where) relocations_ = *where;
    if (entry.d_tag == DT_RELASZ) relocations_size_ = entry.d_un.d_val;
  }
  if (!holds<std::byte>(bytes_, strings_, strings_size_)) return damaged();
  if (!holds<std::byte>(bytes_, relocations_, relocations_size_)) return damaged();
  // Linkers put the names behind the symbols, whose number is told nowhere.
  if (strings_ > symbols_ && symbols_ != 0) symbol_count_ = (strings_ - symbols_) / sizeof(Elf64_Sym);
  for (const std::uint64_t offset : needed) {
    auto text = string_at(offset);
    if (!text) return text.take_error();
    needed_.push_back(std::move(text).value());
  }
  if (name) {
    auto text = string_at(*name);
    if (!text) return text.take_error();
    soname_ = std::move(text).value();
  }
  return {};
}

const Elf64_Phdr* ElfObject::find_segment(std::uint32_t type) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == type) return &segment;
  return nullptr;
}

std::optional<std::size_t> ElfObject::offset_of(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

Result<std::string> ElfObject::string_at(std::uint64_t offset) const {
  const char* const begin = reinterpret_cast<const char*>(bytes_.data()) + strings_;
  if (offset >= strings_size_ || std::memchr(begin + offset, 0, strings_size_ - offset) == nullptr)
    return failure(ErrorKind::other, "{} is not a complete ELF file", path_);
  return std::string(begin + offset);
}

ElfObject::Constructors ElfObject::constructors() const {
  std::uint64_t single = 0, array = 0, bytes = 0;
  for (std::size_t i = 0; i < dynamic_entries_; ++i) {
    const auto entry = value_at<Elf64_Dyn>(bytes_, dynamic_ + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_INIT) single = entry.d_un.d_ptr;
    if (entry.d_tag == DT_INIT_ARRAY) array = entry.d_un.d_ptr;
    if (entry.d_tag == DT_INIT_ARRAYSZ) bytes = entry.d_un.d_val;
  }
  return {single, array, array == 0 ? 0 : bytes / sizeof(std::uint64_t)};
}

std::vector<Elf64_Phdr> ElfObject::read_only_segments() const {
  std::vector<Elf64_Phdr> found;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) found.push_back(segment);
  return found;
}

std::optional<ElfObject::Variable> ElfObject::symbol_at(std::size_t index, bool defined) const {
  const std::size_t at = symbols_ + index * sizeof(Elf64_Sym);
  if (!holds<Elf64_Sym>(bytes_, at)) return std::nullopt;
  const auto symbol = value_at<Elf64_Sym>(bytes_, at);
  if (defined && (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT))
    return std::nullopt;
  auto name = string_at(symbol.st_name);
  if (!name) return std::nullopt;
  return Variable{std::move(name).value(), symbol.st_value, symbol.st_size};
}

std::vector<ElfObject::Variable> ElfObject::copied_variables() const {
  std::vector<Variable> found;
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations_size_; at += sizeof(Elf64_Rela)) {
    const auto relocation = value_at<Elf64_Rela>(bytes_, relocations_ + at);
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_COPY) continue;
    if (auto symbol = symbol_at(ELF64_R_SYM(relocation.r_info), false)) {
      symbol->address = relocation.r_offset;
      found.push_back(std::move(*symbol));
    }
  }
  return found;
}

std::optional<ElfObject::Variable> ElfObject::find_variable(std::string_view name) const {
  for (std::size_t i = 1; i < symbol_count_; ++i)
    if (auto symbol = symbol_at(i, true); symbol && symbol->name == name) return symbol;
  return std::nullopt;
}

std::vector<std::byte> ElfObject::copy(const std::function<std::string(const std::string&)>& rename) const {
  std::vector<std::byte> out = bytes_;
  // Variables that the loader would keep only once in the process (static ones of templates, in C++).
  for (std::size_t i = 1; i < symbol_count_; ++i) {
    const std::size_t at = symbols_ + i * sizeof(Elf64_Sym);
    auto symbol = value_at<Elf64_Sym>(out, at);
    if (ELF64_ST_BIND(symbol.st_info) != STB_GNU_UNIQUE) continue;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbol.st_info));
    std::memcpy(out.data() + at, &symbol, sizeof symbol);
  }
  for (std::size_t i = 0; i < dynamic_entries_; ++i) {
    auto entry = value_at<Elf64_Dyn>(bytes_, dynamic_ + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_FLAGS_1) entry.d_un.d_val &= ~flag_of_programs;
    constexpr std::int64_t constructors[] = {DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_PREINIT_ARRAY,
                                             DT_PREINIT_ARRAYSZ};
    if (std::ranges::find(constructors, entry.d_tag) != std::end(constructors)) entry.d_tag = no_tag;
    if (entry.d_tag == DT_NEEDED) {
      const std::string name = string_at(entry.d_un.d_val).value();
      const std::string other = rename(name);
      if (other.empty()) {
        entry.d_tag = no_tag;
      } else {
        HAWSER_ASSERT(other.size() <= name.size());
        std::memcpy(out.data() + strings_ + entry.d_un.d_val, other.c_str(), other.size() + 1);
      }
    }
    std::memcpy(out.data() + dynamic_ + i * sizeof(Elf64_Dyn), &entry, sizeof entry);
  }
  return out;
}

}  // namespace hawser
