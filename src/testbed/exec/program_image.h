// ProgramImage: a program as the simulator runs it: its file, the libraries with state of their own, and how
// a rank's own copies of them are loaded. The C library and its parts, libgcc_s and MPI itself are there once
// for all ranks: their state is swapped with the ranks (rank_state.h), has none, or is the simulator's.
#pragma once

#include <string>
#include <vector>

#include "os/file_descriptor.h"
#include "testbed/exec/elf_object.h"

struct link_map;

namespace hawser {

enum class ProgramAbi : std::uint8_t { standard, mpich };

class ProgramImage {
 public:
  // `library_folders`: where Hawser's libraries lie, which come before the system's. Errors name the file,
  // what about it cannot be simulated, and what to do. `process_per_rank`: each rank loads it in a process of
  // its own, where OpenMP's library works with one thread.
  static Result<ProgramImage> read(const std::string& program, const std::string& library_folders,
                                   bool process_per_rank);

  const ElfObject& program() const { return objects_.back().file; }
  ProgramAbi abi() const { return abi_; }
  // The paths of what every rank gets a copy of.
  std::vector<std::string> copied() const;

  // One rank's copies, once they are loaded. They stay for good.
  struct Loaded {
    std::vector<link_map*> objects;  // libraries before those that need them; the program is the last
    std::uintptr_t entry = 0;        // where the program begins
  };
  // Runs no constructors: that is construct(). The loader finds the copies by their descriptors' numbers: it
  // must have been started with LD_LIBRARY_PATH=/proc/self/fd.
  Result<Loaded> load(int rank) const;
  void construct(const Loaded& loaded, int count, char** words, char** variables) const;

 private:
  struct Object {
    ElfObject file;
    FileDescriptor descriptor;  // of the file itself
  };

  ProgramImage() = default;
  Result<> find_libraries(const std::string& library_folders);
  Result<> add(const std::string& path);
  Result<> check() const;
  int number_in(int rank, std::size_t index) const;
  std::string name_in(int rank, const std::string& name) const;
  Result<> make_copy(int rank, std::size_t index, FileDescriptor& copy) const;
  void find_copied_variables();
  void fill_copied_variables(const Loaded& loaded) const;
  Result<Loaded> load_copies(int rank, const std::vector<FileDescriptor>& copies) const;

  // A variable of another object that lies in the program.
  struct CopiedVariable {
    ElfObject::Variable in_program;
    int object = -1;             // whose it is; -1: of what is there for all
    std::uintptr_t address = 0;  // there
    std::uint64_t size = 0;
  };

  std::string path_;
  bool process_per_rank_ = false;
  ProgramAbi abi_ = ProgramAbi::standard;
  std::vector<std::pair<std::string, std::string>> found_;  // names of needed libraries, and where they lie
  std::vector<CopiedVariable> copied_variables_;
  std::vector<Object> objects_;  // in the order of loading; the program is the last
};

}  // namespace hawser
