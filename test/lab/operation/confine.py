#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""confine.py UNIT [DROP-IN...] -- COMMAND...: runs a command as root without systemd, under the
capabilities, system call filters and limits of a systemd unit. A directive that is not known here
is an error: a new directive of the unit needs its effect here. libseccomp makes the filters.
"""

import ctypes
import errno
import grp
import os
import resource
import shutil
import subprocess
import sys

# Directives that start and stop the service, and descriptive ones.
NO_RESTRICTION = set(
    """Description Documentation After Wants StartLimitIntervalSec StartLimitBurst Type ExecStart
    ExecStartPost RestartPreventExitStatus ExecReload WatchdogSec Restart RestartSec RuntimeDirectory RuntimeDirectoryPreserve LogsDirectory
    TimeoutStopSec WantedBy""".split()
)
# Views of the file system, which need a mount namespace: not applied here.
MOUNTS = {"ProtectSystem", "ProtectHome", "PrivateTmp", "ProtectControlGroups", "PrivateDevices"}
MOUNTS |= {"ProtectProc", "ProcSubset", "ProtectKernelTunables", "PrivateMounts"}
# Rules for the service's control group: not applied here.
CGROUP = {"IPAddressDeny", "IPAddressAllow", "TasksMax", "MemoryMax", "DevicePolicy", "DeviceAllow"}
# Repeated directives of these are joined (systemd.exec(5)), and an empty one clears the earlier
# ones.
LISTS = {"CapabilityBoundingSet", "RestrictAddressFamilies", "RestrictNamespaces", "SystemCallFilter"}

ELSEWHERE = {"AmbientCapabilities", "SystemCallErrorNumber"}  # see main(); the error number is EPERM

CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
    LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE
    SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME
    SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
    WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""".split()
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17}
FAMILY_END = 64
NAMESPACES = {
    "cgroup": 0x02000000,
    "ipc": 0x08000000,
    "mnt": 0x00020000,
    "net": 0x40000000,
    "pid": 0x20000000,
    "user": 0x10000000,
    "uts": 0x04000000,
}
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, PR_SET_KEEPCAPS, CAP_VERSION = 47, 2, 8, 0x20080522
ALLOW, REFUSE, CTL_NNP = 0x7FFF0000, 0x00050000, 3
PROT_WRITE, PROT_EXEC = 2, 4
EQUAL, MASKED_EQUAL, UNEQUAL = 4, 7, 1
SET_ID = (0o4000, 0o2000)
NOBODY = 65534  # the user that a dynamic user gets here
UNKNOWN_GROUP = 64999  # a group that this machine does not have
# The main system calls of systemd's groups (systemd-analyze syscall-filter).
CALL_SETS = {
    "@mount": "mount umount2 pivot_root chroot fsopen fsmount move_mount open_tree".split(),
    "@swap": "swapon swapoff".split(),
    "@reboot": "reboot kexec_load kexec_file_load".split(),
    "@module": "init_module finit_module delete_module".split(),
    "@raw-io": "iopl ioperm".split(),
    "@debug": "ptrace perf_event_open process_vm_readv process_vm_writev pidfd_getfd".split(),
}

libc = ctypes.CDLL(None, use_errno=True)


def directives(paths):
    """{name: value} of the [Service] sections: drop-ins override the unit, lists are joined."""
    found = {}
    for path in paths:
        with open(path) as file:
            for line in file:
                line = line.strip()
                if not line or line[0] in "#[":
                    continue
                name, value = line.split("=", 1)
                if name in LISTS and value and found.get(name):
                    value = f"{found[name]} {value}"
                found[name] = value
    return found


def is_on(value):
    if value not in ("yes", "no"):
        sys.exit(f"not a boolean: {value}")
    return value == "yes"


class Argument(ctypes.Structure):
    """scmp_arg_cmp."""

    _fields_ = [
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    ]


class Filter:
    """System call filter: all calls are allowed except refused ones, or the reverse with another
    default. Calls of other architectures end the process.
    """

    def __init__(self, default=ALLOW):
        self.lib = ctypes.CDLL("libseccomp.so.2")
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))
        self.lib.seccomp_attr_set(self.handle, CTL_NNP, 0)

    def refuse(self, call, error, *where):
        """where: (number of the argument, comparison, a, b)."""
        number = self.lib.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return  # this architecture does not have the call
        arguments = (Argument * max(1, len(where)))(*(Argument(*w) for w in where))
        rc = self.lib.seccomp_rule_add_array(
            self.handle, 0x00050000 | error, number, len(where), arguments
        )
        if rc != 0:
            sys.exit(f"{call}: {os.strerror(-rc)}")

    def allow(self, call):
        number = self.lib.seccomp_syscall_resolve_name(call.encode())
        rc = self.lib.seccomp_rule_add_array(self.handle, ALLOW, number, 0, None) if number >= 0 else 0
        if rc != 0:
            sys.exit(f"{call}: {os.strerror(-rc)}")

    def load(self):
        rc = self.lib.seccomp_load(self.handle)
        if rc != 0:
            sys.exit(f"seccomp: {os.strerror(-rc)}")


def bounding_set(value, filter_):
    kept = {name.removeprefix("CAP_") for name in value.split()}
    if unknown := kept - set(CAPABILITIES):
        sys.exit(f"capabilities unknown: {unknown}")
    for number, name in enumerate(CAPABILITIES):
        if name not in kept and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            sys.exit(f"CAP_{name}: {os.strerror(ctypes.get_errno())}")


def no_new_privileges(value, filter_):
    if is_on(value) and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        sys.exit("no_new_privs")


def limit(which):
    def apply(value, filter_):
        most = resource.RLIM_INFINITY if value == "infinity" else int(value)
        try:
            resource.setrlimit(which, (most, most))
        except ValueError:  # a container in which root may not raise it
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (hard, hard))

    return apply


def families(value, filter_):
    kept = [FAMILIES[name] for name in value.split()]
    for family in set(range(FAMILY_END)) - set(kept):
        filter_.refuse("socket", errno.EAFNOSUPPORT, (0, EQUAL, family, 0))


def namespaces(value, filter_):
    kept = [] if value == "yes" else value.removeprefix("yes ").split()
    for name, flag in NAMESPACES.items():
        if name not in kept:
            filter_.refuse("unshare", errno.EPERM, (0, MASKED_EQUAL, flag, flag))
            filter_.refuse("clone", errno.EPERM, (0, MASKED_EQUAL, flag, flag))
            filter_.refuse("setns", errno.EPERM, (1, MASKED_EQUAL, flag, flag))
    filter_.refuse("setns", errno.EPERM, (1, EQUAL, 0, 0))
    filter_.refuse("clone3", errno.ENOSYS)  # a filter cannot see its flags


def set_ids(value, filter_):
    modes = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1}
    modes |= {"mknodat": 2, "creat": 1}
    for call, argument in modes.items():
        for bit in SET_ID:
            filter_.refuse(call, errno.EPERM, (argument, MASKED_EQUAL, bit, bit))
    for call, argument in (("open", 1), ("openat", 2)):
        for bit in SET_ID:
            made = (argument, MASKED_EQUAL, os.O_CREAT, os.O_CREAT)
            filter_.refuse(call, errno.EPERM, made, (argument + 1, MASKED_EQUAL, bit, bit))
    filter_.refuse("openat2", errno.ENOSYS)


def refused(*calls):
    def apply(value, filter_):
        for call in calls if is_on(value) else ():
            filter_.refuse(call, errno.EPERM)

    return apply


def personality(value, filter_):
    filter_.refuse("personality", errno.EPERM, (0, UNEQUAL, 0, 0))


def members(name):
    """The system calls of one of systemd's groups, according to this machine's systemd."""
    if not name.startswith("@"):
        return {name}
    out = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.strip() for line in out.splitlines()[1:]]
    return set().union(*(members(line) for line in lines if line and line[0] != "#"))


def only(names):
    """Allows only these calls, and those that start the program."""
    if not shutil.which("systemd-analyze"):
        return print("SystemCallFilter is not applied: systemd-analyze is missing")
    filter_ = Filter(REFUSE | errno.EPERM)
    for call in sorted(set().union(*map(members, names))):
        filter_.allow(call)
    filter_.load()


def no_writable_code(value, filter_):
    both = PROT_WRITE | PROT_EXEC
    if is_on(value):
        filter_.refuse("mmap", errno.EPERM, (2, MASKED_EQUAL, both, both))
        for call in ("mprotect", "pkey_mprotect"):
            filter_.refuse(call, errno.EPERM, (2, MASKED_EQUAL, PROT_EXEC, PROT_EXEC))


def call_sets(value, filter_):
    if not value.startswith("~"):
        return  # main() applies it last
    if not value.startswith("~") or not set(value[1:].split()) <= set(CALL_SETS):
        sys.exit(f"SystemCallFilter={value}: only ~ and {' '.join(CALL_SETS)} are known")
    for name in value[1:].split():
        for call in CALL_SETS[name]:
            filter_.refuse(call, errno.EPERM)


def mask(value, filter_):
    os.umask(int(value, 8))


def groups(value, filter_):
    known = {group.gr_name: group.gr_gid for group in grp.getgrall()}
    os.setgroups([known.get(name, UNKNOWN_GROUP) for name in value.split()])


def dynamic_user(value, filter_):
    if is_on(value):
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def user(value, filter_):
    """Keeps capabilities for ambient()."""
    if value == "root":
        return
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def ambient(value):
    """Gives these capabilities to a process that is no longer root."""
    bits = sum(1 << CAPABILITIES.index(name.removeprefix("CAP_")) for name in value.split())
    header = (ctypes.c_uint32 * 2)(CAP_VERSION, 0)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    if libc.capset(header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high)) != 0:
        sys.exit(f"AmbientCapabilities: {os.strerror(ctypes.get_errno())}")
    for number in range(len(CAPABILITIES)):
        if bits >> number & 1:
            libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0)


def native_only(value, filter_):
    if value != "native":
        sys.exit(f"SystemCallArchitectures={value}: only native is known")


HANDLERS = {
    "CapabilityBoundingSet": bounding_set,
    "LimitMEMLOCK": limit(resource.RLIMIT_MEMLOCK),
    "LimitNOFILE": limit(resource.RLIMIT_NOFILE),
    "RestrictAddressFamilies": families,
    "RestrictNamespaces": namespaces,
    "RestrictSUIDSGID": set_ids,
    "ProtectHostname": refused("sethostname", "setdomainname"),
    "ProtectKernelLogs": refused("syslog"),
    "ProtectKernelModules": refused("init_module", "finit_module", "delete_module"),
    "LockPersonality": personality,
    "SystemCallArchitectures": native_only,
    "NoNewPrivileges": no_new_privileges,
    "ProtectClock": refused("clock_settime", "settimeofday", "clock_adjtime", "adjtimex"),
    "RestrictRealtime": refused("sched_setscheduler", "sched_setattr"),
    "SystemCallFilter": call_sets,
    "UMask": mask,
    "SupplementaryGroups": groups,
    "MemoryDenyWriteExecute": no_writable_code,
    "User": user,
    "DynamicUser": dynamic_user,  # last, because the others need root
}


def main():
    split = sys.argv.index("--")
    units, command = sys.argv[1:split], sys.argv[split + 1 :]
    found = directives(units)
    if unknown := set(found) - NO_RESTRICTION - MOUNTS - CGROUP - ELSEWHERE - set(HANDLERS):
        sys.exit(f"confine.py does not know {', '.join(sorted(unknown))}")
    filter_ = Filter()
    for name, apply in HANDLERS.items():
        if name in found:
            apply(found[name], filter_)
    if "AmbientCapabilities" in found:
        ambient(found["AmbientCapabilities"])
    filter_.load()
    allowed = found.get("SystemCallFilter", "~")
    if not allowed.startswith("~"):
        only(allowed.split())
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
