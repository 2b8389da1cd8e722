"""Questions and ingests while processes are killed, frozen and cut off: what is lost, done twice, torn or stuck.

`python -m benchmarks.chaos --seconds N --json FILE` runs the stack's own processes under a supervisor (`crew`), asks
and changes documents all the while (`traffic`), and does one fault after the other:

    worker      kill -9 of the answer worker            redis       kill -9 of Redis (append-only file on)
    ingest      kill -9 of the ingest worker            frozen      SIGSTOP of Redis
    child       kill -9 of the ingest worker's child    cut         CLIENT KILL of every connection
    term        SIGTERM of the answer worker            model_down  the model server refuses connections
    beat        kill -9 of one of two beats             model_slow  it takes ten times as long
    disk_full   no room for Redis' append-only file (only where a small file system can be mounted)

`lost` counts questions that have no end when all is quiet (an answer, or a failure or expiry that was told), `late`
those whose end the app did not wait for, `answered_twice` answers that another one has replaced since they were read,
`stuck` tasks that are left then, `model_calls_repeated` model calls beyond the first for a question.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import redis

from benchmarks.crew import Crew
from benchmarks.scripted_model import ScriptedModel
from benchmarks.tabulating import show, write
from benchmarks.traffic import Traffic, left_over
from worker.store import Store

ASKERS = 6
MODEL_SECONDS = 0.3
DEADLINE_SECONDS = 90.0
SETTLE_SECONDS = 90.0
LONGEST_FREEZE = 15.0
DISK_MEGABYTES = 512


class Chaos:
    """One run over one crew."""

    def __init__(
        self, crew: Crew, model: ScriptedModel, traffic: Traffic, small_disk: Path | None, *, between: float
    ) -> None:
        self._crew = crew
        self._between = between
        self._model = model
        self._traffic = traffic
        self._small_disk = small_disk
        self.faults: Counter[str] = Counter()
        self._all: dict[str, Callable[[], object]] = {
            "worker": lambda: crew.signal("answer", signal.SIGKILL),
            "redis": lambda: crew.signal("redis", signal.SIGKILL),
            "cut": self._cut,
            "child": lambda: crew.kill_children("ingest"),
            "frozen": lambda: self._frozen(random.uniform(1, min(2 * between, LONGEST_FREEZE))),
            "model_down": self._model_down,
            "ingest": lambda: crew.signal("ingest", signal.SIGKILL),
            "term": lambda: crew.signal("answer", signal.SIGTERM),
            "beat": lambda: crew.signal("beat", signal.SIGKILL),
            "model_slow": self._model_slow,
        }
        if small_disk:
            self._all["disk_full"] = self._disk_full

    @property
    def oddities(self) -> list[str]:
        """What is known of each wrong answer."""
        return self._traffic.oddities

    def run(self, seconds: float) -> None:
        """Ask and ingest for so long, a fault every `between` seconds; return when every question has its end."""
        end = time.monotonic() + seconds
        with self._crew.watching(), ThreadPoolExecutor(ASKERS + 1) as pool:
            work = [pool.submit(self._ask_until, end, asker) for asker in range(ASKERS)]
            work.append(pool.submit(self._ingest_until, end))
            self._break_things(end)
            for done in work:
                done.result()
            self._settle()

    def figures(self) -> dict[str, float]:
        """What became of everything."""
        counts, seconds = self._traffic.counts, sorted(self._traffic.seconds) or [0.0]
        names = ("answered", "failed", "expired", "late", "not_sent", "torn", "wrong", "ingests")
        with self._crew.client() as client:
            stuck, changed = left_over(client), self._traffic.changed(client)
            lost = self._traffic.without_end(client)
        return {
            **{{"torn": "torn_answers"}.get(name, name): counts[name] for name in names},
            "lost": len(lost),
            "answered_twice": changed,
            "stuck": stuck,
            "model_calls": self._model.asked.total(),
            "model_calls_repeated": self._model.asked.total() - len(self._model.asked),
            "nights": self._nights(),
            "faults": self.faults.total(),
            "p50_s": statistics.median(seconds),
            "p95_s": seconds[int(0.95 * (len(seconds) - 1))],
            "max_s": seconds[-1],
        }

    def _nights(self) -> int:
        """Return whether the night's collection was ingested."""
        store = Store.connect(self._crew.url)
        try:
            return int(bool(store.facts("night").ingested_at))
        finally:
            store.close()

    def _ask_until(self, end: float, asker: int) -> None:
        for turn in itertools.count():
            if time.monotonic() > end:
                return
            self._traffic.ask(turn * ASKERS + asker)
            time.sleep(random.uniform(0.0, 0.4))

    def _ingest_until(self, end: float) -> None:
        while time.monotonic() < end:
            self._traffic.ingest()
            time.sleep(1.0)

    def _break_things(self, end: float) -> None:
        todo: list[str] = []
        while time.monotonic() + self._between < end:
            time.sleep(self._between)
            todo = todo or random.sample(list(self._all), len(self._all))
            self.faults[todo[-1]] += 1
            # What it was meant for may be dead already, of the fault before.
            with suppress(ProcessLookupError, KeyError, redis.RedisError):
                self._all[todo.pop()]()

    def _settle(self) -> None:
        end = time.monotonic() + SETTLE_SECONDS
        with self._crew.client() as client:
            while time.monotonic() < end:
                time.sleep(0.5)
                with suppress(redis.RedisError):
                    if not left_over(client):
                        return

    def _frozen(self, seconds: float) -> None:
        pid = self._crew.pid("redis")
        self._crew.signal("redis", signal.SIGSTOP)
        time.sleep(seconds)
        if self._crew.pid("redis") == pid:
            self._crew.signal("redis", signal.SIGCONT)

    def _cut(self) -> None:
        with self._crew.client() as client:
            client.client_kill_filter(skipme=True, _type="normal")

    def _model_down(self) -> None:
        self._model.stop()
        time.sleep(3)
        self._model.start()

    def _model_slow(self) -> None:
        self._model.seconds = 10 * MODEL_SECONDS
        time.sleep(5)
        self._model.seconds = MODEL_SECONDS

    def _disk_full(self) -> None:
        assert self._small_disk is not None
        ballast = self._small_disk / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        time.sleep(5)
        ballast.unlink()


def measure(
    seconds: float, *, app: str, between: float, visibility: float | None, logs: Path | None = None
) -> tuple[dict[str, float], Chaos]:
    """Run it all in a folder of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = ScriptedModel(seconds=MODEL_SECONDS)
        stack.callback(model.stop)
        (folder / "plans").mkdir()
        settings = {"RAG_LOCAL_URL": model.url, "RAG_FOLDERS": f"night={folder / 'plans'}", "OMP_NUM_THREADS": "1"}
        if visibility:
            settings["LIGHT_VISIBILITY"] = str(visibility)
        small_disk = _small_disk(folder / "crew" / "redis", stack)
        crew = Crew(folder / "crew", app=app, settings=settings)
        if logs:
            stack.callback(shutil.copytree, folder / "crew" / "logs", logs, dirs_exist_ok=True)
        stack.callback(crew.stop)
        crew.start("redis", "answer", "ingest")
        traffic = Traffic(crew.url, folder / "plans", deadline=DEADLINE_SECONDS)
        stack.callback(traffic.close)
        traffic.ingest()
        crew.start("beat")
        crew.start_another("beat", "beat2")
        chaos = Chaos(crew, model, traffic, small_disk, between=between)
        chaos.run(seconds)
        try:
            return chaos.figures(), chaos
        except redis.ConnectionError:
            sys.exit(f"Redis never came back; --logs keeps its log. What the supervisor saw last: {crew.said[-3:]}")


def _small_disk(folder: Path, stack: ExitStack) -> Path | None:
    """Mount a small file system there, where this user and this machine can."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=False)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--between", type=float, default=7.0, help="seconds from one fault to the next")
    parser.add_argument("--app", default="benchmarks.light", help="worker.app: with the real embedder and index")
    parser.add_argument("--visibility", type=float, help="of the light app; default: the workers' own")
    parser.add_argument("--logs", type=Path, help="a folder for the processes' logs")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures, chaos = measure(
        arguments.seconds,
        app=arguments.app,
        between=arguments.between,
        visibility=arguments.visibility,
        logs=arguments.logs,
    )
    show("what became of it", ["figure", "value"], list(figures.items()))
    show("faults", ["fault", "times"], list(chaos.faults.items()))
    show("told to the app", ["error", "times"], list(chaos._traffic.errors.items()))
    show("wrong answers", ["what"], [[oddity] for oddity in chaos.oddities])
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
