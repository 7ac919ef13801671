"""The server of the live page: for this computer alone.

It listens on the loopback address, its addresses begin with a random token, and it answers only to
its own host and origin: a page of somebody else that is open in the same browser cannot ask it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import ValidationError

from headscope.errors import HeadscopeError
from headscope.explorer.answers import answer
from headscope.explorer.questions import Question, refusal_of
from headscope.model import Model, Top

LARGEST = 64 * 1024
"""Bytes of a request."""
MOST, WITHIN = 40, 10.0
"""Questions within so many seconds."""
HOSTS = ("127.0.0.1", "localhost")
SAFE = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
Next = Callable[[Request], Awaitable[Response]]


class Explored:
    """A model that is open, with its lock and what it has on top."""

    def __init__(self, model: Model, top: Top) -> None:
        self.model, self.top, self.lock = model, top, asyncio.Lock()


def make_app(models: dict[str, Explored], page: str, token: str, port: int) -> FastAPI:
    """The application that serves a page and answers its questions.

    Args:
        models: by the names that the page shows.
        page: as HTML.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    hosts = {f"{host}:{port}" for host in HOSTS}
    origins = {f"http://{host}" for host in hosts}
    asked: deque[float] = deque()

    @app.middleware("http")
    async def guard(request: Request, call_next: Next) -> Response:
        refusal = _refusal(request, hosts, origins)
        response = _say(403, refusal) if refusal else await call_next(request)
        response.headers.update(SAFE)
        return response

    @app.get(f"/{token}/")
    async def show() -> HTMLResponse:
        return HTMLResponse(page)

    @app.post(f"/{token}/answer")
    async def tell(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                return _say(413, "the request is too large")
        now = time.monotonic()
        while asked and now - asked[0] > WITHIN:
            asked.popleft()
        if len(asked) >= MOST:
            return _say(429, "too many questions at once; wait a moment")
        asked.append(now)
        try:
            question = Question.model_validate_json(body)
        except ValidationError as error:
            return _say(422, refusal_of(error))
        if question.model not in models:
            return _say(404, "no such model is open")
        return await _answer(request, models[question.model], question)

    return app


async def _answer(request: Request, explored: Explored, question: Question) -> Response:
    """Wait for the model, and work only if somebody still waits for the answer."""
    async with explored.lock:
        if await request.is_disconnected():
            return Response(status_code=499)
        work = partial(answer, explored.model, explored.top, question)
        try:
            told = await to_thread.run_sync(work)
        except HeadscopeError as error:
            return _say(400, str(error))
    return JSONResponse(told)


def _refusal(request: Request, hosts: set[str], origins: set[str]) -> str | None:
    """Why a request is not answered; None if it is."""
    if request.headers.get("host") not in hosts:
        return "this page is only for this computer"
    origin: Any = request.headers.get("origin")
    if request.method == "POST" and origin not in origins:
        return "only the page itself may ask"
    return None


def _say(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status_code=status)
