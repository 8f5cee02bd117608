#include "os/shared_block.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace hawser {

namespace {

Result<> check_file(int fd, const BlockName& name) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return failure(ErrorKind::other, "fstat of a window's memory failed: {}", std::strerror(errno));
  if (status.st_dev != name.device || status.st_ino != name.inode)
    return failure(ErrorKind::other, "process {} has another file than the window's memory as number {}",
                   name.pid, name.fd);
  if (status.st_size < name.bytes || !cannot_shrink(fd))
    return failure(ErrorKind::other, "the window's memory of process {} has {} bytes instead of {}", name.pid,
                   status.st_size, name.bytes);
  return {};
}

Result<SharedMapping> map_file(Result<FileDescriptor> file, const BlockName& name) {
  if (!file) return file.take_error();
  HAWSER_TRY(check_file(file.value().get(), name));
  return SharedMapping::map(file.value().get(), name.bytes);
}

}  // namespace

Result<SharedBlock> SharedBlock::make(std::int64_t bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  if (bytes < 0 || bytes > INT64_MAX - page)
    return failure(ErrorKind::no_memory, "cannot allocate {} bytes of shared memory", bytes);
  SharedBlock block;
  block.name_.bytes = (bytes + page - 1) / page * page;
  if (bytes == 0) return block;
  auto file = make_memory_file("hawser-window");
  if (!file) return file.take_error();
  block.file_ = std::move(file).value();
  const int fd = block.file_.get();
  HAWSER_TRY(set_file_size(fd, block.name_.bytes));
  seal_size(fd);
  auto mapping = SharedMapping::map(fd, block.name_.bytes);
  if (!mapping) return mapping.take_error();
  block.mapping_ = std::move(mapping).value();
  struct stat status;
  if (fstat(fd, &status) != 0)
    return failure(ErrorKind::other, "fstat of a window's memory failed: {}", std::strerror(errno));
  block.name_.pid = own_pid();
  block.name_.fd = fd;
  block.name_.device = status.st_dev;
  block.name_.inode = status.st_ino;
  return block;
}

Result<ListenerName> SharedBlock::listen() {
  auto passer = DescriptorPasser::listen();
  if (!passer) return passer.take_error();
  passer_ = std::move(passer).value();
  ListenerName name{};
  passer_->name().copy(name.data(), name.size() - 1);
  return name;
}

Result<> SharedBlock::pass(int takers) { return passer_->give(file_.get(), takers); }

Result<SharedMapping> map_block(const BlockName& name) {
  return map_file(open_descriptor_of(static_cast<pid_t>(name.pid), static_cast<int>(name.fd)), name);
}

Result<FileDescriptor> reach_block(const ListenerName& listener) {
  return DescriptorPasser::reach(std::string(listener.data()));
}

Result<SharedMapping> take_block(const BlockName& name, const ListenerName& listener,
                                 const FileDescriptor& maker) {
  return map_file(DescriptorPasser::receive(maker, std::string(listener.data())), name);
}

}  // namespace hawser
