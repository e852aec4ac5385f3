"""Speed of the page as its users meet it: measured with a bridge and a daemon of its own, sockets, and a browser.

The browser's figures need Chromium and Playwright (`pip install playwright`) and are left out without them.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from websockets.sync.client import connect

from plyd.clients.cli import PROGRAM
from plyd.clients.commands.bench import figure, percentile, running

NAME = "web"
GAME = "gomoku"
PAGES, PAGES_SECONDS = 50, 30.0
ANSWERS = 200
MOVES = 20
REVIEWED = "h8 i9 h10 h9 g9 f8 i11 f10 j12 k13 g10 i10 g8 g11 f9 a1 c1 e1 g1 i1 k1 m1 o1 b3 d3 f3 h3 j3 l3 n3 a5 c5 e5 g5 i5 k5 m5 o5 b15 d15 f15 h15 j15 l15 n15 a13 c13 e13 m13 o13 a11 c11 m11 o11 a9 c9 l9 n9 b7 d7".split()  # noqa: E501, SIM905
REVIEW_SECONDS = 0.2  # a ply
TRACE_SECONDS = 30.0  # for the browser to hand its trace over
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TRACED = {"includedCategories": ["toplevel"], "excludedCategories": ["*"]}  # of Chromium's trace: tasks of all threads
TASK, MAIN_THREAD = "ThreadControllerImpl::RunTask", "CrRendererMain"
COUNT_REPORTS = """() => {
    const app = window.plyd;
    window.seen = { reports: 0, answers: [] };
    const receive = app.socket.receive.bind(app.socket), show = app.showPosition.bind(app);
    let heard = 0;
    app.socket.receive = (message) => {
        if (message.report) { seen.reports++; if (message.report.final) heard = performance.now(); }
        return receive(message);
    };
    app.showPosition = (made) => {
        show(made);
        const from = heard;
        heard = 0;
        if (from && made?.length) requestAnimationFrame(() => setTimeout(() => seen.answers.push(performance.now() - from)));
    };
}"""  # noqa: E501


def measure(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Every figure of the page."""
    say("web: starting")
    with running(GAME) as target, bridge(target) as url:
        say("web: the socket")
        yield from socket_figures(url)
        say("web: a review")
        yield from review_figures(url)
        say(f"web: {PAGES} pages")
        yield from share_figures(url)
        if browser := next(filter(None, map(shutil.which, BROWSERS)), None):
            say("web: the browser")
            yield from browser_figures(url, browser)


@contextlib.contextmanager
def bridge(target: str) -> Iterator[str]:
    """A bridge on a free port; its URL, once its daemon is up."""
    command = [*PROGRAM, "web", "--connect", target, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().split()[-1]
            with contextlib.closing(SocketClient(url)):
                yield url
        finally:
            process.terminate()


class SocketClient:
    """A socket to the bridge, as a page has it."""

    def __init__(self, url: str) -> None:
        self._socket: Any = connect(f"ws{url.removeprefix('http')}/socket", compression=None).__enter__()
        self._last = 0
        while not self.hear().get("isComplete"):
            pass

    def hear(self, seconds: float = 60.0) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=seconds))
        return message

    def send(self, verb: str, **fields: Any) -> int:
        """Send a request; its number."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "do": verb, "position": {"game": GAME}, **fields}))
        return self._last

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """The last answer to a request."""
        number = self.send(verb, **fields)
        while True:
            message = self.hear()
            if message.get("id") == number and ("state" in message or message.get("report", {}).get("final")):
                return message

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def socket_figures(url: str) -> Iterator[dict[str, Any]]:
    """Round trips through the bridge."""
    with contextlib.closing(SocketClient(url)) as client:
        for verb, name, fields in (
            ("apply", "a move's new position, p50", {"moves": ["h8"]}),
            ("think", "a search of one node, p50", {"nodes": 1}),
        ):
            times = []
            for _ in range(ANSWERS):
                began = time.perf_counter()
                client.ask(verb, **fields)
                times.append((time.perf_counter() - began) * 1000)
            yield figure(NAME, name, percentile(times, 50), "ms")


def review_figures(url: str) -> Iterator[dict[str, Any]]:
    """The review of a game, and how much longer it takes than its searches on all slots."""
    with contextlib.closing(SocketClient(url)) as client:
        began = time.perf_counter()
        position = {"game": GAME, "start": "15x15", "moves": REVIEWED}
        turns = list(range(len(REVIEWED)))
        number = client.send("review", position=position, turns=turns, seconds=REVIEW_SECONDS, lines=8)
        while (message := client.hear()).get("id") != number or "turn" in message:
            pass
        seconds, slots = time.perf_counter() - began, os.cpu_count() or 1
    least = len(turns) * REVIEW_SECONDS / slots
    name = f"review of a {len(turns)}-ply game at {REVIEW_SECONDS:g} s a ply, {slots} slots"
    yield figure(NAME, name, seconds, "s", at_most=1.1 * least)


def share_figures(url: str) -> Iterator[dict[str, Any]]:
    """Pages that analyse at once: each one's share of the time, and the time to its first report."""
    reports, firsts, notices = [0] * PAGES, [PAGES_SECONDS] * PAGES, [0] * PAGES
    began = time.perf_counter()

    def analyse(number: int) -> None:
        with contextlib.closing(SocketClient(url)) as client:
            client.send("think", lines=5)
            while (left := PAGES_SECONDS - (time.perf_counter() - began)) > 0:
                with contextlib.suppress(TimeoutError):
                    message = client.hear(left)
                    notices[number] += "queue" in message
                    if "report" in message:
                        firsts[number] = min(firsts[number], time.perf_counter() - began)
                        reports[number] += 1

    threads = [threading.Thread(target=analyse, args=(number,)) for number in range(PAGES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served = sum(count > 0 for count in reports)
    yield figure(
        NAME, f"{PAGES} pages analyse for {PAGES_SECONDS:.0f} s: pages that got turns", served, "", at_least=PAGES
    )
    yield figure(NAME, "the least reports of a page, of the mean", min(reports) / statistics.mean(reports), "")
    yield figure(NAME, "the last page's first report", max(firsts), "s")
    told = sum(count > 0 for count in notices) / PAGES
    yield figure(NAME, "pages that were told their place in the queue", 100 * told, "%")


def browser_figures(url: str, browser: str) -> Iterator[dict[str, Any]]:
    """What a person sees: in headless Chromium, which draws without a graphics card."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        ready, sizes = [], 0
        for _ in range(6):
            page = chromium.new_context(viewport={"width": 1280, "height": 860}).new_page()
            began = time.perf_counter()
            page.goto(url)
            page.wait_for_selector("#board > *")
            ready.append(time.perf_counter() - began)
            sizes = page.evaluate(
                "() => performance.getEntries().reduce((sum, each) => sum + (each.decodedBodySize ?? 0), 0)"
            )
            page.context.close()
        yield figure(NAME, "page ready, with an empty cache, median of 5", statistics.median(ready[1:]), "s", at_most=1)
        yield figure(NAME, "page, everything together", sizes / 1000, "kB", at_most=400)
        page = chromium.new_page(viewport={"width": 1280, "height": 860})
        page.goto(url)
        page.wait_for_selector("#board > *")
        page.evaluate(COUNT_REPORTS)
        with traced_tasks(page) as tasks:
            page.check("#adviser")
            page.wait_for_function("() => seen.reports > 2")
            before, began = page.evaluate("() => seen.reports"), time.perf_counter()
            time.sleep(5)
            updates = (page.evaluate("() => seen.reports") - before) / (time.perf_counter() - began)
        yield figure(NAME, "analysis updates a second", updates, "/s", at_least=5)
        yield from task_figures(tasks)
        page.uncheck("#adviser")
        page.get_by_label("Strength", exact=True).select_option(label="100 ms a move")
        page.get_by_label("Black", exact=True).select_option(label="Engine")
        page.wait_for_function(f"() => seen.answers.length >= {MOVES} || plyd.mover() === 'nobody'", timeout=60_000)
        answers = page.evaluate("() => seen.answers")
        yield figure(NAME, "a move on screen after the engine's answer, p50", percentile(answers, 50), "ms")
        yield figure(NAME, "the same, slowest of 20", max(answers[:MOVES]), "ms", at_most=100)
        chromium.close()


@contextlib.contextmanager
def traced_tasks(page: Any) -> Iterator[list[tuple[float, float]]]:
    """A list that gets the tasks of the page's main thread during the `with`: milliseconds, and CPU time of them."""
    tasks: list[tuple[float, float]] = []
    events: list[dict[str, Any]] = []
    ends: list[object] = []
    session = page.context.new_cdp_session(page)
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    session.on("Tracing.tracingComplete", lambda data: ends.append(data))
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": TRACED})
    yield tasks
    session.send("Tracing.end")
    end = time.monotonic() + TRACE_SECONDS
    while not ends and time.monotonic() < end:
        page.wait_for_timeout(50)
    named = [each for each in events if each.get("name") == "thread_name" and each["args"]["name"] == MAIN_THREAD]
    threads = {(each["pid"], each["tid"]) for each in named}
    whole = [each for each in events if each.get("name") == TASK and each.get("ph") == "X"]
    ours = [each for each in whole if (each["pid"], each["tid"]) in threads]
    tasks += [(each["dur"] / 1000, each.get("tdur", 0) / 1000) for each in ours]
    session.detach()


def task_figures(tasks: list[tuple[float, float]]) -> Iterator[dict[str, Any]]:
    """The longest task, and whether the page's work made it long or the wait for a core."""
    wall, cpu = max(tasks, default=(0.0, 0.0))
    yield figure(NAME, "longest task while analysing", wall, "ms", at_most=50)
    yield figure(NAME, "CPU time of that task: the rest of it waits for a core", cpu, "ms")
    yield figure(NAME, "most CPU time of any task", max((each for _, each in tasks), default=0.0), "ms", at_most=50)
