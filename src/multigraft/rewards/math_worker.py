"""The child process that compares two mathematical answers. It runs as a script of its own and imports nothing of the project.

Lines of JSON come in on standard input, `{"answer": TEXT, "references": [TEXT, ...]}`, and one goes out for each:
`{"equal": BOOL, "form": TEXT or null}`, or `{"undecided": REASON}`. A comparison may hang or eat memory, so the parent sets a limit of time and
kills; memory, processor time and files are limited here. Nothing that came in is ever compiled: the answers are parsed by a grammar, and after the start an
audit hook refuses to compile any text.
"""

import json
import re
import resource
import sys
from fractions import Fraction
from typing import Final, NoReturn

_NUMERAL = re.compile(r"[0-9]*\.?[0-9]+|[0-9]+\.")
_POLYNOMIAL_CODE = re.compile(rb"def monomial_[a-z]+\([ABk, ]+\):\n[ a-zA-Z0-9(),=+*<>:\n-]*")
"""The one text that sympy makes up at run time on the way: sums of exponents, for as many variables as there are, without one character of an answer."""
_LARGEST_POWER = 64
_LONGEST_FORM = 300
_MOST_OPERATIONS = 60
_MEBIBYTE = 1 << 20
_REFUSED_EVENTS = ("subprocess.", "socket.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.putenv", "os.remove", "os.rename", "ctypes.", "shutil.")

Reply = dict[str, "bool | str | None"]


class Guard:
    """Refuses, and remembers that it did: what raises inside a library may be caught there."""

    def __init__(self) -> None:
        self.refused = ""

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look at one audited event."""
        if event == "compile":
            # A module that is imported late is compiled from bytes that have a path; all else is a text made up at run time.
            source, path = arguments
            if not isinstance(source, bytes) or not (str(path).startswith("/") or _POLYNOMIAL_CODE.fullmatch(source)):
                self._refuse(event)
        elif event.startswith(_REFUSED_EVENTS):
            self._refuse(event)

    def _refuse(self, event: str) -> NoReturn:
        self.refused = event
        message = f"{event} is not allowed here"
        raise PermissionError(message)


class Comparer:
    """Holds the libraries, so that they are imported once and before the guard is set."""

    def __init__(self) -> None:
        import sympy  # noqa: PLC0415 - heavy, and only this process has it
        import sympy.core.numbers as numbers  # noqa: PLC0415, PLR0402 - the module, not what the package exports of it
        from math_verify import LatexExtractionConfig, parse, verify  # noqa: PLC0415 - an optional extra

        sympify = numbers.sympify

        def number_of(value: object, *settings: object, **named: object) -> object:
            if isinstance(value, str):
                if not _NUMERAL.fullmatch(value):
                    message = f"{value[:40]!r} is no numeral"
                    raise ValueError(message)
                return sympy.Integer(int(value)) if value.isdecimal() else sympy.Float(value)
            return sympify(value, *settings, **named)

        # The parser makes numbers of the digits it read, and sympy hands texts of digits to `eval`.
        numbers.sympify = number_of
        self._sympy = sympy
        self._parse = parse
        self._verify = verify
        # Only LaTeX: the reader of plain expressions hands the text to `eval`.
        self._targets: Final = [LatexExtractionConfig(boxed_match_priority=-1)]

    def equal(self, parsed: list[object], references: list[str]) -> bool:
        """Compare what was read with every reference; equal to one of them is enough."""
        return any(self._verify(self.read(reference), parsed, timeout_seconds=None, raise_on_error=False) for reference in references)

    def read(self, text: str) -> list[object]:
        """Read a text as mathematics; empty when it is none."""
        line = " ".join(text.replace("$", " ").split())
        parsed: list[object] = self._parse(f"${line}$", self._targets, fallback_mode="no_fallback", parsing_timeout=None)
        return parsed

    def form(self, parsed: object) -> str | None:
        """Write what was read such that equal answers are equal texts as far as cheap arithmetic goes; None where it does not go."""
        try:
            text = self._written(parsed)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, NotImplementedError, PermissionError):
            return None
        return text if len(text) <= _LONGEST_FORM else None

    def _written(self, parsed: object) -> str:
        sympy = self._sympy
        if isinstance(parsed, sympy.Eq) and parsed.lhs.is_Symbol:
            return self._written(parsed.rhs)
        if isinstance(parsed, sympy.FiniteSet):
            return "{" + ", ".join(sorted(self._written(element) for element in parsed.args)) + "}"
        if isinstance(parsed, sympy.Tuple):
            return "(" + ", ".join(self._written(element) for element in parsed.args) + ")"
        if isinstance(parsed, sympy.Expr) and self._is_small(parsed):
            done = parsed.doit()
            exact = {number: sympy.Rational(Fraction(str(number))) for number in done.atoms(sympy.Float)}
            return str(sympy.expand(done.xreplace(exact)))
        return str(parsed)

    def _is_small(self, parsed: object) -> bool:
        sympy = self._sympy
        if not isinstance(parsed, sympy.Expr) or parsed.count_ops() > _MOST_OPERATIONS:
            return False
        growing = (sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative, sympy.factorial, sympy.binomial)
        if parsed.has(*growing):
            return False
        powers = parsed.atoms(sympy.Pow)
        return all(not power.exp.has(sympy.Pow) and (not power.exp.is_number or abs(float(power.exp)) <= _LARGEST_POWER) for power in powers)


WARM_UP = (
    (r"\frac{1}{2}", "0.5"),
    (r"\{1, 2\}", r"\{2, 1\}"),
    ("[0, 1)", r"[0, 1)"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & x \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \\ 3 & x \end{pmatrix}"),
    ("(x + 1)^2", "x^2 + 2x + 1"),
    ("x = 2y", "2x = 4y"),
    ("1 < x < 2", "(1, 2)"),
    (r"x \geq 3", r"[3, \infty)"),
    (r"\sqrt{8} + \sin x", r"2\sqrt{2} + \cos y"),
    (r"\log_2 8 + 3i", r"3 + 3i"),
    (r"x^3 - 6x^2 + 11x - 6 = 0", r"(x-1)(x-2)(x-3) = 0"),
    (r"50\%", "0.5"),
    (r"\frac{x^2 - 1}{x - 1}", "x + 1"),
    (r"\sum_{k=1}^{4} k", "10"),
    (r"\int_0^1 x \, dx", r"\frac{1}{2}"),
    (r"\lim_{x \to 0} \frac{\sin x}{x}", "1"),
    (r"\binom{5}{2} + 3!", "16"),
    (r"f(x) = e^{2x}", r"f(x) = (e^x)^2"),
    (r"\gcd(4, 6) + \lfloor 2.5 \rfloor", "4"),
    (r"A \cup B", r"B \cup A"),
)
"""Comparisons of every sort, so that what the libraries import or compile late is there before the guard is set."""


def main() -> None:
    """Answer lines until the input ends."""
    settings = json.loads(sys.argv[1])
    sys.path[:] = settings["path"]
    guard = Guard()
    try:
        comparer = Comparer()
        for answer, reference in WARM_UP:
            parsed = comparer.read(answer)
            comparer.equal(parsed, [reference])
            if parsed:
                comparer.form(parsed[0])
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), flush=True)  # noqa: T201 - the protocol
        return
    resource.setrlimit(resource.RLIMIT_AS, (settings["memory_mb"] * _MEBIBYTE,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(guard)
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201 - the protocol
    for line in sys.stdin:
        _limit_processor_time(settings["limit_s"])
        guard.refused = ""
        print(json.dumps(_reply(comparer, guard, line)), flush=True)  # noqa: T201 - the protocol


def _limit_processor_time(limit_s: float) -> None:
    """Let this process end by itself, should nobody be left to kill it."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + limit_s) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _reply(comparer: Comparer, guard: Guard, line: str) -> Reply:
    request = json.loads(line)
    try:
        parsed = comparer.read(request["answer"])
        equal = bool(parsed) and comparer.equal(parsed, request["references"])
    except MemoryError:
        return {"undecided": "it needs more memory than it may have"}
    except Exception as error:  # noqa: BLE001 - libraries that read hostile text raise anything, and the worker must live on
        return {"undecided": f"the comparison failed with {type(error).__name__}"}
    # A refusal inside a library may have turned into "not equal" there, which would be a verdict nobody reached.
    if guard.refused:
        return {"undecided": f"the comparison tried something that is not allowed ({guard.refused})"}
    return {"equal": equal, "form": comparer.form(parsed[0]) if parsed else None}


if __name__ == "__main__":
    main()
