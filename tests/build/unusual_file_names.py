"""What kernel files do to their process, and how another file would see it: rows for ``test_unusual_file_names.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Awkward:
    """``program`` changes the process, ``look`` is an expression that shows the change.

    A look that is ``slow`` to import is taken by its own file and one more only, the others by all.
    """

    program: str
    look: str
    is_slow: bool = False


MODULES = (
    *("atexit", "builtins", "codecs", "collections.abc", "contextvars", "copyreg", "csv", "decimal", "faulthandler"),
    *("fcntl", "functools", "gc", "io", "json", "linecache", "locale", "logging", "math", "os", "random", "resource"),
    *("signal", "socket", "state", "string", "subprocess", "sys", "tempfile", "threading", "time", "types", "warnings"),
)
_NUMPY = "import numpy; "

AWKWARD: dict[str, Awkward] = {
    # ---- variables, folders, modules
    "a variable": Awkward("os.environ['AWKWARD'] = '1'", "os.environ.get('AWKWARD')"),
    "a variable less": Awkward("os.environ.pop('LANG', None); os.unsetenv('PATH')", "'PATH' in os.environ"),
    "sys.path": Awkward("sys.path.insert(0, '/nowhere')", "'/nowhere' in sys.path"),
    "sys.path, emptied": Awkward("del sys.path[1:]", "len(sys.path)"),
    "the working folder": Awkward("os.chdir('/')", "os.path.relpath(os.getcwd(), os.path.dirname(state.__file__))"),
    "an entry of sys.modules": Awkward(
        "sys.modules['awkward'] = types.ModuleType('awkward')", "'awkward' in sys.modules"
    ),
    "another module in its place": Awkward(
        "sys.modules['string'] = types.ModuleType('string')", "hasattr(sys.modules['string'], 'digits')"
    ),
    "a module of the project": Awkward("state.SEEN.append(1)", "state.SEEN[:]"),
    "a finder": Awkward("sys.meta_path.append(object())", "len(sys.meta_path)"),
    "finders, removed": Awkward("sys.meta_path.clear()", "len(sys.meta_path) > 2"),
    "a hook of the path": Awkward("sys.path_hooks.insert(0, print)", "print in sys.path_hooks"),
    "lines of no file": Awkward("linecache.cache['x'] = (1, None, ['a'], 'x')", "'x' in linecache.cache"),
    "compiled modules": Awkward("sys.dont_write_bytecode = not sys.dont_write_bytecode", "sys.dont_write_bytecode"),
    # ---- functions and constants of modules
    "a new built-in": Awkward("builtins.AWKWARD = 1", "hasattr(builtins, 'AWKWARD')"),
    "a built-in function": Awkward("builtins.round = lambda *a: 42", "round(1.5)"),
    "built-in open": Awkward("_open = open; builtins.open = lambda *a, **k: _open(os.devnull)", "open.__module__"),
    "built-in import": Awkward(
        "_import = __import__; builtins.__import__ = lambda *a: _import(*a)", "__import__.__module__"
    ),
    "pi": Awkward("math.pi = 3", "math.pi"),
    "json.dumps": Awkward("json.dumps = lambda *a, **k: 'awkward'", "json.dumps([1])"),
    "os.path.exists": Awkward("os.path.exists = lambda path: True", "os.path.exists('/nowhere/at/all')"),
    "os.stat": Awkward("os.stat = lambda *a, **k: 1 / 0", "os.path.isdir(os.path.dirname(state.__file__))"),
    "time.time": Awkward("time.time = time.time_ns = lambda: 0", "time.time() > 0"),
    "a cached function": Awkward(
        "codecs.lookup = functools.cache(codecs.lookup)", "hasattr(codecs.lookup, 'cache_info')"
    ),
    # ---- settings of Python
    "the recursion limit": Awkward("sys.setrecursionlimit(5000)", "sys.getrecursionlimit()"),
    "digits of integers": Awkward("sys.set_int_max_str_digits(9999)", "sys.get_int_max_str_digits()"),
    "the switch interval": Awkward("sys.setswitchinterval(0.5)", "sys.getswitchinterval()"),
    "no garbage collection": Awkward("gc.disable()", "gc.isenabled()"),
    "thresholds of garbage collection": Awkward("gc.set_threshold(9, 9, 9)", "gc.get_threshold()"),
    "a trace": Awkward("sys.settrace(lambda *a: None)", "sys.gettrace() is None"),
    "a profile": Awkward("sys.setprofile(lambda *a: None)", "sys.getprofile() is None"),
    "the exception hook": Awkward("sys.excepthook = print", "sys.excepthook is sys.__excepthook__"),
    "the fault handler": Awkward(
        "(faulthandler.disable if faulthandler.is_enabled() else faulthandler.enable)()", "faulthandler.is_enabled()"
    ),
    "warnings that are errors": Awkward("warnings.simplefilter('error')", "[row[0] for row in warnings.filters]"),
    "a context variable": Awkward("contextvars.ContextVar('a').set(1)", "len(contextvars.copy_context())"),
    "an end of Python": Awkward("atexit.register(os._exit, 3)", "atexit._ncallbacks()"),
    # ---- settings of Python's library
    "decimal places": Awkward("decimal.getcontext().prec = 3", "decimal.getcontext().prec"),
    "default decimal places": Awkward("decimal.DefaultContext.prec = 4", "decimal.DefaultContext.prec"),
    "a random seed": Awkward("random.seed(1)", "random.getstate() == random.Random(1).getstate()"),
    "the locale": Awkward("locale.setlocale(locale.LC_ALL, 'C')", "locale.setlocale(locale.LC_CTYPE)"),
    "logging": Awkward(
        "logging.basicConfig(level=7); logging.disable(9)", "logging.root.level, logging.root.manager.disable"
    ),
    "a codec": Awkward(
        "codecs.register(lambda name: codecs.lookup('ascii') if name == 'awkward' else None)",
        "state.raises(codecs.lookup, 'awkward')",
    ),
    "a registered class": Awkward("collections.abc.Sized.register(int)", "isinstance(1, collections.abc.Sized)"),
    "a way to pickle": Awkward("copyreg.pickle(range, lambda r: (range, (0,)))", "range in copyreg.dispatch_table"),
    "a dialect": Awkward(
        "csv.register_dialect('awkward'); csv.field_size_limit(5)", "csv.list_dialects(), csv.field_size_limit()"
    ),
    "temporary files elsewhere": Awkward("tempfile.tempdir = '/nowhere'", "tempfile.tempdir == '/nowhere'"),
    "the timeout of sockets": Awkward("socket.setdefaulttimeout(1)", "socket.getdefaulttimeout()"),
    "the time zone": Awkward("os.environ['TZ'] = 'XXX-5'; time.tzset()", "time.timezone"),
    # ---- NumPy
    "how NumPy prints": Awkward(
        _NUMPY + "numpy.set_printoptions(precision=2)", "str(__import__('numpy').array(1 / 3).reshape(1))", is_slow=True
    ),
    "errors of NumPy": Awkward(_NUMPY + "numpy.seterr(all='raise')", "__import__('numpy').geterr()", is_slow=True),
    "a seed of NumPy": Awkward(
        _NUMPY + "numpy.random.seed(1)",
        "int(__import__('numpy').random.get_state()[1][0]) == 1",
        is_slow=True,
    ),
    "a constant of NumPy": Awkward(_NUMPY + "numpy.pi = 3", "__import__('numpy').pi", is_slow=True),
    # ---- the process
    "files that it may open": Awkward(
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
        "resource.getrlimit(resource.RLIMIT_NOFILE)",
    ),
    "a core": Awkward(
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", "resource.getrlimit(resource.RLIMIT_CORE)[0] == 0"
    ),
    "the mask of permissions": Awkward("os.umask(0o777)", "state.umask()"),
    "a signal that is ignored": Awkward(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGTERM) is signal.SIG_IGN",
    ),
    "a signal that is blocked": Awkward(
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])",
        "sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))",
    ),
    "a clock": Awkward("signal.setitimer(signal.ITIMER_REAL, 300)", "signal.getitimer(signal.ITIMER_REAL)[0] > 0"),
    "a thread": Awkward(
        "threading.Thread(target=time.sleep, args=(300,), daemon=True).start()", "threading.active_count()"
    ),
    "a thread that Python waits for": Awkward(
        "threading.Thread(target=time.sleep, args=(300,)).start()", "threading.active_count()"
    ),
    "a child": Awkward("subprocess.Popen(['sleep', '300'])", "state.raises(os.waitpid, -1, os.WNOHANG)"),
    "output that is closed": Awkward("sys.stdout.close(); sys.stderr.close()", "sys.stdout.closed"),
    "output elsewhere": Awkward("sys.stdout = sys.stderr = io.StringIO()", "type(sys.stdout).__name__"),
    "a closed descriptor": Awkward("os.close(1); os.close(0)", "state.raises(fcntl.fcntl, 1, fcntl.F_GETFD)"),
    "all descriptors, closed": Awkward("os.closerange(0, 3)", "state.raises(fcntl.fcntl, 2, fcntl.F_GETFD)"),
    "niceness": Awkward("os.nice(1)", "os.nice(0)"),
    "a core of the machine": Awkward(
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])", "len(os.sched_getaffinity(0))"
    ),
    "a session of its own": Awkward("os.getpid() == os.getpgrp() or os.setsid()", "os.getsid(0) == os.getpid()"),
}
