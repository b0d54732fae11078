"""Running a command and saying what it took: code, seconds, largest resident set."""
import subprocess
import sys
import tempfile

# The kernel counts what a process was before its exec: a small one must start the command for the peak to be the command's.
STARTER = """
import os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - begin
child.returncode = os.waitstatus_to_exitcode(status)
os.write(int(sys.argv[1]), f"{child.returncode} {seconds} {usage.ru_maxrss / 1024}".encode())
"""


def run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=None):
    """(exit code, seconds, peak MB) of the command; files or DEVNULL take what it prints."""
    with tempfile.TemporaryFile() as figures:
        subprocess.run([sys.executable, "-S", "-E", "-c", STARTER, str(figures.fileno()), *map(str, command)], stdout=stdout, stderr=stderr,
                       stdin=subprocess.DEVNULL, pass_fds=[figures.fileno()], cwd=cwd, check=False)
        figures.seek(0)
        code, seconds, peak = figures.read().split()
        return int(code), float(seconds), float(peak)
