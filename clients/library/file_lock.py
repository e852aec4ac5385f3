"""Files that one process writes at a time."""

import sys


def is_ours_alone(file: int) -> bool:
    """Whether no other process writes an open file that is to be written. From then on, none can.

    The system releases the lock when the file is closed, or this process ends. Windows has no such locks.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
