#include "tool/top_keys.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace hawser {

TopKeys::TopKeys(bool keys) : keys_(keys) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  if (keys_) sigaddset(&set, SIGTSTP);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (keys_ && tcgetattr(STDIN_FILENO, &before_) != 0) keys_ = false;
  take_terminal();
}

TopKeys::~TopKeys() { give_terminal_back(); }

void TopKeys::take_terminal() {
  if (!keys_) return;
  termios single = before_;
  single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  single.c_cc[VMIN] = 1;
  single.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &single);
}

void TopKeys::give_terminal_back() {
  if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

char TopKeys::read_signal() {
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return none;
  if (info.ssi_signo != SIGTSTP) return quit;
  give_terminal_back();
  raise(SIGSTOP);  // continues here
  take_terminal();
  return none;
}

char TopKeys::wait(Nanoseconds time) {
  pollfd sources[] = {{signals_.get(), POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
  const int ready = poll(sources, 2, static_cast<int>(time / millisecond));
  if (ready <= 0) return none;
  if ((sources[0].revents & POLLIN) != 0) return read_signal();
  char key = none;
  const ssize_t got = read(STDIN_FILENO, &key, 1);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) keys_ = false;  // the terminal went away
  return got == 1 ? key : none;
}

}  // namespace hawser
