"""Run by every interpreter of a stripped system before anything else: takes away what only Linux has.

What is left is what macOS offers, as far as Python programs see it. Written into a virtual environment by stripped.py,
because children that read files inherit neither variables nor arguments; so it may use the standard library only.
"""

import ctypes
import errno
import importlib.util
import os
import resource
import select
import signal
import socket
import subprocess
import sys

# Replaced when it is written.
KIND = "absent"
PROCESSES_FOLDER = "/proc"

# "absent" and "enosys": as on macOS, the calls missing or without effect. "container": Linux that refuses namespaces.
CALLS = {"prctl", "unshare", "setns", "mount", "umount2", "mount_setattr", "syscall", "capget", "capset", "pidfd_open"}
if KIND == "container":
    CALLS = {"unshare"}
# Of these modules, what Python's own documentation calls unavailable on macOS.
NAMES = {
    os: "pidfd_open waitid waitid_result P_ALL P_PID P_PGID P_PIDFD WNOWAIT O_PATH O_TMPFILE sched_getaffinity "
    "sched_setaffinity memfd_create eventfd splice copy_file_range getrandom posix_fadvise posix_fallocate fdatasync "
    "getresuid getresgid setresuid setresgid unshare setns getxattr setxattr listxattr removexattr",
    select: "epoll",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGRTMIN SIGRTMAX SIGPWR SIGSTKFLT",
    resource: "prlimit RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING",
    socket: "SO_PEERCRED SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK",
}


def strip() -> None:
    ctypes.CDLL.__getattr__ = _without_calls(ctypes.CDLL.__getattr__)
    if KIND == "container":
        return
    for module, names in NAMES.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = os.cpu_count  # as Python 3.13 defines it where there is no affinity
    resource.setrlimit = _without_memory_limit(resource.setrlimit)
    sys.meta_path.insert(0, _ProcessesElsewhere())
    os.environ.pop("LD_ORIGIN_PATH", None)
    subprocess.Popen.__init__ = _telling_origin(subprocess.Popen.__init__)


def _without_calls(look_up):
    def find(library, name):
        if name not in CALLS:
            return look_up(library, name)
        if KIND == "absent":
            raise AttributeError(f"undefined symbol: {name}")
        return _refuse

    return find


def _refuse(*arguments):
    ctypes.set_errno(errno.ENOSYS if KIND == "enosys" else errno.EPERM)
    return -1


def _without_memory_limit(set_limit):
    def set_other_limit(kind, limits):
        if kind != resource.RLIMIT_AS:
            return set_limit(kind, limits)
        if KIND == "absent":
            raise ValueError("current limit exceeds maximum limit")  # as macOS does; others take it and do nothing
        return None

    return set_other_limit


def _telling_origin(start):
    """Linux's loader asks /proc where a program lies, to find its libraries beside it; it takes a variable instead."""

    def start_with_origin(self, args, *others, env=None, **options):
        program = args if isinstance(args, str) else os.fspath(args[0])
        env = {**(os.environ if env is None else env), "LD_ORIGIN_PATH": os.path.dirname(os.path.realpath(program))}
        start(self, args, *others, env=env, **options)

    return start_with_origin


class _ProcessesElsewhere:
    """Shows psutil where the processes can be seen though /proc is gone: on macOS it asks the kernel by other means."""

    def find_spec(self, name, path=None, target=None):
        if name != "psutil":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module.PROCFS_PATH = PROCESSES_FOLDER

        spec.loader.exec_module = exec_module
        return spec


strip()
