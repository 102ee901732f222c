"""What the kernel still holds of an answer: bytes that were written, and that the other side has not acknowledged.

Linux says it for every socket. Where it is not said, nothing is counted, and an answer that fits into the buffers of
the system is the system's.
"""

from __future__ import annotations

import struct
import sys

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ

    def unacknowledged(descriptor: int) -> int:
        """Return how many bytes of a TCP socket are on their way, or wait for it."""
        try:
            found: tuple[int] = struct.unpack("i", ioctl(descriptor, TIOCOUTQ, bytes(4)))
        except OSError:  # it is closed
            return 0
        return found[0]

else:

    def unacknowledged(_: int) -> int:
        """Return 0: this system does not say it."""
        return 0
