"""What an endpoint can do, found out by a handful of tiny calls."""

from dataclasses import dataclass, field
from enum import StrEnum

from multigraft.models.capabilities import Feature
from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Completion, Failure, FailureKind, Json, Message, Model, Request, Sample, Sampling

_QUESTION = (Message("user", "Name three rivers."),)
_WITH_SYSTEM = (Message("system", "Answer in one short line."), *_QUESTION)
_MAX_TOKENS = 48

_REMEDIES = {
    FailureKind.AUTH: "check the key: the run file names the environment variable that holds it",
    FailureKind.QUOTA: "the account has no credit left; add some or use another key",
    FailureKind.NOT_FOUND: "check the URL and the model's id at the server (GET /v1/models lists them)",
    FailureKind.UNAVAILABLE: "check that the server runs and that host and port are right",
    FailureKind.CONNECTION: "check that the server runs and that host and port are right",
    FailureKind.TIMEOUT: "the server takes calls but does not answer in time; see its log, or raise attempt_timeout_s",
    FailureKind.RATE_LIMIT: "the server limits calls; try again later, or lower max_in_flight",
    FailureKind.SERVER: "see the server's log",
    FailureKind.MALFORMED: "this does not look like an OpenAI-compatible server; check the URL",
    FailureKind.CONTEXT: "the server's context window is too small for any work; raise it",
    FailureKind.PROMPT_TRUNCATED: "the server cuts prompts; raise its context window",
    FailureKind.NO_ANSWER: "the model spends its tokens on thinking; raise max_tokens",
    FailureKind.REFUSED: "the server's filter refuses a harmless question; see its settings",
}


class Verdict(StrEnum):
    """Whether something works."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing an endpoint can or cannot do."""

    what: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EndpointReport:
    """What one endpoint did."""

    endpoint: str
    """Its URL, or the kind of a model that has none."""
    answers: bool
    calls: int
    """Requests of this probe, as a budget counts them."""
    latency_s: float | None = None
    """Of the first answer."""
    findings: tuple[Finding, ...] = ()
    error: str = ""
    """Why there was no answer."""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the endpoints of one model did."""

    model: str
    endpoints: tuple[EndpointReport, ...] = field(default=())

    @property
    def answers(self) -> bool:
        """Whether every endpoint answers."""
        return all(report.answers for report in self.endpoints)

    def as_json(self) -> dict[str, Json]:
        """Write the report as plain values."""
        return {
            "model": self.model,
            "answers": self.answers,
            "endpoints": [
                {
                    "endpoint": report.endpoint,
                    "answers": report.answers,
                    "calls": report.calls,
                    "latency_s": report.latency_s,
                    "findings": {finding.what: {"verdict": finding.verdict.value, "detail": finding.detail} for finding in report.findings},
                    "error": report.error,
                    "remedy": report.remedy,
                }
                for report in self.endpoints
            ],
        }


async def probe(model: Model) -> ProbeReport:
    """Find out what a model's endpoints can do, with three tiny requests each.

    Args:
        model: any model; each endpoint of an `OpenAIChat` is looked at by itself.

    Returns:
        A report; an endpoint that does not answer is part of it.
    """
    if not isinstance(model, OpenAIChat):
        return ProbeReport(model.name, (await _probed(model, ""),))
    reports: list[EndpointReport] = []
    for single in model.at_each():
        try:
            reports.append(await _probed(single, single.endpoints.urls[0]))
        finally:
            await single.close()
    return ProbeReport(model.name, tuple(reports))


async def _probed(model: Model, endpoint: str) -> EndpointReport:
    sampling = Sampling(max_tokens=_MAX_TOKENS)
    (first,) = await model.generate(Request(_QUESTION, sampling, (1,)))
    endpoint = endpoint or first.endpoint or "embedded"
    if isinstance(first, Failure) and first.kind is not FailureKind.NO_ANSWER:
        return EndpointReport(endpoint, answers=False, calls=1, error=first.message, remedy=_REMEDIES.get(first.kind, ""))
    (asked,) = await model.generate(Request(_WITH_SYSTEM, Sampling(max_tokens=_MAX_TOKENS, logprobs=True, top_logprobs=5, stop=("\n\n\n",)), (1,)))
    same, other = await model.generate(Request(_QUESTION, sampling, (1, 2)))
    return EndpointReport(
        endpoint,
        answers=True,
        calls=4 + sum(sample.flags.count("resent") for sample in (first, asked, same, other) if isinstance(sample, Completion)),
        latency_s=first.latency_s,
        findings=tuple(_findings(model, endpoint, first, asked, same)),
    )


def _findings(model: Model, endpoint: str, first: Sample, asked: Sample, same: Sample) -> list[Finding]:
    findings = [_thinking(first), *_refusals(model, endpoint), *_logprobs(asked)]
    if isinstance(first, Completion) and isinstance(same, Completion):
        repeats = first.text == same.text
        findings.append(Finding("repeatable", Verdict.YES if repeats else Verdict.UNKNOWN, "" if repeats else "the same seed gave another answer"))
    counted = not first.usage.estimated
    findings.append(Finding("usage", Verdict.YES if counted else Verdict.NO, "" if counted else "tokens are charged at their upper bound"))
    return findings


def _thinking(first: Sample) -> Finding:
    if isinstance(first, Failure):
        return Finding("answer", Verdict.UNKNOWN, f"{first.message}; {_REMEDIES[FailureKind.NO_ANSWER]}")
    return Finding("reasoning", Verdict.YES if first.reasoning is not None else Verdict.NO)


def _logprobs(asked: Sample) -> list[Finding]:
    if isinstance(asked, Failure):
        return [Finding("logprobs", Verdict.UNKNOWN, asked.message), Finding("top_logprobs", Verdict.UNKNOWN)]
    given, alternatives = asked.mean_logprob is not None, len(asked.first_token)
    return [
        Finding("logprobs", Verdict.YES if given else Verdict.NO, "" if given else "needed for the confidence reward"),
        Finding("top_logprobs", Verdict.YES if alternatives else Verdict.NO, f"{alternatives} of 5" if alternatives else "needed for a yes-or-no judge"),
    ]


def _refusals(model: Model, endpoint: str) -> list[Finding]:
    if not isinstance(model, OpenAIChat):
        return []
    known = model.capabilities(endpoint)
    details = {
        Feature.SYSTEM: "system texts are put into the user's message",
        Feature.MAX_TOKENS: "max_completion_tokens is sent",
        Feature.N: "samples are asked for one by one",
        Feature.SEED: "draws cannot be repeated",
        Feature.TEMPERATURE: "the server uses its own",
        Feature.STOP: "stop words are looked for in the answer",
    }
    findings: list[Finding] = []
    for feature, detail in details.items():
        refused = feature in known.refused
        verdict = Verdict.NO if refused else Verdict.YES if feature in known.honoured else Verdict.UNKNOWN
        findings.append(Finding(feature.value, verdict, detail if refused else ""))
    return findings
