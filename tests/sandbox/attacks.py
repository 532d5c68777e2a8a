"""Programs that try to get out, and submissions that try to be passed. Each says ESCAPED when it got what it wanted, unless the outside can tell better."""

import textwrap

ESCAPED = "ESCAPED"
SECRET_NAME = "MULTIGRAFT_CANARY_KEY"
SECRET = "canary-b7e1d0-key"


def _program(text: str) -> str:
    return textwrap.dedent(text).strip() + "\n"


def _call(words: str, *, gained: str = "result >= 0") -> str:
    """A program that makes one system call by its number on this machine."""
    return _program(
        f"""
        import ctypes, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        x86 = platform.machine() == "x86_64"
        result = libc.syscall({words})
        if {gained}:
            print("ESCAPED", result)
        """
    )


PROGRAMS: dict[str, str] = {
    "environment of pid 1": _program("print(open('/proc/1/environ', 'rb').read())"),
    "environment of every process": _program(
        """
        import os
        for name in os.listdir('/proc'):
            if name.isdigit():
                print(open(f'/proc/{name}/environ', 'rb').read(), open(f'/proc/{name}/cmdline', 'rb').read())
        print(dict(os.environ))
        """
    ),
    "file of the host": _program("print('ESCAPED', open(HOST_FILE).read())"),
    "files of the system": _program(
        """
        import os
        for path in ('/etc/passwd', '/etc/shadow', '/root', '/home', '/proc/1/root/etc', '/proc/self/root/home', '/sys', '/run', '/var'):
            if os.path.exists(path):
                print('ESCAPED', path)
        """
    ),
    "writing outside of /tmp": _program(
        """
        import os
        for path in ('/x', '/usr/x', '/usr/bin/python3', '/code/x', '/code/multigraft/sandbox/inside/judge.py', '/dev/shm/x', '/proc/sys/kernel/hostname'):
            try:
                with open(path, 'ab') as file:
                    file.write(b'x')
                print('ESCAPED', path)
            except OSError:
                pass
        """
    ),
    "walls made writable again": _call("(165 if x86 else 40), None, b'/', None, 32 | 4096, None", gained="result == 0"),
    "loopback server": _program(
        """
        import socket
        for host in ('127.0.0.1', '::1', 'localhost'):
            try:
                socket.create_connection((host, HOST_PORT), timeout=0.5).sendall(b'hit')
                print('ESCAPED', host)
            except OSError:
                pass
        """
    ),
    "datagrams and raw sockets": _program(
        """
        import socket
        for family, kind in ((2, 2), (10, 2), (2, 3), (16, 3), (17, 3), (40, 1)):
            try:
                socket.socket(family, kind)
                print('ESCAPED', family, kind)
            except OSError:
                pass
        """
    ),
    "abstract socket of the host": _program(
        """
        import socket
        with socket.socket(socket.AF_UNIX) as there:
            there.connect('\\0' + HOST_SOCKET)
            print('ESCAPED')
        """
    ),
    "fork bomb": _program(
        """
        import os, time
        started = 0
        try:
            while started < 300:
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
                started += 1
        except OSError:
            pass
        print('ESCAPED' if started > 16 else 'stopped', started)
        """
    ),
    "thread bomb": _program(
        """
        import threading, time
        started = 0
        try:
            while started < 300:
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
                started += 1
        except RuntimeError:
            pass
        print('ESCAPED' if started > 16 else 'stopped', started, flush=True)
        import os
        os._exit(0)
        """
    ),
    "two gigabytes": _program("print('ESCAPED', len(bytearray(2 << 30)))"),
    "filling /tmp": _program(
        """
        written = 0
        try:
            for number in range(96):
                with open(f'/tmp/{number}', 'wb') as file:
                    file.write(bytes(1 << 20))
                written += 1
        except OSError:
            pass
        print('ESCAPED' if written > 32 else 'stopped', written)
        """
    ),
    "one large file": _program(
        """
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open('/tmp/large', 'wb') as file:
            file.write(bytes(20 << 20))
        print('ESCAPED')
        """
    ),
    "flood of output": _program(
        """
        import os
        while True:
            os.write(1, b'y' * 65536)
        """
    ),
    "endless loop": _program(
        """
        import signal
        for number in (1, 2, 10, 12, 14, 15, 24):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass
        """
    ),
    "daemon that outlives": _program(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for descriptor in range(64):
                    try:
                        os.close(descriptor)
                    except OSError:
                        pass
                time.sleep(60)
            os._exit(0)
        """
    ),
    "daemon that holds the output": _program(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        """
    ),
    "killing what can be seen": _program(
        """
        import os
        for target in (-1, os.getppid(), 0):
            try:
                os.kill(target, 9)
            except OSError:
                pass
        """
    ),
    "new user namespace": _call("(272 if x86 else 97), 0x10000000 | 0x20000", gained="result == 0"),
    "clone into a user namespace": _call("(56 if x86 else 220), 0x10000000 | 17, 0, 0, 0, 0"),
    "tracing and reading memory": _program(
        """
        import ctypes, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        x86 = platform.machine() == "x86_64"
        child = os.fork()
        if child == 0:
            import time
            time.sleep(20)
        if libc.ptrace(16, child, None, None) == 0:
            print("ESCAPED ptrace")
        local = ctypes.create_string_buffer(8)
        if libc.process_vm_readv(child, ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(local), 8)), 1, None, 0, 0) >= 0:
            print("ESCAPED process_vm_readv")
        """
    ),
    "bpf": _call("(321 if x86 else 280), 0, None, 0", gained="ctypes.get_errno() != 1"),
    "io_uring": _call("425, 8, ctypes.create_string_buffer(120)", gained="ctypes.get_errno() != 1"),
    "kernel keys": _call("(250 if x86 else 219), 0, -3, 1", gained="ctypes.get_errno() != 1"),
    "becoming root": _program(
        """
        import os
        disk = (os.mknod, '/tmp/disk', 0o60644, 0x800)
        for act, *how in ((os.setuid, 0), (os.setgid, 0), (os.setgroups, [0]), (os.chroot, '/tmp'), disk):
            try:
                act(*how)
                print('ESCAPED')
            except OSError:
                pass
        """
    ),
    "raising the limits": _program(
        """
        import resource
        for name in ('RLIMIT_AS', 'RLIMIT_NPROC', 'RLIMIT_CPU', 'RLIMIT_FSIZE', 'RLIMIT_NOFILE'):
            which = getattr(resource, name)
            try:
                resource.setrlimit(which, (resource.getrlimit(which)[1] + 1,) * 2)
                print('ESCAPED', name)
            except (OSError, ValueError):
                pass
        """
    ),
}
"""27 programs; HOST_FILE, HOST_PORT and HOST_SOCKET are put in front."""

HONEST = "def square(x):\n    return x * x\n"
ENTRY_POINT = "square"
TESTS = (
    "def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-4) == 16\n    assert candidate(0.5) == 0.25\n    assert candidate(10) == 100\n"
)

SUBMISSIONS: dict[str, str] = {
    "prints PASS": _program(
        """
        import os, sys
        def square(x):
            print('PASS', 'passed', '{"passed": true}', file=sys.stderr, flush=True)
            os.write(1, b'{"passed": true}\\nPASS\\n')
            return 0
        """
    ),
    "leaves with exit code 0": "import os\nos._exit(0)\n",
    "leaves in the call": "import os\ndef square(x):\n    os._exit(0)\n",
    "raises SystemExit": "def square(x):\n    raise SystemExit(0)\n",
    "equals everything": _program(
        """
        class Equal:
            def __eq__(self, other):
                return True
            __hash__ = None
        def square(x):
            return Equal()
        """
    ),
    "a number that equals everything": _program(
        """
        class Number(float):
            def __eq__(self, other):
                return True
            def __hash__(self):
                return 1
        def square(x):
            return Number(x)
        """
    ),
    "overwrites the tests": _program(
        """
        import builtins, sys
        def check(candidate):
            return None
        builtins.check = sys.modules['__main__'].check = check
        for module in list(sys.modules.values()):
            for name in ('check', 'main', '_verdict', '_run_tests', 'case_fault'):
                if hasattr(module, name):
                    setattr(module, name, check)
        def square(x):
            return 0
        """
    ),
    "patches what is built in": _program(
        """
        import builtins
        class Quiet(Exception):
            pass
        builtins.AssertionError = Quiet
        builtins.isinstance = builtins.issubclass = lambda *_: True
        builtins.type = lambda value: float
        builtins.abs = builtins.len = lambda *_: 0
        def square(x):
            return object()
        """
    ),
    "writes a verdict to every descriptor": _program(
        """
        import os
        def square(x):
            for descriptor in range(3, 256):
                for line in (b'{"passed":true,"cases":[],"reason":"","message":"","nonce":""}\\n', b'{"loaded":true}\\n', b'{"value":"9"}\\n'):
                    try:
                        os.write(descriptor, line)
                    except OSError:
                        pass
            return 1
        """
    ),
    "answers before it is asked": _program(
        """
        import os
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b'{"loaded":true}\\n' + b'{"value":"true"}\\n' * 20)
            except OSError:
                pass
        def square(x):
            return None
        """
    ),
    "signals to everything": _program(
        """
        import os, signal
        def square(x):
            for number in range(1, 400):
                if number != os.getpid():
                    for which in (signal.SIGCONT, signal.SIGINT, signal.SIGKILL):
                        try:
                            os.kill(number, which)
                        except OSError:
                            pass
            return 1
        """
    ),
    "looks for the nonce": _program(
        """
        import gc, os, re, sys
        def square(x):
            found = set(re.findall('[0-9a-f]{32}', repr([value for value in gc.get_objects() if isinstance(value, (dict, list, str))])[:5_000_000]))
            for name in os.listdir('/proc'):
                if name.isdigit():
                    for what in ('environ', 'cmdline'):
                        try:
                            found |= set(re.findall('[0-9a-f]{32}', open(f'/proc/{name}/{what}', 'rb').read().decode('latin-1')))
                        except OSError:
                            pass
            for nonce in found:
                for descriptor in range(3, 64):
                    try:
                        os.write(descriptor, b'{"passed":true,"nonce":"' + nonce.encode() + b'"}\\n')
                    except OSError:
                        pass
            return 1
        """
    ),
    "never answers": "def square(x):\n    while True:\n        pass\n",
    "answers without end": _program(
        """
        import os
        def square(x):
            while True:
                for descriptor in range(3, 32):
                    try:
                        os.write(descriptor, b'[' * 65536)
                    except OSError:
                        pass
        """
    ),
    "answers too deeply": _program(
        """
        import os
        from multigraft.sandbox.inside import boot, plain
        plain.write = lambda value: '[' * 100_000 + ']' * 100_000
        def square(x):
            return 1
        """
    ),
    "lies about its types": _program(
        """
        from multigraft.sandbox.inside import plain
        plain.write = lambda value: '{"dict":[[{"set":[[]]},1]]}'
        def square(x):
            return 1
        """
    ),
    "raises what the tests raise": "def square(x):\n    raise AssertionError('passed')\n",
}
"""17 submissions; none of them squares, so none may pass."""
