// What the shared-memory channel asks of the operating system: memory without a name that several processes
// map, sleeping and waking, copying between processes. Nothing here leaves a trace in a file system: the
// memory lives in a memfd, which dies with its last user, however that user ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "os/file_descriptor.h"

namespace hawser {

// A shared mapping of a memfd. Pages exist only once they are touched.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  // Maps the first `bytes` of the file, which is made that long if it is shorter.
  static Result<SharedMapping> map(int fd, std::int64_t bytes);

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

// Has the system provide the pages of a shared mapping that hold these bytes at once, rather than one by one
// as they are written. Where it cannot (Linux before 5.14, no memory left), they come when they are written.
void make_pages_present(std::byte* begin, std::int64_t bytes);

// Gives a file its size. An error, rather than the signal SIGXFSZ, if that is beyond the limit of `ulimit
// -f`, which holds for files in memory, too.
Result<> set_file_size(int fd, std::int64_t bytes);
// Fixes the size of a memory file: who maps it can rely on all its pages, whatever the other processes do.
void seal_size(int fd);
bool cannot_shrink(int fd);

Result<FileDescriptor> make_memory_file(const char* label);

// Another process's open file, through /proc. Fails where the kernel does not allow to look at that process.
Result<FileDescriptor> open_descriptor_of(pid_t pid, int fd);
// Tells one file from another on this machine: device and inode.
std::string file_identity(int fd);

// Passes a descriptor over a socket in the abstract namespace (no file). The giver listens before the takers
// know the name; take blocks until give has been called, give until `takers` processes have taken. Both ends
// pass over, or refuse, whoever runs as another user.
class DescriptorPasser {
 public:
  static Result<DescriptorPasser> listen();
  const std::string& name() const { return name_; }
  Result<> give(int fd, int takers);
  static Result<FileDescriptor> take(const std::string& name);
  // The two halves of take, for who may not wait: the second does not if give comes in between.
  static Result<FileDescriptor> reach(const std::string& name);
  static Result<FileDescriptor> receive(const FileDescriptor& giver, const std::string& name);

 private:
  FileDescriptor socket_;
  std::string name_;
};

// A set of CPUs; those above 1023 are left out.
struct CpuSet {
  std::uint64_t words[16] = {};
  void add(const CpuSet& other);
  bool contains(const CpuSet& other) const;
  bool has(int cpu) const { return (words[cpu / 64] >> (cpu % 64) & 1) != 0; }
  int count() const;
};
// Where this process may run.
CpuSet usable_cpus();
int online_cpus();
// The one that this thread runs on at the moment.
int current_cpu();
// Moves this thread there, and leaves it free to run wherever it might.
void move_to_cpu(int cpu);
// Whether this thread is of a class whose threads the kernel leaves where they are as long as they never
// sleep, however many of them share a core.
bool stays_on_its_core();
// Lets others run; how long they did.
Nanoseconds yield_cpu();
// Longer than the turns of many processes that wait themselves, shorter than a turn of the kernel's: somebody
// computes.
constexpr Nanoseconds long_yield = 1 * millisecond;
pid_t own_pid();

// Names a process of this machine for good: numbers of processes are used again, and mean others in other
// containers.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t started = 0;    // clock ticks since the machine started; 0: not known
  std::uint64_t numbering = 0;  // the namespace that pid is a number of
};
ProcessIdentity own_identity();
// True only if the process is surely dead (though its parent may not have taken note of that).
bool has_died(const ProcessIdentity& process);
// A number that no other process draws (from the kernel's random source).
std::uint64_t random_word();
// What nobody can guess: straight from the kernel, or not at all.
using Secret = std::array<std::uint64_t, 2>;
Result<Secret> random_secret();

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Nothing that follows is read before what was read so far has come. A processor that waits in a loop for a
// number reads ahead what stands after the loop, and so takes lines from another core that still writes them.
inline void read_nothing_ahead() {
#if defined(__x86_64__)
  asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Looks at most so many times for something that another core is about to do. Between two looks the processor
// pauses: who looks all the time takes the cache line away while the other core writes it. True: it has come.
template <class HasCome>
bool look_with_pauses(int looks, HasCome has_come) {
  for (; looks > 0; --looks) {
    if (has_come()) return true;
    if (looks > 1) pause_cpu();
  }
  return false;
}

// Sleeps while *word == expected, at most `timeout`; returns early on a wake or a signal.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanoseconds timeout);
void futex_wake_all(std::atomic<std::uint32_t>& word);

// Lets remote_barrier() of any process act on this one. False: not supported, so this process must put a
// full fence between publishing and looking for sleepers.
bool accept_remote_barriers();
// A full memory barrier in every running thread of every process that accepts it. False: not supported.
bool remote_barrier();

// A socket that sleeping processes of this machine listen on for wakes, in the abstract namespace (no file),
// so that a sleep can wait for it and for other descriptors at once. Its address fits 64 bytes and has a
// password in it: who does not know the address by heart wakes nobody.
Result<FileDescriptor> make_wake_listener(std::string& wake_address);
FileDescriptor make_wake_socket();
void send_wake(const FileDescriptor& socket, std::string_view wake_address);
void drain_wakes(const FileDescriptor& listener);

// Sleeps until one of two descriptors (-1: none) is readable, at most `timeout`.
bool wait_readable(int first, int second, Nanoseconds timeout);  // false: neither was

// Lets every process of this user copy from and to this one where the kernel asks the target (Yama).
void allow_copies_by_others();
// Copies from another process's memory; false if the kernel refuses or not all bytes could be copied.
bool copy_from_process(pid_t pid, void* into, std::uint64_t remote_address, std::int64_t bytes);
// The same the other way. If it fails, some of the bytes may have been written.
bool copy_to_process(pid_t pid, std::uint64_t remote_address, const void* from, std::int64_t bytes);

}  // namespace hawser
