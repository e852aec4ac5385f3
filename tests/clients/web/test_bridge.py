"""The bridge over real sockets, with fake engines behind it: what a page may say, what it hears, and who else may."""

import contextlib
import json
import socket
import urllib.error
import urllib.request

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from plyd.clients.web import fair_queue, search_stream
from plyd.clients.web.app import STATIC, make_app
from plyd.clients.web.cli import MAX_MESSAGE_BYTES
from plyd.servers.search.known import reports as known_reports
from plyd.servers.search.known.store import ReportStore
from tests.patience import LONG, SOON, until
from tests.ports import free_place
from tests.servers.daemons import House, OpenDaemon
from tests.servers.fakes import FakeEngine, FastEndlessEngine

FOR_EVER = {"reports": "1000000", "seconds_per_report": "0.01"}


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    """Searches give way soon, so that no test waits for it."""
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 0.05)


@pytest.fixture(scope="module")
def house():
    house = House()
    yield house
    house.close()


class Bridge:
    """A bridge on a socket of its own."""

    def __init__(self, house, *targets, names=(), port=0, static=STATIC):
        listener = socket.create_server(("127.0.0.1", port))
        self.host = f"127.0.0.1:{listener.getsockname()[1]}"
        self.url = f"http://{self.host}"
        app = make_app(targets, names, static)
        config = uvicorn.Config(app, ws_max_size=MAX_MESSAGE_BYTES, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._serving = house.begin(self._server.serve(sockets=[listener]))
        until(lambda: self._server.started)

    def close(self):
        self._server.should_exit = True
        self._serving.result(SOON)

    def get(self, path="/", **headers):
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=SOON) as answer:
            return answer.status, dict(answer.headers), answer.read()

    def post(self, path, data, **headers):
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=SOON) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()


class Page:
    """A socket, as a page has it; use it in a `with`."""

    def __init__(self, bridge, origin=None, **settings):
        self.socket = connect(
            f"ws://{bridge.host}/socket",
            origin=origin,
            compression=None,
            open_timeout=SOON,
            close_timeout=0.5,
            legacy=True,
            **settings,
        )
        self.last = 0
        self.games = None

    def __enter__(self):
        until(lambda: self.hear_games()["isComplete"])
        return self

    def __exit__(self, *_):
        self.socket.close()

    def hear(self):
        return json.loads(self.socket.recv(timeout=SOON))

    def hear_games(self):
        self.games = self.hear()
        assert "games" in self.games
        return self.games

    def send(self, verb, **fields):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "do": verb, **fields}))
        return self.last

    def answer(self, number):
        """The next words that answer a request."""
        while True:
            words = self.hear()
            if words.get("id") == number:
                return words

    def ask(self, verb, **fields):
        return self.answer(self.send(verb, **fields))

    def think(self, **fields):
        return self.send("think", position={"game": "sticks"}, **fields)

    def final(self, number):
        """All reports of a search, the last one final; what is said of the queue is left out."""
        reports = []
        while not reports or not reports[-1]["final"]:
            words = self.answer(number)
            assert "error" not in words, words
            if "report" in words:
                reports.append(words["report"])
        return reports


@pytest.fixture(scope="module")
def sticks(house):
    with OpenDaemon(house, FakeEngine(), slots=1, queue_size=2, max_sessions=300) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def bridge(house, sticks):
    bridge = Bridge(house, sticks.target)
    yield bridge
    bridge.close()


@pytest.fixture
def page(bridge, sticks):
    sticks.engine.asked.clear()
    with Page(bridge) as page:
        yield page
    until(lambda: sticks.searches.running == sticks.searches.waiting == 0)


def test_a_page_hears_at_once_what_is_served(page):
    [card] = page.games["games"]
    assert (card["game"], card["title"], card["isThere"], card["formats"]) == (
        "sticks",
        "Sticks",
        True,
        ["text"],
    )
    assert [option["name"] for option in card["options"]][:2] == ["reports", "seconds_per_report"]


def test_a_position_is_told_as_the_rules_see_it(page):
    state = page.ask("apply", position={"game": "sticks"}, moves=["2", "1"])["state"]
    assert state["position"] == {"game": "sticks", "variant": "normal", "start": "7 one", "moves": ["2", "1"]}
    assert (state["text"], state["toMove"], state["outcome"]) == ("4 one", "one", "ongoing")
    assert (state["rows"], state["columns"], state["cells"]) == (1, 4, ["|"] * 4)
    assert state["legal"] == [
        {"move": "1", "kind": "cell", "cells": [3]},
        {"move": "2", "kind": "cell", "cells": [2]},
    ]
    over = page.ask("apply", position={"game": "sticks", "start": "1 two"}, moves=["1"])["state"]
    assert (over["outcome"], over["toMove"], over["legal"]) == ("two", "", [])


def test_a_search_reports_and_ends_with_exactly_one_final_report(page):
    reports = page.final(page.think(options={"reports": "3", "seconds_per_report": "0.05"}))
    assert [report["final"] for report in reports] == [False] * (len(reports) - 1) + [True]
    last = reports[-1]
    assert last["keptNodes"] == 0
    assert (last["move"], last["nodes"], last["reason"]) == ("2", 3, "finished")
    assert last["score"] == {"side": "two", "exact": False, "kind": "win", "value": 0.625}
    assert last["lines"] == [
        {"moves": ["2"], "score": last["score"], "visits": 3, "depth": 2, "probability": 0.25, "prior": 0.75}
    ]


def test_options_are_texts_numbers_and_booleans(page):
    for reports, fails in (("2", "false"), (2, False)):
        assert page.final(page.think(options={"reports": reports, "fail": fails}))[-1]["nodes"] == 2


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("points", {"kind": "points", "value": 12.5}),
        ("proven", {"kind": "proven", "result": "loss", "plies": 3}),
        ("unreachable", {"kind": "unreachable"}),
    ],
)
def test_every_kind_of_score_has_its_words(page, kind, words):
    [report] = page.final(page.think(options={"score": kind}))
    assert words.items() <= report["score"].items()


def test_a_search_keeps_to_its_limits(page, sticks):
    page.final(page.think(seconds=0.05, nodes=7, depth=9, lines=3, options=FOR_EVER))
    limits = sticks.engine.asked[-1].limits
    assert (limits.max_nodes, limits.max_depth, limits.max_lines) == (7, 9, 3)
    assert limits.max_seconds <= 0.05


def test_stop_ends_a_search_with_what_it_has(page):
    number = page.think(options=FOR_EVER)
    page.answer(number)
    stop = page.send("stop")
    assert page.final(number)[-1]["reason"] == "stopped"
    assert page.answer(stop) == {"id": stop, "ok": True}
    assert page.ask("stop")["ok"]


def test_a_new_search_takes_the_place_of_one_that_runs(page):
    first = page.think(options=FOR_EVER)
    page.answer(first)
    second = page.think(nodes=1)
    assert page.final(first)[-1]["final"]
    assert page.final(second)[-1]["nodes"] <= 1


def test_of_many_searches_at_once_each_ends_and_the_last_one_counts(page):
    first = page.think(options=FOR_EVER)
    page.answer(first)
    numbers = [page.think(options=FOR_EVER) for _ in range(4)]
    last, heard = numbers[-1], []
    while not any(words["id"] == last and "report" in words for words in heard):
        heard.append(page.hear())
    ended = {words["id"] for words in heard if words.get("ended") or words.get("report", {}).get("final")}
    assert ended == {first, *numbers[:-1]}


def test_stop_then_think_and_think_then_stop(page):
    page.answer(page.think(options=FOR_EVER))
    stop, second = page.send("stop"), page.think(options=FOR_EVER)
    heard = []
    while not any(words["id"] == second and "report" in words for words in heard):
        heard.append(page.hear())
    assert any(words == {"id": stop, "ok": True} for words in heard)
    third, stop = page.think(options=FOR_EVER), page.send("stop")
    heard = []
    while not any(words == {"id": stop, "ok": True} for words in heard):
        heard.append(page.hear())
    assert any(words["id"] == third and (words.get("ended") or words["report"]["final"]) for words in heard)


def test_a_search_that_is_stopped_before_the_one_before_it_has_ended_has_a_move(page):
    page.answer(page.think(options=FOR_EVER))
    last, stop = page.think(options=FOR_EVER), page.send("stop")
    report = page.final(last)[-1]
    assert (report["final"], report["reason"]) == (True, "stopped")
    assert report["move"]
    assert page.answer(stop)["ok"]


def test_a_search_that_cannot_be_is_refused_and_the_next_one_runs(page):
    page.answer(page.think(options=FOR_EVER))
    wrong = page.think(nodes=-1)
    assert "nodes is -1" in page.answer(wrong)["error"]["message"]
    assert page.final(page.think(nodes=1))[-1]["final"]


def test_a_game_is_followed_on_one_stream_so_that_what_was_learned_is_kept(page, sticks):
    made = sticks.engine.searchers
    for moves in ([], ["2"], ["2", "1"], ["2"], ["1", "1"]):
        page.final(page.send("think", position={"game": "sticks", "start": "7 one", "moves": moves}, nodes=1))
        assert sticks.engine.asked[-1].position.left == 7 - sum(map(int, moves))
    assert sticks.engine.searchers == made + 1
    page.final(page.send("think", position={"game": "sticks", "start": "5 one"}, nodes=1))
    assert sticks.engine.searchers == made + 2


def test_a_closed_tab_frees_its_slot_at_once(bridge, sticks):
    with Page(bridge) as page:
        page.answer(page.think(options=FOR_EVER))
        assert sticks.searches.running == 1
    until(lambda: sticks.searches.running == 0)


def test_two_tabs_that_analyse_without_end_take_turns(bridge):
    with Page(bridge) as one, Page(bridge) as other:
        mine, theirs = one.think(options=FOR_EVER), other.think(options=FOR_EVER)
        for page, number in ((one, mine), (other, theirs), (one, mine), (other, theirs)):
            heard = []
            while {"queue", "report"} - {name for words in heard for name in words}:
                heard.append(page.answer(number))  # it has reported, and it has waited
            assert not any("error" in words or words.get("report", {}).get("final") for words in heard)


def test_a_timed_search_that_gives_way_still_searches_all_of_its_time(bridge, sticks):
    with Page(bridge) as one, Page(bridge) as other:
        other.answer(other.think(options=FOR_EVER))
        sticks.engine.asked.clear()
        timed, has_begun, has_given_way = one.think(seconds=1, options=FOR_EVER), False, False
        while not has_given_way:
            message = one.answer(timed)
            has_begun = has_begun or "report" in message
            has_given_way = has_begun and bool(message.get("queue"))
        other.send("stop")
        assert one.final(timed)[-1]["reason"] == "time"
        budgets = [asked.limits.max_seconds for asked in sticks.engine.asked]
        assert any(budget is not None and budget < 0.97 for budget in budgets)


def heard_of(page, number):
    """What answers a review, to its end."""
    heard = [page.answer(number)]
    while "turn" in heard[-1]:
        heard.append(page.answer(number))
    return heard


GAME = {"game": "sticks", "start": "7 one", "moves": ["2", "1", "2", "2"]}


def test_a_review_answers_every_turn_once_and_then_ends(page, sticks):
    number = page.send("review", position=GAME, turns=[0, 1, 2, 3, 4], nodes=3)
    *turns, end = heard_of(page, number)
    assert end == {"id": number, "ok": True}
    assert sorted(each["turn"] for each in turns) == [0, 1, 2, 3, 4]
    assert all(each["report"]["final"] for each in turns)
    reports = {each["turn"]: each["report"] for each in turns}
    assert reports[4]["move"] is None  # the game is over
    assert sorted(asked.position.left for asked in sticks.engine.asked) == [0, 2, 4, 5, 7]


def test_a_review_reads_the_store_of_the_daemon(house, tmp_path, monkeypatch):
    monkeypatch.setattr(known_reports, "LOOKUP_SECONDS", SOON)
    review = {"position": GAME, "turns": [0, 1, 2, 3], "seconds": 60, "lines": 2}
    found = []
    for _ in range(2):
        with OpenDaemon(house, FakeEngine(), store=ReportStore(str(tmp_path / "reports.db"), 100)) as daemon:
            bridge = Bridge(house, daemon.target)
            with Page(bridge) as page:
                *turns, end = heard_of(page, page.send("review", **review))
                assert end["ok"]
                found.append({each["turn"]: each["report"] for each in turns})
                asked = len(daemon.engine.asked)
                assert asked == (4 if len(found) == 1 else 0)
                page.final(page.send("think", position=GAME, seconds=60, lines=2))
                assert len(daemon.engine.asked) == asked + 1, "a game's own search leaves its tree: it is searched"
            bridge.close()
    assert found[0] == found[1]


def test_a_search_that_gave_way_is_not_answered_by_what_it_left_in_the_store(house, tmp_path, monkeypatch):
    monkeypatch.setattr(known_reports, "LOOKUP_SECONDS", SOON)
    store = ReportStore(str(tmp_path / "reports.db"), 100)
    with OpenDaemon(house, FakeEngine(), store=store) as daemon:
        bridge = Bridge(house, daemon.target)
        with Page(bridge) as page, Page(bridge) as other:
            other.think(options=FOR_EVER)
            number = page.send("review", position=GAME, turns=[0], seconds=0.5, options=FOR_EVER)
            [turn, _] = heard_of(page, number)
            other.send("stop")
            assert turn["report"]["reason"] == "time"
            pieces = [asked.limits.max_seconds for asked in daemon.engine.asked if asked.limits.max_seconds]
            assert len(pieces) > 1, "it gave way, and went on"
            assert not daemon.runtime.observer.metrics.known["sticks"]
        bridge.close()


def test_a_search_whose_time_is_over_when_it_gives_way_ran_out_of_time(house, monkeypatch):
    monkeypatch.setattr(search_stream, "MIN_SECONDS", SOON)  # so that it ends when it first gives way
    with OpenDaemon(house, FakeEngine()) as daemon:
        bridge = Bridge(house, daemon.target)
        with Page(bridge) as page, Page(bridge) as other:
            other.think(options=FOR_EVER)
            number = page.send("review", position=GAME, turns=[0], seconds=SOON, options=FOR_EVER)
            [turn, _] = heard_of(page, number)
            assert turn["report"]["reason"] == "time"
        bridge.close()


def test_a_review_can_be_ended_and_gives_way_to_the_next_and_to_searches(page):
    review = {"position": GAME, "turns": [0, 1], "options": FOR_EVER}
    first, second = page.send("review", **review), page.send("review", **review)
    assert heard_of(page, first) == [{"id": first, "ok": True}]
    assert page.final(page.think(nodes=1))[-1]["final"]  # the only slot is shared
    end = page.send("unreview")
    assert heard_of(page, second) == [{"id": second, "ok": True}]
    assert page.answer(end) == {"id": end, "ok": True}
    assert page.ask("unreview")["ok"]


def test_pages_that_share_a_game_hear_of_each_other_and_the_first_change_counts(bridge, page):
    room = "abcdefgh-ABCDEFGH"
    assert page.ask("join", room=room)["shared"] == {"room": room, "version": 0, "record": None, "pages": 1}
    with Page(bridge) as other:
        assert other.ask("join", room=room)["shared"]["pages"] == 2
        assert page.hear() == {"shared": {"room": room, "version": 0, "record": None, "pages": 2}}
        assert page.ask("share", room=room, version=0, record={"moves": ["2"]})["shared"]["version"] == 1
        assert other.hear()["shared"]["record"] == {"moves": ["2"]}
        late = other.ask("share", room=room, version=0, record={"moves": ["1"]})["shared"]
        assert (late["version"], late["record"]) == (1, {"moves": ["2"]})
    assert page.hear()["shared"]["pages"] == 1
    for name, record, message in (
        ("x", {}, "room is 'x'"),
        (room, [], "record is []"),
        (room, {"a": "b" * 70_000}, "record is"),
    ):
        assert message in page.ask("share", room=name, version=1, record=record)["error"]["message"]


def test_a_review_that_cannot_be_is_refused(page):
    for turns in ([5], [-1], "0", [True], None):
        message = page.ask("review", position=GAME, turns=turns)["error"]["message"]
        assert message.endswith("allowed is a list of whole numbers from 0 to 4")
    wrong = page.send("review", position=GAME | {"moves": ["2", "9"]}, turns=[2], nodes=1)
    assert "9" in heard_of(page, wrong)[-1]["error"]["message"]


def test_who_stops_while_waiting_is_told_that_nothing_came_of_it(bridge, monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", LONG)
    with Page(bridge) as one, Page(bridge) as other, Page(bridge) as third:
        one.answer(one.think(options=FOR_EVER))
        waiting = other.think(options=FOR_EVER)
        assert other.answer(waiting) == {"id": waiting, "queue": 1}
        behind = third.think(options=FOR_EVER)
        assert third.answer(behind) == {"id": behind, "queue": 2}
        stop = other.send("stop")
        assert other.answer(waiting) == {"id": waiting, "ended": True}
        assert other.answer(stop)["ok"]
        assert third.answer(behind) == {"id": behind, "queue": 1}


def test_who_stops_before_waiting_is_told_so_too_and_does_not_wait(bridge, monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", LONG)
    with Page(bridge) as one, Page(bridge) as other:
        one.answer(one.think(options=FOR_EVER))
        first = other.think(options=FOR_EVER)
        assert other.answer(first) == {"id": first, "queue": 1}
        last, stop = other.think(options=FOR_EVER), other.send("stop")
        assert other.answer(last) == {"id": last, "ended": True}
        assert other.answer(stop)["ok"]


BAD = [
    ("", "not JSON: ''"),
    ("{", "not JSON: '{'"),
    ("[" * 100_000, "not JSON"),
    ("[1]", "a request is an object, not '[1]'"),
    ('{"do": "apply"}', "id is None; allowed is a whole number from 0"),
    ('{"id": true, "do": "apply"}', "id is True"),
    ('{"id": 1e3, "do": "apply"}', "id is 1000.0"),
    ('{"id": 1}', "do is None; allowed is apply, think, stop"),
    ('{"id": 1, "do": "rm"}', "do is 'rm'; allowed is apply, think, stop"),
    ('{"id": 1, "do": 7}', "do is 7; allowed is apply, think, stop"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "seconds": 1' + "0" * 400 + "}", "seconds is 1000"),
    ('{"id": 1, "do": "apply"}', "position is None; allowed is an object with game"),
    ('{"id": 1, "do": "apply", "position": {}}', "no daemon serves ''; games are sticks"),
    ('{"id": 1, "do": "apply", "position": {"game": "go"}}', "no daemon serves 'go'; games are sticks"),
    ('{"id": 1, "do": "apply", "position": {"game": 5}}', "game is 5; allowed is a text"),
    ('{"id": 1, "do": "apply", "position": {"game": "sticks", "start": "x"}}', 'cannot read "x"'),
    ('{"id": 1, "do": "apply", "position": {"game": "sticks"}, "moves": ["9"]}', 'illegal move "9"'),
    ('{"id": 1, "do": "apply", "position": {"game": "sticks"}, "moves": "2"}', "moves is '2'; allowed is a list"),
    ('{"id": 1, "do": "apply", "position": {"game": "sticks"}, "chance": 1}', "chance is 1; allowed is true or false"),
    ('{"id": 1, "do": "apply", "position": {"game": "sticks", "start": "\\ud800"}}', "whole characters"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "seconds": -1}', "seconds is -1; allowed is 0 to 300"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "seconds": NaN}', "seconds is nan"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "seconds": true}', "seconds is True"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "nodes": 0}', "nodes is 0; allowed is a whole number"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "lines": 65}', "lines is 65"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "options": []}', "options is []"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "options": {"x": [1]}}', "option x is [1]"),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "options": {"x": null}}', "option x is None"),
    (
        '{"id": 1, "do": "think", "position": {"game": "sticks"}, "options": {"reports": NaN}}',
        'option reports is "nan"',
    ),
    ('{"id": 1, "do": "think", "position": {"game": "sticks"}, "options": {"x": "1"}}', "unknown option"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_used_is_explained_and_the_socket_stays_open(page, text, message):
    page.socket.send(text)
    error = page.hear()["error"]
    assert message in error["message"]
    assert len(error["message"]) < 300
    assert page.ask("apply", position={"game": "sticks"})["state"]["text"] == "7 one"


def test_a_fault_of_the_engine_is_told_without_its_secrets(page):
    words = page.answer(page.think(options={"fail": "true"}))
    assert words["error"]["kind"] == "DaemonFault"
    assert "secret" not in json.dumps(words)


def test_a_page_with_too_much_under_way_is_refused_and_recovers(page):
    page.think(options=FOR_EVER)
    numbers = [page.send("apply", position={"game": "sticks"}) for _ in range(100)]
    answers = {words["id"]: words for words in (page.hear() for _ in range(100)) if words["id"] in numbers}
    while len(answers) < 100:
        words = page.hear()
        if words["id"] in numbers:
            answers[words["id"]] = words
    refused = [words["error"]["message"] for words in answers.values() if "error" in words]
    assert refused
    assert all("the most allowed for one page" in message for message in refused)
    assert page.ask("apply", position={"game": "sticks"})["state"]


def test_a_message_that_is_too_large_ends_the_socket_and_no_other(bridge, page):
    with Page(bridge) as large:
        large.socket.send("x" * (MAX_MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed, match="1009"):
            large.hear()
    assert page.ask("apply", position={"game": "sticks"})["state"]


def test_binary_frames_end_the_socket_and_no_other(bridge, page):
    with Page(bridge) as binary:
        binary.socket.send(b"\x00\x01")
        with pytest.raises(ConnectionClosed):
            binary.hear()
    assert page.ask("apply", position={"game": "sticks"})["state"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:1", "http://localhost:1", "null", "x", "http://["]
)
def test_a_page_of_another_site_is_turned_away(bridge, origin):
    with pytest.raises(InvalidStatus, match="403"):
        Page(bridge, origin=origin)
    status, _, body = bridge.post("/export", b"{}", Origin=origin)
    assert status == 403
    assert b"may not talk to this bridge" in body


def test_our_own_page_is_let_in(bridge):
    with Page(bridge, origin=bridge.url) as page:
        assert page.ask("apply", position={"game": "sticks"})["state"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "[", "10.0.0.1"])
def test_a_name_that_is_not_ours_is_turned_away(bridge, host):
    with pytest.raises(urllib.error.HTTPError, match=r"403|400"):
        bridge.get(Host=host)


def test_further_names_of_this_machine_may_be_given(house, sticks):
    bridge = Bridge(house, sticks.target, names=["plyd.test"])
    try:
        assert bridge.get(Host="plyd.test:80")[0] == 200
        assert bridge.get(Host="localhost")[0] == 200
    finally:
        bridge.close()


def test_the_page_may_load_from_here_and_nowhere_else(bridge):
    status, headers, body = bridge.get()
    assert status == 200
    assert b"<title>plyd</title>" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/app.py", "/static/", "/nothing"])
def test_nothing_but_the_page_is_served(bridge, path):
    with pytest.raises(urllib.error.HTTPError, match=r"404|405"):
        bridge.get(path)


def test_games_are_written_to_files_and_read_again(bridge, page):
    record = {
        "game": "sticks",
        "variant": "greedy",
        "start": "7 one",
        "moves": ["1", "3"],
        "players": ["You", "plyd"],
    }
    status, headers, data = bridge.post("/export", json.dumps({"record": record, "format": "text"}).encode())
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="sticks.txt"')
    assert b"game: sticks" in data
    status, _, body = bridge.post("/import?name=mine.txt", data)
    words = json.loads(body)
    assert status == 200
    assert (words["game"], words["start"], words["moves"]) == ("sticks", "7 one", ["1", "3"])


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        ("/export", b"", "not a record"),
        ("/export", b"[]", "not a record"),
        ("/export", b'{"record": {"players": [1]}, "format": "sgf"}', "not a record"),
        ("/export", b'{"record": {"game": "sticks", "moves": ["a,b"]}, "format": "text"}', "move 1 is"),
        ("/export", b'{"record": {"game": "sticks", "moves": []}, "format": "sgf"}', "no format"),
        ("/import", b"", "cannot tell what"),
        ("/import?name=x.txt", b"x" * (5 << 20), "larger than"),
    ],
)
def test_files_that_cannot_be_used_are_explained(bridge, page, path, data, message):
    status, _, body = bridge.post(path, data)
    assert status == 400
    error = json.loads(body)["error"]
    assert error["kind"] == "InvalidRequest"
    assert message in error["message"]


def test_what_the_bridge_itself_refuses_names_the_text_of_the_page_for_it(bridge, page):
    _, _, body = bridge.post("/import?name=x.txt", b"x" * (5 << 20))
    text = {"key": "error.file-too-large", "values": {"bytes": 4 << 20}}
    assert json.loads(body)["error"] == {
        "kind": "InvalidRequest",
        "message": "the file is larger than 4194304 bytes",
        "retrySeconds": 0.0,
        "text": text,
    }


def test_a_daemon_that_goes_and_comes_back_is_told_and_searches_go_on(house):
    engine = FakeEngine()
    with OpenDaemon(house, engine, listen=free_place()) as daemon:
        bridge = Bridge(house, daemon.target)
        try:
            with Page(bridge) as page:
                number = page.think(options=FOR_EVER)
                page.answer(number)
                daemon.stop(0.2).result(SOON)
                until(lambda: not page.hear().get("games", [{"isThere": True}])[0]["isThere"])
                with OpenDaemon(house, engine, listen=daemon.target):
                    until(lambda: page.hear().get("games", [{"isThere": False}])[0]["isThere"])
                    assert page.answer(number).get("report")
                    assert page.ask("apply", position={"game": "sticks"})["state"]
        finally:
            bridge.close()


def test_a_game_that_is_starting_is_told_as_such_and_then_as_served(house):
    engine = FakeEngine()
    engine.gate.clear()
    with OpenDaemon(house, engine, warm=False) as daemon:
        bridge = Bridge(house, daemon.target)
        page = Page(bridge)  # not in a `with`, which waits until all are served
        try:
            until(
                lambda: [(card["game"], card["isThere"]) for card in page.hear_games()["games"]] == [("sticks", False)]
            )
            engine.gate.set()
            until(lambda: page.hear_games()["isComplete"])
            assert page.games["games"][0]["isThere"]
        finally:
            engine.gate.set()
            page.socket.close()
            bridge.close()


def test_before_any_daemon_is_there_the_page_is_told_so(house):
    bridge = Bridge(house, free_place())
    try:
        page = Page(bridge)
        assert page.hear().items() >= {"games": [], "isComplete": False}.items()
        assert "games are none yet" in page.ask("apply", position={"game": "sticks"})["error"]["message"]
        page.socket.close()
        with pytest.raises(urllib.error.HTTPError, match="503"):
            bridge.get("/healthz")
    finally:
        bridge.close()


def test_many_idle_sockets_hold_no_game_and_no_slot(bridge, sticks):
    with contextlib.ExitStack() as stack:
        pages = [stack.enter_context(Page(bridge)) for _ in range(50)]
        assert sticks.searches.running == 0
        assert pages[-1].ask("apply", position={"game": "sticks"})["state"]
        assert sticks.runtime.calls <= 1  # the bridge's watch of the daemon's health is another service's


def test_a_page_that_does_not_read_holds_up_nobody(bridge, page):
    with Page(bridge, max_queue=1) as deaf:
        deaf.think(options=FOR_EVER | {"padding": "100000", "seconds_per_report": "0"})
        for _ in range(5):
            assert page.final(page.think(nodes=2, options=FOR_EVER))[-1]["final"]


def test_twenty_pages_that_analyse_at_once_all_get_their_turn(bridge):
    with contextlib.ExitStack() as stack:
        pages = [stack.enter_context(Page(bridge)) for _ in range(20)]
        numbers = [page.think(nodes=2, options=FOR_EVER) for page in pages]
        finals = [page.final(number)[-1] for page, number in zip(pages, numbers, strict=True)]
    assert [report["nodes"] for report in finals] == [2] * len(pages)


# --- Turbo ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def endless(house):
    """A page of a tile game that never ends, with a fast player."""
    with OpenDaemon(house, FastEndlessEngine("endless")) as daemon:
        bridge = Bridge(house, daemon.target)
        with Page(bridge) as page:
            yield page
        until(lambda: daemon.searches.running == daemon.searches.waiting == 0)
        bridge.close()


def test_the_engine_slides_on_and_every_move_is_told(endless):
    number = endless.send("run", position={"game": "endless", "start": "b 1 1"}, slides=2000)
    told = [endless.answer(number)]
    while "ok" not in told[-1]:
        told.append(endless.answer(number))
    *states, _ = told
    assert sum(len(each["moves"]) for each in states) == 4000
    assert states[-1]["state"]["points"] == 4000
    assert states[-1]["state"]["text"] == "b 1 1"


@pytest.mark.parametrize("slides", [0, -1, 2001, 1.5, "9", True])
def test_a_wrong_number_of_slides_is_refused(endless, slides):
    error = endless.ask("run", position={"game": "endless", "start": "b 1 1"}, slides=slides)["error"]
    assert error["message"] == f"slides is {slides!r}; allowed is a whole number from 1 to 2000"


def test_a_page_that_leaves_ends_its_turbo(endless):
    endless.send("run", position={"game": "endless", "start": "b 1 1"}, slides=2000)
    endless.socket.close()  # the fixture waits until the daemon is idle
