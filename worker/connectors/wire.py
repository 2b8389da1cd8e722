"""JSON in, JSON out, over HTTP to a server of the operator's own; every fault of the wire is one typed error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import httpx

from worker.connectors.calls import read_within, retry_after, seconds_left
from worker.errors import (
    DeadlineExceeded,
    ModelAnswerInvalid,
    ModelBusy,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
)

_CONNECT_SECONDS = 3.0
# Shorter than the servers' own patience (5 seconds): a connection that the server is closing is not used again.
_KEPT_SECONDS = 4.0


class Wire:
    """One pool of connections, shared by all threads. It follows no redirect and no proxy of the environment.

    Both would take a question elsewhere than to the server that the operator named.
    """

    def __init__(self, *, api_key: str, connections: int) -> None:
        self._client = httpx.Client(
            headers={"Content-Type": "application/json"} | _authorization(api_key),
            limits=httpx.Limits(max_connections=connections, keepalive_expiry=_KEPT_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )

    def get(self, url: str, *, deadline: float) -> Mapping[str, Any]:
        """Fetch a JSON object; raises as `post` does."""
        return self._call("GET", url, None, deadline)

    def post(self, url: str, body: Mapping[str, Any], *, deadline: float) -> Mapping[str, Any]:
        """Send a JSON object and return the one that comes back.

        Raises ModelUnreachable, ModelUnavailable, ModelBusy, ModelRefused, ModelAnswerInvalid, DeadlineExceeded.
        """
        return self._call("POST", url, body, deadline)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _call(self, method: str, url: str, body: object, deadline: float) -> Mapping[str, Any]:
        with _translated(url), closing(self._send(method, url, body, seconds_left(deadline))) as response:
            _require_success(url, response)
            answer = read_within(response.iter_bytes(), deadline)
        return _object(answer)

    def _send(self, method: str, url: str, body: object, seconds: float) -> httpx.Response:
        """Return the answer as soon as it begins; until then nothing is lost by trying again."""
        # Escaped, so that half a surrogate pair in somebody's question is sent and not stumbled over.
        content = None if body is None else json.dumps(body).encode()
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        request = self._client.build_request(method, url, content=content, timeout=timeout)
        try:
            return self._client.send(request, stream=True)
        except (httpx.ConnectTimeout, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            kind = type(error).__name__
            raise ModelUnreachable(
                f"no connection to the model server at {url} ({kind}); see RAG_LOCAL_URL"
            ) from error


def _authorization(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise DeadlineExceeded(f"the model server at {url} did not answer in time") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ModelUnavailable(f"no answer from the model server at {url}: {type(error).__name__}") from error


def _require_success(url: str, response: httpx.Response) -> None:
    status = response.status_code
    said = f"the model server at {url} answered {status}"
    if status in (429, 503):
        raise ModelBusy(f"{said}; ask again later", retry_after=retry_after(response.headers.get("Retry-After")))
    if status >= 500:
        raise ModelUnavailable(f"{said}; see its log")
    if not response.is_success:
        raise ModelRefused(f"{said}; check RAG_LOCAL_URL, RAG_LOCAL_MODEL and RAG_LOCAL_API_KEY")


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelAnswerInvalid("the model server's answer is no JSON") from error
    if not isinstance(value, Mapping):
        raise ModelAnswerInvalid("the model server's answer is no JSON object")
    return value
