"""Two QEMU guests with a real kernel and two soft-RoCE rails each (rdma_rxe over virtio adapters); no KVM, no privileges.

Each guest sees this machine's files, read-only, and has memory for /run, /tmp and /dev/shm. Of its adapters eth0 and
eth1 are the rails, eth2 is for launchers, and eth3 takes commands from here.
"""
import gzip
import os
import pathlib
import shutil
import subprocess
import time

from hawser_lab import PATIENCE
from hawser_lab.processes import Failed, end_all, free_port

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "crc32_generic", "ib_uverbs", "rdma_rxe", "sch_netem",
           "sch_tbf")
ENVIRONMENT = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}


def call(*words, **how):
    return subprocess.run([str(word) for word in words], check=True, text=True, env=ENVIRONMENT, **how)


class Guests:
    """Up while a `with` lasts. `folder` keeps the kernel from run to run."""
    numbers = (1, 2)

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.shell = self.folder / "guest_shell"
        self.machines = []
        self.ports = {}

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        call("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", self.shell, HERE / "guest_shell.c")
        self.unpack_kernel()
        self.make_root()
        try:
            for number in self.numbers:
                self.start(number)
            for number in self.numbers:
                self.await_boot(number)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        end_all(self.machines)
        for socket in self.folder.glob("*.socket"):
            socket.unlink()

    def unpack_kernel(self):
        linux = self.folder / "linux"
        if not list(linux.glob("boot/vmlinuz-*")):
            shutil.rmtree(linux, ignore_errors=True)
            depends = call("apt-cache", "depends", "linux-image-amd64", capture_output=True).stdout
            package = next(line.split()[-1] for line in depends.splitlines() if "Depends: linux-image" in line)
            call("apt-get", "download", package, cwd=self.folder, stdout=subprocess.DEVNULL)
            unpacked = self.folder / "unpacked"
            shutil.rmtree(unpacked, ignore_errors=True)
            for file in self.folder.glob(f"{package}_*.deb"):
                call("dpkg", "-x", file, unpacked)
                file.unlink()
            unpacked.rename(linux)
        self.kernel, = linux.glob("boot/vmlinuz-*")
        self.version = self.kernel.name.removeprefix("vmlinuz-")
        call("depmod", "-b", linux, self.version)

    def make_root(self):
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        for part in ("bin", "modules", "host", "proc", "sys", "dev"):
            (root / part).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), root / "bin")
        order = []
        for module in MODULES:
            shown = call("modprobe", "-d", self.folder / "linux", "-S", self.version, "--show-depends", module,
                         capture_output=True).stdout
            for line in shown.splitlines():
                words = line.split()
                if words[0] == "insmod" and words[1] not in order:
                    order.append(words[1])
        for file in order:
            shutil.copy(file, root / "modules")
        (root / "modules.order").write_text("".join(f"{pathlib.Path(file).name}\n" for file in order))
        shutil.copy(HERE / "guest_init.sh", root / "init")
        (root / "init").chmod(0o755)
        files = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input=files.encode(), cwd=root,
                                 stdout=subprocess.PIPE, check=True).stdout
        (self.folder / "initrd.gz").write_bytes(gzip.compress(archive, 1))

    def start(self, number):
        other = 3 - number
        self.ports[number] = free_port()
        words = ["qemu-system-x86_64", "-machine", "q35,usb=off", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", 2,
                 "-m", 1200, "-nodefaults", "-no-reboot", "-display", "none", "-monitor", "none",
                 "-serial", f"file:{self.console(number)}", "-kernel", self.kernel, "-initrd", self.folder / "initrd.gz",
                 "-append", "console=ttyS0 quiet mitigations=off net.ifnames=0 panic=-1 "
                            f"guest={number} shell={self.shell}",
                 "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
                 "-device", "virtio-9p-pci,fsdev=host,mount_tag=host,addr=0x8"]
        for i in range(3):
            here, there = (self.folder / f"network{i}.{end}.socket" for end in (number, other))
            words += ["-netdev", f"dgram,id=n{i},local.type=unix,local.path={here},remote.type=unix,remote.path={there}",
                      # The slots decide the names: eth0 is first.
                      "-device", f"virtio-net-pci,netdev=n{i},mac=52:54:00:00:0{i}:0{number},addr=0x1{i},romfile="]
        words += ["-netdev", f"user,id=n3,hostfwd=tcp:127.0.0.1:{self.ports[number]}-:5514",
                  "-device", "virtio-net-pci,netdev=n3,addr=0x13,romfile="]
        self.console(number).unlink(missing_ok=True)
        with open(self.folder / f"qemu{number}.log", "w", encoding="utf-8") as log:
            self.machines.append(subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log))

    def console(self, number):
        return self.folder / f"console{number}.log"

    def await_boot(self, number):
        end = time.monotonic() + PATIENCE
        said = ""
        while f"guest {number} is up" not in said:
            if self.machines[number - 1].poll() is not None or time.monotonic() > end:
                log = (self.folder / f"qemu{number}.log").read_text()
                raise Failed(f"guest {number} does not start:\n{log}{said[-3000:]}")
            time.sleep(0.1)
            if self.console(number).exists():
                said = self.console(number).read_text(errors="replace")

    def command(self, number, text):
        """The words that run a shell's command on a guest, with input and output here."""
        return [str(self.shell), f"127.0.0.1:{self.ports[number]}", text]

    def on(self, number, text):
        """What the command printed; a failure is an error."""
        done = subprocess.run(self.command(number, text), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise Failed(f"guest {number}: {text}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout
