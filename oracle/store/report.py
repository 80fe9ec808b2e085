"""An audit's report as text and as JSON."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import Any

from oracle.store import registry
from oracle.store.audit import AuditReport
from oracle.store.registry import StoreFinding
from oracle.terminal import printable

_HASHED_AS_THEY_ARE = (registry.OBJECT_FRAME, registry.OBJECT_DIGEST)


def replay(report: AuditReport, finding: StoreFinding) -> str:
    """The one line that shows *finding* again.

    A digest over bytes as they stand is shown without this program.
    """
    if finding.rule in _HASHED_AS_THEY_ARE and finding.range is not None:
        file = shlex.quote(str(report.root / finding.file))
        first, length = finding.range.offset + 1, finding.range.length
        return f"tail -c +{first} {file} | head -c {length} | sha256sum"
    return f"python -m oracle audit {shlex.quote(str(report.root))}"


def as_text(report: AuditReport) -> str:
    """The report for people: each finding with its place and its replay, then the summary."""
    lines = []
    for finding in report.findings:
        place = f" {finding.place}" if finding.place else ""
        lines.append(f"{finding.file}{place}: {finding.message} [{finding.rule}]")
        lines.append(f"  {replay(report, finding)}")
    return "\n".join(map(printable, [*lines, *_summary_lines(report)]))


def _summary_lines(report: AuditReport) -> list[str]:
    summary = report.summary
    found = len(report.findings)
    verdict = "clean" if report.clean else f"{found} finding{'s' if found > 1 else ''}"
    return [
        f"{report.root}: {verdict}",
        f"  deployment {summary.deployment_id}, latest commit {summary.latest_commit}",
        f"  {summary.cuts} cuts with {summary.manifests} manifests, "
        f"{size(summary.metadata_bytes)} of metadata read",
        f"  {summary.objects} node data objects, {size(summary.object_bytes)} read; "
        f"{summary.shared_ratio:.0%} of it used by more than one cut",
        f"  reclaimable {size(summary.reclaimable_bytes)}: "
        f"{size(summary.retiring_bytes)} retiring, "
        f"{size(summary.temporary_bytes)} of unfinished writes, "
        f"{size(summary.unreachable_bytes)} unreachable",
        f"  beside it {size(summary.attempt_bytes)} of an attempt under way, "
        f"{size(summary.sealed_bytes)} of aborted ones",
    ]


def as_json(report: AuditReport) -> str:
    """The report for programs; sizes are bytes."""
    summary = asdict(report.summary) | {
        "shared_ratio": report.summary.shared_ratio,
        "reclaimable_bytes": report.summary.reclaimable_bytes,
    }
    findings = [_finding(report, finding) for finding in report.findings]
    document = {
        "root": str(report.root),
        "clean": report.clean,
        "findings": findings,
        "summary": summary,
    }
    return json.dumps(document, indent=2)


def _finding(report: AuditReport, finding: StoreFinding) -> dict[str, Any]:
    return asdict(finding) | {"replay": replay(report, finding)}


def size(count: int) -> str:
    """A number of bytes for people."""
    amount, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
