"""What a campaign leaves behind: JSON lines, JUnit XML, Markdown and one page of HTML."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from junitparser import Failure, JUnitXml, TestCase, TestSuite

from fuzz.campaign.files import write_whole
from fuzz.campaign.findings import Finding, Record
from fuzz.campaign.plots import Line, plot
from fuzz.campaign.supervisor import Campaign
from fuzz.campaign.totals import NEVER_ALONE, RuleCounts, Totals, blindness, rule_ids
from fuzz.engines.builds import STAND_IN
from oracle import RULES, cuts

_SHOWN_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Row:
    """A finding as all reports show it."""

    id: str
    outcome: str
    signature: str
    count: int
    size: int
    first: Record
    best: Record
    path: str
    replay: str
    explain: str
    text: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as all reports show it."""

    id: str
    statement: str
    counts: RuleCounts
    not_alone: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """A campaign that ended, as all reports show it."""

    campaign: Campaign
    total: Totals
    rows: list[Row]
    blind: list[str]

    @property
    def status(self) -> int:
        """The exit code: 1 with findings, 2 when the search was blind, else 0."""
        return 1 if self.rows else 2 if self.blind else 0

    @property
    def verdict(self) -> str:
        """The campaign in a few words."""
        if self.rows:
            count = len(self.rows)
            return f"{count} finding{'s' if count > 1 else ''}"
        if self.blind:
            return "blind: it proves nothing"
        if self.campaign.plan.engine == STAND_IN:
            return "clean, and no evidence about any engine"
        return "clean"

    @property
    def rules(self) -> list[RuleRow]:
        """The matrix of rules."""
        return [
            RuleRow(
                id,
                (RULES.get(id) or cuts.RULES[id]).statement,
                self.total.rules.get(id, RuleCounts()),
                NEVER_ALONE.get(id),
            )
            for id in rule_ids(self.campaign.contract, self.campaign.plan.target)
        ]


def report_of(campaign: Campaign) -> Report:
    """Everything about *campaign*, read from its directory."""
    total = campaign.totals()
    rows = [_row(finding, total, campaign) for finding in campaign.findings]
    blind = blindness(total, campaign.moments, campaign.contract, campaign.plan.target)
    return Report(campaign, total, rows, blind)


def _row(finding: Finding, total: Totals, campaign: Campaign) -> Row:
    best = finding.best
    path = finding.directory / best.document
    words = ["python", "-m", "fuzz"]
    explaining = [*words, "explain", str(finding.directory)]
    if best.target == "cuts":
        explaining = [*words, "diff", "--engine", campaign.plan.engine, str(path)]
    text = finding.document(best).decode("utf-8", "backslashreplace")
    return Row(
        id=finding.id,
        outcome=best.outcome,
        signature=best.signature,
        # A worker that was killed may not have counted its last.
        count=max(1, total.signatures[best.signature]),
        size=best.size,
        first=finding.first,
        best=best,
        path=str(path),
        replay=shlex.join([*words, "replay", str(finding.directory)]),
        explain=shlex.join(explaining),
        text=text if len(text) <= _SHOWN_BYTES else f"{text[:_SHOWN_BYTES]}…",
    )


def write_reports(report: Report) -> list[Path]:
    """Write all reports; gives their paths."""
    out = report.campaign.plan.out
    files = {
        "findings.jsonl": _json_lines(report),
        "junit.xml": _junit(report),
        "summary.md": _template("summary.md", report),
        "report.html": _template("report.html", report),
    }
    for name, content in files.items():
        write_whole(out / name, content.encode("utf-8", "backslashreplace"))
    return [out / name for name in files]


def _json_lines(report: Report) -> str:
    return "".join(
        json.dumps(
            {
                "id": row.id,
                "outcome": row.outcome,
                "signature": row.signature,
                "count": row.count,
                "document": row.path,
                "replay": row.replay,
                "best": asdict(row.best),
                "first": asdict(row.first),
            }
        )
        + "\n"
        for row in report.rows
    )


def _junit(report: Report) -> str:
    plan = report.campaign.plan
    suite = TestSuite(f"campaign {plan.target} on {plan.engine_name}")
    search = TestCase("the search sees enough", "campaign", report.campaign.moments[-1].seconds)
    if report.blind:
        search.result = [Failure("blind: " + "; ".join(report.blind))]
    cases = [search]
    for row in report.rows:
        case = TestCase(row.signature, "finding")
        failure = Failure(f"{row.count} times, smallest {row.size} bytes")
        failure.text = "\n".join(
            (
                *(f"oracle: {line}" for line in row.best.oracle),
                *(f"engine: {line}" for line in row.best.engine),
                f"replay: {row.replay}",
            )
        )
        case.result = [failure]
        cases.append(case)
    suite.add_testcases(cases)
    junit = JUnitXml()
    junit.add_testsuite(suite)
    text: str = junit.tostring().decode()  # type: ignore[no-untyped-call]
    return "".join(character for character in text if character >= " " or character in "\t\n\r")


def _template(name: str, report: Report) -> str:
    environment = Environment(
        loader=PackageLoader("fuzz.campaign", "templates"),
        autoescape=name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    moments = report.campaign.moments
    seconds = [moment.seconds for moment in moments]
    coverage = plot(
        "Places reached",
        seconds,
        [
            Line("oracle", [float(moment.oracle_coverage) for moment in moments]),
            Line("engine", [float(moment.engine_coverage) for moment in moments]),
        ],
    )
    rate = plot("Inputs a second", seconds, [Line("rate", [moment.rate for moment in moments])])
    return environment.get_template(name).render(
        report=report,
        plan=report.campaign.plan,
        total=report.total,
        last=moments[-1],
        contract=report.campaign.contract,
        version=_version(),
        coverage=coverage,
        rate=rate,
    )


def _version() -> str:
    try:
        return version("laminardb-manifest-oracle")
    except ModuleNotFoundError:
        return "from a checkout"
