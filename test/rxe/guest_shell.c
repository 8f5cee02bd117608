/* A remote shell for the guests, without names or passwords: the networks it listens on end in this machine.
     guest_shell serve PORT             runs what it is told, each command by /bin/sh
     guest_shell HOST[:PORT] WORD...    runs a command there with this one's input and output
   What comes back are blocks, a length of four bytes and so many of output. Length 0, one byte: the end. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { default_port = 5514, most = 1 << 16 };

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void write_all(int file, const void* bytes, size_t size) {
  for (const char* at = bytes; size > 0;) {
    const ssize_t done = write(file, at, size);
    if (done <= 0) exit(1);
    at += done;
    size -= (size_t)done;
  }
}

static int read_all(int file, void* bytes, size_t size) {
  for (char* at = bytes; size > 0;) {
    const ssize_t done = read(file, at, size);
    if (done <= 0) return 0;
    at += done;
    size -= (size_t)done;
  }
  return 1;
}

static void write_block(int to, const void* bytes, uint32_t size) {
  write_all(to, &size, sizeof size);
  write_all(to, bytes, size);
}

/* The command's input comes over the connection as it is; its output goes back in blocks. */
static void run(int connection) {
  static char line[most];
  char block[4096];
  uint32_t length = 0;
  int out[2], status = 0;
  if (!read_all(connection, &length, sizeof length) || length >= most || !read_all(connection, line, length))
    exit(1);
  if (pipe(out) != 0) exit(1);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    dup2(connection, 0);
    dup2(out[1], 1);
    dup2(out[1], 2);
    close(connection);
    close(out[0]);
    close(out[1]);
    execl("/bin/sh", "sh", "-c", line, (char*)NULL);
    _exit(127);
  }
  close(out[1]);
  for (ssize_t got; (got = read(out[0], block, sizeof block)) > 0;)
    write_block(connection, block, (uint32_t)got);
  waitpid(child, &status, 0);
  write_block(connection, NULL, 0);
  const unsigned char code = WIFEXITED(status) ? (unsigned char)WEXITSTATUS(status) : 128;
  write_all(connection, &code, 1);
  exit(0);
}

static void serve(int port) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (const struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 64) != 0)
    fail("guest_shell");
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int connection = accept(listener, NULL, NULL);
    if (connection < 0) continue;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      close(listener);
      run(connection);
    }
    close(connection);
  }
}

static int connect_to(char* host) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  char* const colon = strchr(host, ':');
  if (colon != NULL) *colon = 0;
  address.sin_port = htons((uint16_t)(colon != NULL ? atoi(colon + 1) : default_port));
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
      connect(connection, (const struct sockaddr*)&address, sizeof address) != 0)
    fail(host);
  return connection;
}

static void send_words(int connection, char** words) {
  static char line[most];
  size_t length = 0;
  for (; *words != NULL; ++words) {
    const size_t size = strlen(*words);
    if (length + size + 2 > sizeof line) exit(2);
    memcpy(line + length, *words, size);
    length += size;
    line[length++] = ' ';
  }
  write_block(connection, line, (uint32_t)length);
}

/* The command's exit code. */
static int relay(int connection) {
  static char block[most];
  struct pollfd files[] = {{.fd = 0, .events = POLLIN}, {.fd = connection, .events = POLLIN}};
  for (;;) {
    if (poll(files, 2, -1) < 0) fail("poll");
    if (files[0].fd >= 0 && files[0].revents != 0) {
      const ssize_t got = read(0, block, sizeof block);
      if (got > 0) {
        write_all(connection, block, (size_t)got);
      } else {
        shutdown(connection, SHUT_WR);
        files[0].fd = -1;
      }
    }
    if (files[1].revents != 0) {
      uint32_t size = 0;
      unsigned char code = 1;
      if (!read_all(connection, &size, sizeof size) || size > most) return 1;
      if (size == 0) return read_all(connection, &code, 1) ? code : 1;
      if (!read_all(connection, block, size)) return 1;
      write_all(1, block, size);
    }
  }
}

int main(int count, char** words) {
  signal(SIGPIPE, SIG_IGN);
  if (count == 3 && strcmp(words[1], "serve") == 0) serve(atoi(words[2]));
  if (count < 3) {
    fprintf(stderr, "usage: guest_shell serve PORT | HOST[:PORT] WORD...\n");
    return 2;
  }
  const int connection = connect_to(words[1]);
  send_words(connection, words + 2);
  return relay(connection);
}
