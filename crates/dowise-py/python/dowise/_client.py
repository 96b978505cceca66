"""Clients of the decision service: decide, observe, ask; what got no answer is sent again with the same ids."""

from __future__ import annotations

import asyncio
import functools
import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from dowise._lib import Error

if TYPE_CHECKING:
    from typing_extensions import Self

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Json = dict[str, Any]
# What may be gone a moment later: too many requests, or a service that is starting, stopping or waiting for its disk.
_AGAIN = (429, 503)
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


class ServiceError(Error):
    """The service refused a request, or did not answer: `status` (0 without an answer), `problem` (its own words)."""

    def __init__(self, message: str, status: int = 0, problem: _Json | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = problem or {}


class Client:
    """A client of one world of a running `dowise serve`; may be shared by threads, each with a connection of its own.

    Requests carry ids, so sending one again is safe: where there is no answer, or the service is busy (429, 503), it is
    sent again with the same ids until `patience` seconds have passed.

    >>> client = dowise.Client("http://127.0.0.1:8080", "campaign")  # doctest: +SKIP
    >>> state = {"loyalty": "new", "willingness": "low", "purse": "modest"}
    >>> decision = client.decide(state, episode_id="ann")  # doctest: +SKIP
    >>> client.observe(decision["event_id"], keys={"opened": "yes"}, done=False)  # doctest: +SKIP
    """

    def __init__(
        self, url: str, world: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"{url!r} is not the address of a service; it looks like http://127.0.0.1:8080")
        if not timeout > 0 or patience < 0:
            raise ValueError(f"timeout must be above 0 and patience at least 0, found {timeout} and {patience}")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._world = quote(world, safe="")
        self._key, self._timeout, self._patience = key, timeout, patience
        self._own = threading.local()
        self._opened: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._closed = False

    def decide(
        self,
        state: Mapping[str, str],
        *,
        episode_id: str,
        event_id: str | None = None,
        stage: int | None = None,
        subject: str | None = None,
        allowed: Mapping[str, Sequence[str]] | None = None,
        forbidden: Sequence[Mapping[str, str | Sequence[str]]] | None = None,
    ) -> _Json:
        """Asks what to do; the answer is durable when it is here. Without an `event_id`, one is made up."""
        event_id = event_id or uuid.uuid4().hex
        asked = {
            "event_id": event_id,
            "episode_id": episode_id,
            "stage": stage,
            "subject": subject,
            "state": dict(state),
            "allowed": None if allowed is None else {lever: list(values) for lever, values in allowed.items()},
            "forbidden": None if forbidden is None else [dict(rule) for rule in forbidden],
        }
        answer: _Json = self._post("decide", asked)
        answer.setdefault("event_id", event_id)
        return answer

    def observe(
        self,
        event_id: str,
        *,
        keys: Mapping[str, str] | None = None,
        next_state: Mapping[str, str] | None = None,
        rewards: Mapping[str, float] | None = None,
        levers: Mapping[str, str] | None = None,
        did: Mapping[str, str] | None = None,
        done: bool | None = None,
        correction: bool | None = None,
        observation_id: str | None = None,
    ) -> _Json:
        """Tells what came of a decision, or a part of it; what is left out is not known yet."""
        given = _observation(locals())
        answer: _Json = self._post("observe", given)
        return answer

    def observe_many(self, observations: Sequence[Mapping[str, Any]]) -> list[_Json]:
        """Many observations at once, each a mapping with the names of `observe`; a status for each, in their order."""
        given = [_observation(dict(one)) for one in observations]
        answer: list[_Json] = self._post("observe", given)
        return answer

    def close_episode(self, episode_id: str) -> _Json:
        """Closes an episode: its steps are learned from as they are."""
        answer: _Json = self._post(f"episodes/{quote(episode_id, safe='')}/close", {})
        return answer

    def episodes(self, limit: int = 100) -> list[_Json]:
        """Episodes, the latest first."""
        answer: list[_Json] = self._get("episodes", {"limit": limit})
        return answer

    def explain(self, event_id: str) -> _Json:
        """A past decision with its reasons."""
        answer: _Json = self._get(f"decisions/{quote(event_id, safe='')}")
        return answer

    def policies(self) -> Any:
        """The policies that were made."""
        return self._get("policies")

    def promote(self, version: int | str) -> _Json:
        """Lets another policy decide: its number, `"previous"` or `"latest"`."""
        answer: _Json = self._post("policies", {"version": version})
        return answer

    def mode(self) -> str:
        """Who decides: online, frozen, shadow, learn-only or stop."""
        mode: str = self._get("mode")["mode"]
        return mode

    def set_mode(self, mode: str) -> _Json:
        """Changes who decides; `"stop"` lets the baseline decide at once."""
        answer: _Json = self._post("mode", {"mode": mode})
        return answer

    def status(self) -> _Json:
        """How it goes: one sentence, who decides, what was paid and what is expected."""
        answer: _Json = self._json("GET", "")
        return answer

    def what_if(
        self, state: Mapping[str, str], intervention: Mapping[str, str] | None = None, stage: int | None = None
    ) -> _Json:
        """What an intervention would set off in a state, and what would be best."""
        asked = {
            "state": dict(state),
            "intervention": None if intervention is None else dict(intervention),
            "stage": stage,
        }
        answer: _Json = self._post("what-if", asked)
        return answer

    def export(self) -> str:
        """All that was decided and observed, as a log that `dowise.Log` reads once it is in a file."""
        return self._send("GET", "export", None)[1].decode()

    def delete_episode(self, episode_id: str) -> _Json:
        """Forgets an episode and what was learned from it."""
        answer: _Json = self._json("DELETE", f"episodes/{quote(episode_id, safe='')}")
        return answer

    def delete_subject(self, subject: str) -> _Json:
        """Forgets all episodes of a subject and what was learned from them."""
        answer: _Json = self._json("DELETE", f"subjects/{quote(subject, safe='')}")
        return answer

    def close(self) -> None:
        """Closes the connections; a closed client cannot be used again."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, set()
        for connection in opened:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str, query: Mapping[str, str | int] | None = None) -> Any:
        return self._json("GET", path + ("?" + urlencode(query) if query else ""))

    def _post(self, path: str, body: Any) -> Any:
        if isinstance(body, dict):
            body = {name: value for name, value in body.items() if value is not None}
        return self._json("POST", path, body)

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self._send(method, path, None if body is None else json.dumps(body).encode())[1])

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        until = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while True:
            if self._closed:
                raise ServiceError("this client was closed; make another one")
            try:
                connection = self._connection()
                connection.request(method, f"/v1/{self._world}/{path}".rstrip("/"), body, headers)
                response = connection.getresponse()
                status, answer = response.status, response.read()
                failed: ServiceError = _refused(status, answer)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                where = f"{self._host}:{self._port}" if self._port else self._host
                status, answer, failed = (
                    0,
                    b"",
                    ServiceError(f"{where} does not answer: {error or type(error).__name__}"),
                )
            if 200 <= status < 300:
                return status, answer
            if (status and status not in _AGAIN) or time.monotonic() >= until:
                raise failed
            # Clients that were refused together do not come back together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = kind(self._host, self._port, timeout=self._timeout)
            self._own.connection = connection
            with self._lock:
                self._opened.add(connection)
        return connection

    def _drop(self) -> None:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
            with self._lock:
                self._opened.discard(connection)


def _refused(status: int, answer: bytes) -> ServiceError:
    try:
        problem = json.loads(answer)
    except ValueError:
        problem = {}
    problem = problem if isinstance(problem, dict) else {}
    return ServiceError(f"the service says {status}: {problem.get('detail') or 'no reason given'}", status, problem)


_PARTS = ("event_id", "observation_id", "keys", "next_state", "rewards", "levers", "did", "done", "correction")


def _observation(given: dict[str, Any]) -> _Json:
    """An observation as it is sent, with an id of its own."""
    given = {name: value for name, value in given.items() if name != "self"}
    unknown = sorted(set(given) - set(_PARTS))
    if unknown:
        raise ValueError(f"an observation has no {', '.join(unknown)}; it has {', '.join(_PARTS)}")
    given = {name: given[name] for name in _PARTS if given.get(name) is not None}
    given.setdefault("observation_id", uuid.uuid4().hex)
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}


def _in_thread(
    method: Callable[Concatenate[Client, _P], _R],
) -> Callable[Concatenate[AsyncClient, _P], Coroutine[Any, Any, _R]]:
    @functools.wraps(method)
    async def later(self: AsyncClient, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        call = functools.partial(method, self._client, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    return later


class AsyncClient:
    """The same client for `asyncio`: every method is awaited; `connections` requests at most are under way at once."""

    def __init__(
        self,
        url: str,
        world: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: float = 30.0,
        connections: int = 32,
    ) -> None:
        self._client = Client(url, world, key=key, timeout=timeout, patience=patience)
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="dowise-client")

    decide = _in_thread(Client.decide)
    observe = _in_thread(Client.observe)
    observe_many = _in_thread(Client.observe_many)
    close_episode = _in_thread(Client.close_episode)
    episodes = _in_thread(Client.episodes)
    explain = _in_thread(Client.explain)
    policies = _in_thread(Client.policies)
    promote = _in_thread(Client.promote)
    mode = _in_thread(Client.mode)
    set_mode = _in_thread(Client.set_mode)
    status = _in_thread(Client.status)
    what_if = _in_thread(Client.what_if)
    export = _in_thread(Client.export)
    delete_episode = _in_thread(Client.delete_episode)
    delete_subject = _in_thread(Client.delete_subject)

    async def close(self) -> None:
        """Closes the connections when what is under way is answered."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
