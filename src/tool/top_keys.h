// The keys that somebody presses while `hawser top` runs, and the signals that end it. The terminal gives
// keys one by one until the object goes, also while the program is stopped by Ctrl-Z.
#pragma once

#include <signal.h>
#include <termios.h>

#include "base/time.h"
#include "os/file_descriptor.h"

namespace hawser {

class TopKeys {
 public:
  // `keys`: whether to listen to the terminal, rather than to signals alone.
  explicit TopKeys(bool keys);
  TopKeys(const TopKeys&) = delete;
  TopKeys& operator=(const TopKeys&) = delete;
  ~TopKeys();

  // What came within this time: a key, `quit` for a signal that ends the program, or `none`.
  static constexpr char none = 0, quit = 'q';
  char wait(Nanoseconds time);

 private:
  void take_terminal();
  void give_terminal_back();
  char read_signal();

  FileDescriptor signals_;
  bool keys_;
  termios before_{};
};

}  // namespace hawser
