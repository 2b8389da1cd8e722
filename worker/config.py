"""The worker's settings, read once at start from `RAG_*` environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from producer.config import ProducerConfig, read, setting
from producer.contract import require_collection
from producer.errors import InvalidRequest

LOCAL_URL_VARIABLE = "RAG_LOCAL_URL"
_SHORTEST_SECRET = 32


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"{text} is not a number from 1 up")
    return number


def _cosine(text: str) -> float:
    number = float(text)
    if not -1.0 <= number <= 1.0:
        raise ValueError(f"{text} is no cosine; write a number from -1 to 1")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{text} is no share; write a number from 0 to 1")
    return number


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not known; write {' or '.join(words)}")
        return text

    return parse


def _time_zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"{text!r} is no time zone; write a name such as America/New_York") from error


def _clock(text: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text):
        raise ValueError(f"{text!r} is no time of day; write it as 02:00")
    return text


def _folders(text: str) -> tuple[tuple[str, Path], ...]:
    """Read `handbook=/srv/handbook, rates=/srv/rates`."""
    folders = []
    for pair in text.split(","):
        collection, equals, folder = (part.strip() for part in pair.partition("="))
        if not equals or not folder:
            raise ValueError(f"{pair.strip()!r} is no pair; write collection=/folder, and a comma between pairs")
        try:
            folders.append((require_collection(collection), Path(folder)))
        except InvalidRequest as error:
            raise ValueError(str(error)) from error
    return tuple(folders)


def _secrets(text: str) -> tuple[str, ...]:
    secrets = tuple(text.split())
    if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(f"a secret has under {_SHORTEST_SECRET} characters; make one with: openssl rand -hex 32")
    return secrets


def _from_zero(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(f"{text} is not a number from 0 up")
    return number


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is no URL; write http://host:port/v1")
    if "@" in urlsplit(text).netloc:
        raise ValueError("holds a password, and an address is logged; use the setting for the key instead")
    return text.rstrip("/")


@dataclass(frozen=True, kw_only=True)
class WorkerConfig(ProducerConfig):
    """Everything that an operator can set; the README's table is checked against this class."""

    embed_model: str = setting(
        "RAG_EMBED_MODEL",
        explain="embedder: a local folder or a hub name; empty means all-MiniLM-L6-v2 out of its wheel",
        default="",
    )
    embed_query_prompt: str | None = setting(
        "RAG_EMBED_QUERY_PROMPT",
        explain="text put before a question when it is embedded; default: what the model itself asks for",
        default=None,
    )
    embed_passage_prompt: str | None = setting(
        "RAG_EMBED_PASSAGE_PROMPT",
        explain="text put before a chunk when it is embedded; default: what the model itself asks for",
        default=None,
    )
    device: str = setting(
        "RAG_DEVICE",
        explain="`cuda`, `cpu` or `auto`; `cuda` on a machine without CUDA is an error at start",
        default="auto",
        parse=_one_of("auto", "cpu", "cuda"),
    )
    local_url: str = setting(
        LOCAL_URL_VARIABLE,
        explain="the local model's OpenAI-compatible server (vLLM, llama.cpp, Ollama, NIM), with its `/v1`",
        default="http://127.0.0.1:8080/v1",
        parse=_url,
    )
    local_model: str = setting(
        "RAG_LOCAL_MODEL",
        explain="the model's name on that server; empty means the first one that the server lists",
        default="",
    )
    local_api_key: str = setting(
        "RAG_LOCAL_API_KEY", explain="the local server's key, where it wants one", default="", secret=True
    )
    local_context: int | None = setting(
        "RAG_LOCAL_CONTEXT",
        explain="tokens of prompt and answer together that it takes; default: what the server says, else 4096",
        default=None,
        parse=_count,
    )
    local_in_flight: int = setting(
        "RAG_LOCAL_IN_FLIGHT",
        explain="calls to the local server at once, a worker; further ones wait until their question's deadline",
        default=8,
        parse=_count,
    )
    constrained: str = setting(
        "RAG_CONSTRAINED",
        explain="`auto` lets the local model name no document but those shown, where its server can; or `off`",
        default="auto",
        parse=_one_of("auto", "off"),
    )
    repair_attempts: int = setting(
        "RAG_REPAIR_ATTEMPTS",
        explain="how often the local model is asked again where the check removed something; Claude never is",
        default=1,
        parse=_from_zero,
    )
    fallback: str = setting(
        "RAG_FALLBACK",
        explain="`extract` answers with sentences of the evidence where the check refused the draft; or `off`",
        default="off",
        parse=_one_of("extract", "off"),
    )
    claude_model: str = setting(
        "RAG_CLAUDE_MODEL", explain="the model for questions that choose Claude", default="claude-sonnet-5-5"
    )
    claude_url: str = setting(
        "RAG_CLAUDE_URL", explain="another address of Claude's API (a gateway)", default="", parse=_url
    )
    claude_api_key: str = setting(
        "RAG_CLAUDE_API_KEY",
        explain="Claude's key; without one, questions that choose Claude are refused",
        default="",
        secret=True,
    )
    top_k: int = setting("RAG_TOP_K", explain="passages shown to the model at most", default=4, parse=_count)
    evidence_tokens: int = setting(
        "RAG_EVIDENCE_TOKENS",
        explain="tokens that all passages together may have, as the embedder counts them",
        default=1500,
        parse=_count,
    )
    min_score: float | None = setting(
        "RAG_MIN_SCORE",
        explain="cosine below which a passage is no evidence; default: calibrated for the embedder",
        default=None,
        parse=_cosine,
    )
    answer_tokens: int = setting(
        "RAG_ANSWER_TOKENS", explain="tokens that the model may write", default=256, parse=_count
    )
    answer_concurrency: int = setting(
        "RAG_ANSWER_CONCURRENCY",
        explain="questions worked on at once; as many as the model server takes",
        default=8,
        parse=_count,
    )
    folders: tuple[tuple[str, Path], ...] = setting(
        "RAG_FOLDERS",
        explain="what the nightly job ingests: `handbook=/srv/handbook,rates=/srv/rates`",
        default=(),
        parse=_folders,
    )
    largest_loss: float = setting(
        "RAG_LARGEST_LOSS",
        explain="a folder that lost more than this share of its documents deletes nothing, and says so",
        default=0.5,
        parse=_share,
    )
    nightly_at: str = setting("RAG_NIGHTLY_AT", explain="when the nightly job runs", default="02:00", parse=_clock)
    time_zone: ZoneInfo = setting(
        "RAG_TIME_ZONE", explain="the time zone of that clock", default=ZoneInfo("UTC"), parse=_time_zone
    )
    ingest_memory: int = setting(
        "RAG_INGEST_MEMORY",
        explain="megabytes after which the ingest worker's process is replaced, once its ingest is done",
        default=6000,
        parse=_count,
    )
    redis_mark: float = setting(
        "RAG_REDIS_MARK",
        explain="share of Redis' memory above which nothing is ingested, so that questions still find room",
        default=0.8,
        parse=_share,
    )
    access_secrets: tuple[str, ...] = setting(
        "RAG_ACCESS_SECRET",
        explain="signs what `python -m worker grant` prints; from then on only apps with a grant are served; "
        "two with a space between, new and old, while one replaces the other",
        default=(),
        parse=_secrets,
        secret=True,
    )
    trace_dir: Path | None = setting(
        "RAG_TRACE_DIR",
        explain="for developers only: a folder where every prompt and raw draft is written, in clear text",
        default=None,
        parse=Path,
    )
    log_format: str = setting(
        "RAG_LOG_FORMAT",
        explain="the workers' and beat's log: `text`, or `json` for a line of JSON a record",
        default="text",
        parse=_one_of("text", "json"),
    )
    metrics_port: int | None = setting(
        "RAG_METRICS_PORT",
        explain="where a worker serves `/metrics` for Prometheus, a port for each worker; default: nowhere",
        default=None,
        parse=_count,
    )
    metrics_host: str = setting("RAG_METRICS_HOST", explain="the address that it serves them on", default="127.0.0.1")
    spans_url: str = setting(
        "RAG_SPANS_URL",
        explain="an OpenTelemetry collector: `http://host:4318/v1/traces`; needs the extra `otel`; default: no spans",
        default="",
        parse=_url,
    )
    data_dir: Path = setting(
        "RAG_DATA_DIR",
        explain="where workers say that they live, beat keeps its schedule and the embedded stack its data",
        default=Path(".rag"),
        parse=Path,
    )


def load(environment: Mapping[str, str] | None = None) -> WorkerConfig:
    """Read the settings; raises producer.errors.ConfigurationError that names every fault."""
    return read(WorkerConfig, environment)


@dataclass(frozen=True, kw_only=True)
class ModelServerConfig:
    """Settings of `python -m worker model`, the small model server of the embedded stack."""

    file: Path = setting(
        "RAG_MODEL_FILE",
        explain="the GGUF file that `python -m worker model` serves",
        default=Path(".models/SmolLM2-135M-Instruct.Q4_1.gguf"),
        parse=Path,
    )
    host: str = setting("RAG_MODEL_HOST", explain="the address it listens on", default="127.0.0.1")
    port: int = setting("RAG_MODEL_PORT", explain="its port", default=8080, parse=_count)
    context: int = setting(
        "RAG_MODEL_CONTEXT", explain="tokens of prompt and answer together, a question", default=4096, parse=_count
    )
    parallel: int = setting(
        "RAG_MODEL_PARALLEL", explain="questions that it answers at once", default=2, parse=_count
    )
    threads: int | None = setting(
        "RAG_MODEL_THREADS",
        explain="processor threads that it uses; default: half of the cores",
        default=None,
        parse=_count,
    )
