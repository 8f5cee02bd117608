#include "testbed/exec/program_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/failure.h"
#include "os/command_output.h"

namespace hawser {
namespace {

// Of these there is one for all ranks.
constexpr std::string_view shared_libraries[] = {
    "libc.so.6",      "libm.so.6",    "libdl.so.2",    "libpthread.so.0",      "librt.so.1", "libutil.so.1",
    "libresolv.so.2", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libanl.so.1"};
constexpr std::string_view standard_names[] = {"libmpi_abi.so.0", "libmpi_abi.so.1"};
constexpr std::string_view mpich_names[] = {"libmpich.so.12", "libmpi.so.12", "libmpicxx.so.12"};
constexpr std::string_view openmp_library = "libgomp.so.1";
constexpr std::string_view threading_libraries[] = {openmp_library, "libtbb.so.12", "libiomp5.so"};

constexpr int first_number = 1000;  // of the copies' descriptors

bool among(std::string_view name, auto&& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
bool is_mpi(std::string_view name) { return among(name, standard_names) || among(name, mpich_names); }
bool is_shared(std::string_view name) { return among(name, shared_libraries); }

bool write_all(int descriptor, const std::vector<std::byte>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

// The parts that nobody writes are mapped from the file itself, where all ranks share them.
void share_pages(const ElfObject& file, int original, std::uintptr_t base, int copy) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Elf64_Phdr& segment : file.read_only_segments()) {
    const std::uint64_t skew = segment.p_vaddr % page;
    const std::uint64_t bytes = (segment.p_filesz + skew + page - 1) / page * page;
    const int protection = PROT_READ | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    void* const place = reinterpret_cast<void*>(base + segment.p_vaddr - skew);
    if (mmap(place, bytes, protection, MAP_PRIVATE | MAP_FIXED, original,
             static_cast<off_t>(segment.p_offset - skew)) == MAP_FAILED)
      continue;
    // Whole pages only: the last one may belong to the variables too.
    const std::uint64_t begin = (segment.p_offset + page - 1) / page * page;
    const std::uint64_t end = (segment.p_offset + segment.p_filesz) / page * page;
    if (end > begin)
      (void)fallocate(copy, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                      static_cast<off_t>(end - begin));
  }
}

}  // namespace

Result<ProgramImage> ProgramImage::read(const std::string& program, const std::string& library_folders,
                                        bool process_per_rank) {
  ProgramImage image;
  image.path_ = program;
  image.process_per_rank_ = process_per_rank;
  auto file = ElfObject::read(program);
  if (!file) return file.take_error();
  const std::string interpreter = file.value().interpreter();
  if (interpreter.empty()) {
    return failure(ErrorKind::other,
                   "{} is statically linked, so that nothing of it can be replaced; link it dynamically",
                   program);
  }
  if (!file.value().position_independent()) {
    return failure(
        ErrorKind::other,
        "{} is not position-independent, so that it can be loaded only once; compile and link it with "
        "-fPIE -pie",
        program);
  }
  HAWSER_TRY(image.find_libraries(library_folders));
  HAWSER_TRY(image.add(program));
  HAWSER_TRY(image.check());
  image.find_copied_variables();
  return image;
}

// Asks the loader itself, which knows all rules of where libraries are looked for.
Result<> ProgramImage::find_libraries(const std::string& library_folders) {
  auto program = ElfObject::read(path_);
  if (!program) return program.take_error();
  auto listed = command_output({program.value().interpreter(), "--list", path_},
                               {{"LD_LIBRARY_PATH", library_folders}});
  if (!listed) return listed.take_error();
  std::istringstream lines(listed.value());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, path;
    words >> name >> arrow >> path;
    if (arrow != "=>") continue;
    if (path == "not") return failure(ErrorKind::other, "{} needs {}, which is not found", path_, name);
    found_.emplace_back(name, path);
  }
  return {};
}

// What an object needs is loaded before it.
Result<> ProgramImage::add(const std::string& path) {
  for (const Object& known : objects_)
    if (known.file.path() == path) return {};
  auto file = ElfObject::read(path);
  if (!file) return file.take_error();
  for (const std::string& name : file.value().needed()) {
    if (is_shared(name) || is_mpi(name)) continue;
    if (among(name, threading_libraries) && !(process_per_rank_ && name == openmp_library)) {
      return failure(ErrorKind::other, "{} needs {}: threads of the program's own are not simulated{}", path,
                     name, name == openmp_library ? "; with --process-per-rank it runs with one thread" : "");
    }
    if (name.find('/') != std::string::npos) found_.emplace_back(name, name);
    const auto found =
        std::find_if(found_.begin(), found_.end(), [&](const auto& each) { return each.first == name; });
    if (found == found_.end())
      return failure(ErrorKind::other, "{} needs {}, which is not found", path, name);
    HAWSER_TRY(add(found->second));
  }
  Object object{std::move(file).value(), FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC))};
  if (object.descriptor.get() < 0)
    return failure(ErrorKind::other, "cannot open {}: {}", path, std::strerror(errno));
  objects_.push_back(std::move(object));
  return {};
}

Result<> ProgramImage::check() const {
  bool standard = false, mpich = false;
  for (const Object& object : objects_) {
    for (const std::string& name : object.file.needed()) {
      standard |= among(name, standard_names);
      mpich |= among(name, mpich_names);
      if (name.starts_with("libmpi.so.") && !is_mpi(name)) {
        return failure(ErrorKind::other,
                       "{} was built for another MPI ({}); build it with Hawser's mpicc or with MPICH's",
                       object.file.path(), name);
      }
    }
  }
  if (standard && mpich)
    return failure(ErrorKind::other, "{} and its libraries use two ABIs of MPI at once", path_);
  if (!standard && !mpich)
    return failure(ErrorKind::other, "{} is not linked with an MPI library; build it with Hawser's mpicc",
                   path_);
  const_cast<ProgramImage*>(this)->abi_ = standard ? ProgramAbi::standard : ProgramAbi::mpich;
  return {};
}

void ProgramImage::find_copied_variables() {
  for (ElfObject::Variable& variable : program().copied_variables()) {
    CopiedVariable copied{.in_program = std::move(variable)};
    for (std::size_t i = 0; i + 1 < objects_.size() && copied.object < 0; ++i) {
      const auto found = objects_[i].file.find_variable(copied.in_program.name);
      if (!found) continue;
      copied.object = static_cast<int>(i);
      copied.address = found->address;
      copied.size = found->size;
    }
    if (copied.object < 0) {
      copied.address = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, copied.in_program.name.c_str()));
      copied.size = copied.in_program.size;
    }
    if (copied.address != 0) copied_variables_.push_back(std::move(copied));
  }
}

// The loader would, if it took the copy for a program.
void ProgramImage::fill_copied_variables(const Loaded& loaded) const {
  const std::uintptr_t base = loaded.objects.back()->l_addr;
  const Elf64_Phdr* const guarded = program().read_only_after_loading();
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto protect = [&](int protection) {
    if (guarded == nullptr || copied_variables_.empty()) return;
    const std::uintptr_t begin = (base + guarded->p_vaddr) / page * page;
    const std::uintptr_t end = (base + guarded->p_vaddr + guarded->p_memsz) / page * page;
    if (end > begin) (void)mprotect(reinterpret_cast<void*>(begin), end - begin, protection);
  };
  protect(PROT_READ | PROT_WRITE);
  for (const CopiedVariable& each : copied_variables_) {
    const std::uintptr_t from =
        each.address + (each.object < 0 ? 0 : loaded.objects[static_cast<std::size_t>(each.object)]->l_addr);
    std::memcpy(reinterpret_cast<void*>(base + each.in_program.address), reinterpret_cast<const void*>(from),
                std::min(each.size, each.in_program.size));
  }
  protect(PROT_READ);
}

void ProgramImage::construct(const Loaded& loaded, int count, char** words, char** variables) const {
  using Constructor = void (*)(int, char**, char**);
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const ElfObject::Constructors constructors = objects_[i].file.constructors();
    const std::uintptr_t base = loaded.objects[i]->l_addr;
    if (constructors.function != 0)
      reinterpret_cast<Constructor>(base + constructors.function)(count, words, variables);
    for (std::size_t k = 0; k < constructors.length; ++k)
      reinterpret_cast<Constructor*>(base + constructors.array)[k](count, words, variables);
  }
}

std::vector<std::string> ProgramImage::copied() const {
  std::vector<std::string> paths;
  for (const Object& object : objects_) paths.push_back(object.file.path());
  return paths;
}

// The loader knows objects by their paths, so no two copies may ever have the same number.
int ProgramImage::number_in(int rank, std::size_t index) const {
  return first_number + rank * static_cast<int>(objects_.size()) + static_cast<int>(index);
}

std::string ProgramImage::name_in(int rank, const std::string& name) const {
  for (std::size_t i = 0; i < objects_.size(); ++i)
    for (const auto& [needed, path] : found_)
      if (needed == name && objects_[i].file.path() == path) return std::to_string(number_in(rank, i));
  return name;
}

Result<> ProgramImage::make_copy(int rank, std::size_t index, FileDescriptor& copy) const {
  const ElfObject& file = objects_[index].file;
  const std::vector<std::byte> bytes = file.copy([&](const std::string& name) {
    // What is there for all: then the simulator's functions come before the C library's.
    if (is_mpi(name) || is_shared(name)) return std::string();
    return name_in(rank, name);
  });
  const FileDescriptor memory(memfd_create("rank", MFD_CLOEXEC));
  if (memory.get() >= 0 && write_all(memory.get(), bytes))
    copy = FileDescriptor(fcntl(memory.get(), F_DUPFD_CLOEXEC, number_in(rank, index)));
  if (copy.get() == number_in(rank, index)) return {};
  return failure(ErrorKind::other, "cannot make the copy of {} for rank {}: {}", file.path(), rank,
                 std::strerror(errno));
}

Result<ProgramImage::Loaded> ProgramImage::load(int rank) const {
  std::vector<FileDescriptor> copies(objects_.size());
  for (std::size_t i = 0; i < objects_.size(); ++i) HAWSER_TRY(make_copy(rank, i, copies[i]));
  return load_copies(rank, copies);
}

Result<ProgramImage::Loaded> ProgramImage::load_copies(int rank,
                                                       const std::vector<FileDescriptor>& copies) const {
  void* const handle =
      dlopen(std::to_string(copies.back().get()).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return failure(ErrorKind::other, "cannot load {} for rank {}: {}", path_, rank, dlerror());
  Loaded loaded;
  loaded.entry = map->l_addr + program().entry();
  // The loader puts what it loads behind what was there: the program, then what it needs.
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const std::string path = fmt::format("/proc/self/fd/{}", copies[i].get());
    link_map* at = map;
    while (at != nullptr && path != at->l_name) at = at->l_next;
    if (at == nullptr)
      return failure(ErrorKind::other, "the loader did not take {}", objects_[i].file.path());
    loaded.objects.push_back(at);
    share_pages(objects_[i].file, objects_[i].descriptor.get(), at->l_addr, copies[i].get());
  }
  fill_copied_variables(loaded);
  return loaded;
}

}  // namespace hawser
