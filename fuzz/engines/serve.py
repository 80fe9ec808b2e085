"""The other end of the stdio protocol: an engine of this process, for whoever asks."""

from __future__ import annotations

import json
from typing import BinaryIO

from fuzz.engines import wire
from fuzz.engines.protocol import Engine, EngineError


def serve(engine: Engine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests, one a line, until there are no more."""
    for line in requests:
        answers.write(json.dumps(_answer(engine, line)).encode() + b"\n")
        answers.flush()


def _answer(engine: Engine, line: bytes) -> dict[str, object]:
    identity = None
    try:
        request = json.loads(line)
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
    except json.JSONDecodeError as error:
        return wire.failure(identity, wire.Malformed(f"not JSON: {error}"))
    except (EngineError, ValueError, wire.Malformed) as error:
        return wire.failure(identity, error)
