# SPDX-License-Identifier: BSD-3-Clause
"""Programs at the ingress of an interface (TCX): the server's, and programs of other owners."""

import ctypes
import os
import socket
import struct

import lab as labs

PROG_LOAD, OBJ_GET_INFO, PROG_QUERY, LINK_CREATE, PROG_BY_ID = 5, 15, 16, 28, 13
SCHED_CLS, INGRESS, BEFORE = 3, 46, 1 << 3
SYS_BPF = {"x86_64": 321, "aarch64": 280}
PASS = struct.pack("=BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0)  # r0 = TCX_PASS; exit


def bpf(command, attr):
    """bpf(2) with an attr that the kernel may write to."""
    buf = (ctypes.c_char * len(attr)).from_buffer(attr)
    rc = labs.libc.syscall(SYS_BPF[os.uname().machine], command, buf, len(attr))
    if rc < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return rc


def programs(ns, interface):
    """The names of the programs in their order. OSError if the kernel has no TCX."""
    with ns.enter():
        ids, attr = (ctypes.c_uint32 * 64)(), bytearray(64)
        struct.pack_into("=IIIIQI", attr, 0, socket.if_nametoindex(interface), INGRESS, 0, 0,
            ctypes.addressof(ids), 64)  # fmt: skip
        try:
            bpf(PROG_QUERY, attr)
        except FileNotFoundError:
            return []
        return [name_of(number) for number in ids[: struct.unpack_from("=I", attr, 24)[0]]]


def name_of(number):
    attr, info = bytearray(64), bytearray(232)
    struct.pack_into("=I", attr, 0, number)
    fd = bpf(PROG_BY_ID, attr)
    try:
        attr = bytearray(64)
        buf = (ctypes.c_char * len(info)).from_buffer(info)
        struct.pack_into("=IIQ", attr, 0, fd, len(info), ctypes.addressof(buf))
        bpf(OBJ_GET_INFO, attr)
    finally:
        os.close(fd)
    return bytes(info[64:80]).split(b"\0")[0].decode()


class Other:
    """A program of another owner with two instructions. It lets every frame pass, and later
    programs do not run."""

    def __init__(self, ns, interface, name="other", first=False):
        code, text = ctypes.create_string_buffer(PASS, len(PASS)), ctypes.create_string_buffer(b"GPL")
        attr = bytearray(64)
        struct.pack_into("=IIQQIIQII16s", attr, 0, SCHED_CLS, 2, ctypes.addressof(code),
            ctypes.addressof(text), 0, 0, 0, 0, 0, name.encode())  # fmt: skip
        self.program = bpf(PROG_LOAD, attr)
        with ns.enter():
            attr = bytearray(64)
            struct.pack_into("=IIII", attr, 0, self.program, socket.if_nametoindex(interface), INGRESS,
                BEFORE if first else 0)  # fmt: skip
            self.link = bpf(LINK_CREATE, attr)

    def close(self):
        for fd in (self.link, self.program):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
