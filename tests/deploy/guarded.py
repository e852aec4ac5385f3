"""Runs a command with no more system calls than a unit allows, by seccomp: `python guarded.py UNIT COMMAND...`."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # the latter with EPERM
EQUAL = 4
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}


class Compare(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("one", ctypes.c_uint64), ("two", ctypes.c_uint64))


def calls(group):
    """The system calls of one of systemd's groups, such as @system-service."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    names = [line.strip() for line in said.stdout.splitlines()[1:] if not line.strip().startswith("#")]
    return {call for name in names if name for call in (calls(name) if name.startswith("@") else {name})}


def allowed(unit):
    """The system calls that a unit allows: what is named, without what is named after a ~."""
    names = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
        groups = [calls(group) for group in line.lstrip("~").split()]
        names = names.difference(*groups) if line.startswith("~") else names.union(*groups)
    return names


def guard(unit):
    """Give up, for this process and its children, what the unit does not allow."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(REFUSE))
    for name in allowed(unit) - {"socket"}:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # below 0: not of this kind of machine
            assert library.seccomp_rule_add_array(rules, ALLOW, number, 0, None) == 0
    [families] = re.findall(r"^RestrictAddressFamilies=(.*)$", unit, re.MULTILINE)
    socket = library.seccomp_syscall_resolve_name(b"socket")
    for family in families.split():
        only = Compare(0, EQUAL, FAMILIES[family], 0)
        assert library.seccomp_rule_add_array(rules, ALLOW, socket, 1, ctypes.byref(only)) == 0
    assert library.seccomp_load(rules) == 0


if __name__ == "__main__":
    guard(Path(sys.argv[1]).read_text())
    os.execvp(sys.argv[2], sys.argv[2:])
