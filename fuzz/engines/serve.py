"""The other end of the stdio protocol: an engine of this process, for whoever asks."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from fuzz.engines import wire
from fuzz.engines.protocol import Engine, EngineError


def serve(engine: Engine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests, one a line, until there are no more."""
    for line in requests:
        answers.write(json.dumps(answer(engine, line)).encode() + b"\n")
        answers.flush()


def answer(engine: Engine, line: bytes) -> dict[str, Any]:
    """The answer to one request; whatever it is, there is one."""
    identity = None
    try:
        request = wire.read_json(line)
        if not isinstance(request, dict) or not isinstance(request.get("id"), int):
            raise wire.Malformed("a request is an object with an integer id")
        identity = request["id"]
        call = wire.CALLS.get(str(request.get("call")))
        if call is None:
            raise wire.Malformed(f"there is no call {request.get('call')!r:.80}")
        arguments = call.arguments(request.get("arguments"))
        # The engine's own attributes are its description.
        describing = call is wire.DESCRIBE
        result = engine if describing else getattr(engine, call.name)(**arguments)
        return wire.answer(identity, call, result)
    except (EngineError, ValueError, wire.Malformed) as error:
        return wire.failure(identity, error)
