"""Run as a script: become a server that the kernel kills when the lab dies, however the lab dies.

    python launcher.py LAB_PID SERVER [ARGUMENT …]

A script and not ``preexec_fn``, because running Python between fork and exec is unsafe in a program with threads.
The kernel ties the signal to the *thread* that started us: prctl(2), PR_SET_PDEATHSIG.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    lab_pid, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(lab_pid):
        sys.exit("the lab ended before its server started")
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"cannot execute {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
