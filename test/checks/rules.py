"""The rules of the house as data, and the reader of their exceptions.

Rules: which room may include which, what may not appear in a source, what an object file may not define
or import. Exceptions stand in exceptions.txt, each with its reason; one that matches nothing is an error,
so the list only holds what is needed.
"""
import fnmatch
import os
import re

# Direct edges of the house; what a room may include is everything reachable.
EDGES = {
    "base": [],
    "fabric": ["base"],
    "mpi": ["base"],
    "datatype": ["mpi"],
    "provider": ["fabric"],
    "os": ["base"],
    "access": ["os"],
    "channel": ["os"],
    "rails": ["channel", "access"],
    "message": ["channel", "datatype"],
    "communicator": ["message"],
    "collective": ["communicator"],
    "window": ["collective"],
    "survival": ["collective"],
    "file": ["communicator"],
    "launch": ["os"],
    "mpi_t": ["communicator", "rails"],
    "process": ["collective", "window", "survival", "file", "launch", "mpi_t"],
    "api": ["process"],
    "binding": ["api"],
    "testbed": ["process", "fabric", "provider"],
    "tool": ["process", "fabric", "provider"],
}

# Floors of a room, the lowest first: a floor may include those below it, and its own. Files that lie in the room itself
# are above all floors.
FLOORS = {
    "rails": ["wire", "policy", "decision", "memory", "status", "datapath", "protocol", "recovery"],
}


def floor_of(path):
    """The room and the floor's place in it, of a path below src/; None: the room has no floors."""
    parts = path.split("/")
    if len(parts) < 2 or parts[0] not in FLOORS:
        return None
    floors = FLOORS[parts[0]]
    if len(parts) == 2:
        return parts[0], len(floors)
    return parts[0], floors.index(parts[1]) if parts[1] in floors else -1


# These rooms may touch the machine: clocks, variables of the environment, threads, system calls.
MACHINE_ROOMS = {"base", "os", "access", "launch", "testbed", "tool"}
# These show libibverbs to the world or call it.
VERBS_ROOMS = {"access", "provider"}


TEST_SOURCE = re.compile(r"(?:^|/)test_[^/]*$|_test(?:_support)?\.\w+$")


def is_test(path):
    """Sources of unit tests and what only they use."""
    return TEST_SOURCE.search(path) is not None


def reachable(room):
    seen, todo = set(), [room]
    while todo:
        for below in EDGES.get(todo.pop(), []):
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 110

# (rule, expression, what to do instead); applied to code without comments and strings.
BANNED_EVERYWHERE = [
    ("unfinished", r"\b(TODO|FIXME|XXX|HACK|STUB)\b", "finish it or write an issue"),
    ("pointer-keyed", r"\b(?:std::)?(?:unordered_)?(?:multi)?(?:map|set)<\s*(?:const\s+)?[\w:]+\s*(?:const\s*)?\*",
     "iteration order would depend on addresses; key by a number"),
    ("simulated", r"\bif\s*\(\s*!?\s*(?:is_)?simulat\w*", "production code does not know the simulator"),
]
BANNED_OUTSIDE_MACHINE_ROOMS = [
    ("clock", r"\b(?:clock_gettime|gettimeofday|steady_clock|system_clock|high_resolution_clock|"
              r"__rdtsc|_rdtsc|__builtin_ia32_rdtsc|MonotonicClock)\b", "take `now` as an argument"),
    ("clock", r"(?<![\w.>:])(?:std::)?(?:time|clock)\s*\(\s*(?:0|NULL|nullptr|&\w+)?\s*\)", "take `now` as an argument"),
    ("environment", r"\b(?:secure_)?(?:getenv|setenv|putenv|unsetenv)\s*\(", "add a knob"),
    ("random", r"\b(?:random_device\b|mt19937\w*|default_random_engine|(?<![\w.>])[ds]?rand(?:48|_r)?\s*\()",
     "use base/random.h with a seed from Environment"),
    ("thread", r"\bstd::(?:jthread|thread|async)\b|\bpthread_create\b", "ask base/ for it"),
    ("thread-local", r"\bthread_local\b|\b__thread\b", "put it in MpiProcess"),
    ("system-call", r"(?<![\w.>])(?:::|std::)?(?:mmap|munmap|shm_open|memfd_create|epoll_\w+|syscall|fork|"
                    r"vfork|execv\w*|execl\w*|process_vm_\w+|sched_yield|nanosleep|usleep|gethostname|getpid|"
                    r"fopen|sigaction|dlopen|_exit|quick_exit)\s*\(", "call a wrapper in access/ or base/"),
    ("print", r"(?<![\w.>])(?:std::)?(?:f?printf|puts|fputs|perror)\s*\(|\bstd::(?:cout|cerr|clog)\b|\bfmt::print\b",
     "log through base/"),
    # A static or namespace-scope variable that can change. The object check sees those that are compiled;
    # this also sees templates and headers.
    ("mutable-static", r"^\s*(?:inline\s+)?static\s+(?!const\b|constexpr\b|inline\s+const|constinit\s+const|"
                       r"inline\s+constexpr|assert\b|_)[\w:<>,*&\s]+?\b\w+\s*(?:=[^=]|;|\{)(?!.*\)\s*(?:const)?\s*[{;]\s*$)",
     "put it in MpiProcess"),
]

# Symbols that objects outside MACHINE_ROOMS must not import.
FORBIDDEN_IMPORTS = re.compile(
    r"^(?:clock_gettime|clock_nanosleep|gettimeofday|time|clock|nanosleep|usleep|sleep|getenv|secure_getenv|setenv|"
    r"putenv|unsetenv|rand|srand|random|srandom|[a-z]rand48|getrandom|getentropy|arc4random\w*|pthread_create|"
    r"open(?:64|at|at64)?|creat|read|write|readv|writev|pread\w*|pwrite\w*|close|dup[23]?|pipe2?|socket|socketpair|"
    r"connect|bind|listen|accept4?|send(?:to|msg)?|recv(?:from|msg)?|shutdown|select|p?poll|epoll_\w+|eventfd\w*|"
    r"mmap(?:64)?|munmap|mprotect|madvise|mremap|shm_open|shm_unlink|shmget|shmat|memfd_create|ftruncate(?:64)?|"
    r"syscall|fork|vfork|clone|exec[vl]\w*|posix_spawn\w*|wait(?:pid|id)?|kill|tgkill|raise|signal|sigaction|"
    r"process_vm_readv|process_vm_writev|sched_\w+|getpid|getppid|gethostname|uname|sysconf|getcwd|unlink|"
    r"fopen(?:64)?|freopen|fdopen|tmpfile\w*|mkstemp\w*|_?_?exit|_Exit|quick_exit|dlopen|dlsym|std(?:out|err|in)|"
    r"v?f?printf|puts|fputs|fputc|perror|prctl|ioctl|fcntl(?:64)?|"
    r"_ZNSt6chrono3_V2\w*3nowEv|_ZNSt6thread\w*|_ZNSt13random_device\w*|_ZSt4cout|_ZSt4cerr|_ZSt4clog|_ZSt3cin|"
    r"_ZNSt8ios_base4InitC1Ev)$")


class Exceptions:
    """Lines `rule path-pattern symbol-or-* : reason`."""

    def __init__(self, path):
        self.path = path
        self.entries = []
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                head, separator, reason = line.partition(" : ")
                fields = head.split()
                if len(fields) != 3 or not separator or len(reason.strip()) < 10:
                    raise SystemExit(f"{path}:{number}: expected `rule path symbol : reason`")
                self.entries.append([*fields, number, False])

    def allow(self, rule, path, symbol="*"):
        for entry in self.entries:
            if entry[0] == rule and fnmatch.fnmatch(path, entry[1]) and fnmatch.fnmatchcase(symbol, entry[2]):
                entry[4] = True
                return True
        return False

    def unused(self, rules):
        return [f"{self.path}:{e[3]}: exception `{e[0]} {e[1]} {e[2]}` is not needed any more"
                for e in self.entries if not e[4] and e[0] in rules]


SHOWN = 60


def show(problems):
    for problem in problems[:SHOWN]:
        print(problem)
    if len(problems) > SHOWN:
        print(f"... and {len(problems) - SHOWN} more")


def sources(root):
    """Every source file of ours, as paths relative to root."""
    for top in ("src", "test", "bench", "experiment"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".h", ".cpp", ".c", ".def", ".inc", ".hpp")):
                    yield os.path.relpath(os.path.join(folder, name), root)


STRIP = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'', re.S)


def strip_comments(text, keep_strings=False):
    """Blanks comments (and strings), keeping line numbers."""
    def blank(match):
        token = match.group(0)
        if keep_strings and not token.startswith("/"):
            return token
        return re.sub(r"[^\n]", " ", token)
    return STRIP.sub(blank, text)
