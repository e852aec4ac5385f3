"""Whole conversations: what goes in, and everything that comes out."""

import asyncio
import os
import signal

import click
import pytest

from plyd.clients.analyze import pipes
from plyd.clients.library.errors import Unavailable
from tests.clients.analyze.talk import ENDLESS, converse
from tests.clients.library.relay import Relay
from tests.patience import SOON, until
from tests.ports import free_place


def found(query, turn, nodes=0, reason="finished"):
    """The final answer of the fake engine."""
    score = {"pointOfView": "player_two", "winProbability": 0.625}
    line = {"moves": ["2"], "score": score, "visits": nodes, "depth": 2, "probability": 0.25, "prior": 0.75}
    return {
        "id": query,
        "turn": turn,
        "final": True,
        "move": "2",
        "score": score,
        "lines": [line],
        "nodes": nodes,
        "depth": nodes,
        "stopReason": reason,
    }


def by_turn(answers):
    return sorted(answers, key=lambda answer: (answer.get("id", ""), answer.get("turn", -1)))


def ask_all(*lines):
    """A script that says all lines, and hears everything."""

    def script(talk):
        talk.say(*lines)
        return talk.rest()

    return script


def test_every_turn_gets_one_final_answer(sticks):
    answers, status = converse(sticks.target, ask_all({"id": "a", "moves": ["1", "2"], "analyzeTurns": [0, 1, 2]}, ""))
    assert status == 0
    assert by_turn(answers) == [found("a", 0), found("a", 1), found("a", 2)]


def test_last_turn_is_the_default_and_all_is_every_turn(sticks):
    lines = {"id": "a", "moves": ["1", "2"]}, {"id": "b", "moves": ["1"], "analyzeTurns": "all"}
    answers, _ = converse(sticks.target, ask_all(*lines))
    assert [(answer["id"], answer["turn"]) for answer in by_turn(answers)] == [("a", 2), ("b", 0), ("b", 1)]


NODES = f"allowed is a whole number from 1 to {2**62}"
UNREADABLE = [  # a line without an id, what is said of it, and of which field
    ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", None),
    ("[1]", "'[1]' is not an object; a query is a JSON object on a line", None),
    ("{}", "id is missing; allowed is a string", "id"),
    ({"id": 7}, "id is 7; allowed is a string", "id"),
    ({"id": ""}, "id is empty; allowed is any other string", "id"),
    ({"id": "\ud800"}, "id is '\\ud800'; allowed is a string", "id"),
]
REFUSED = [  # fields of a query, what is said of them, and of which one
    ({"file": "/dev/stdin"}, "cannot read /dev/stdin: not a regular file", "file"),
    ({"move": ["1"]}, "unknown field 'move'; did you mean 'moves'?", "move"),
    ({"moves": "1"}, "moves is '1'; allowed is a list of strings", "moves"),
    ({"nodes": 0}, f"nodes is 0; {NODES}", "nodes"),
    ({"nodes": True}, f"nodes is True; {NODES}", "nodes"),
    ({"analyzeTurns": [1]}, "analyzeTurns has turn 1; the last turn is 0", "analyzeTurns"),
    ({"analyzeTurns": [0, 0]}, "analyzeTurns is [0, 0]; a turn may be named only once", "analyzeTurns"),
    ({"reportEvery": 0}, "reportEvery is 0; allowed is a number of seconds above 0", "reportEvery"),
    (
        {"reportEvery": 10**400},
        f"reportEvery is 1{'0' * 59}; allowed is a number of seconds above 0",
        "reportEvery",
    ),
    ({"options": []}, "options is []; allowed is an object of strings, numbers and booleans", "options"),
    ({"file": "/no/where"}, "cannot read /no/where: No such file or directory", "file"),
    ({"file": "x", "moves": []}, "moves and file exclude each other", "moves"),
    ({"action": "stop"}, "action is 'stop'; allowed is terminate, terminate_all, clear, version", "action"),
    ({"action": "terminate"}, "terminateId is missing; terminate needs the id of a query", "terminateId"),
    ({"action": "clear", "turns": [1]}, "turns belongs to terminate and terminate_all, not to clear", "turns"),
]
REFUSED_BY_DAEMON = [  # likewise, of turn 0
    ({"game": "go"}, 'unknown game "go"; served here: sticks', "game"),
    ({"variant": "x"}, 'unknown variant "x" of sticks; variants are normal, greedy', "variant"),
    ({"start": "x"}, 'cannot read "x"; expected a number and one or two, like "7 one"', "start"),
    ({"options": {"fail": 2}}, 'option fail is "2"; allowed is true or false', "options"),
]


def check_refusal(target, line, expected):
    """Assert that a line is refused, once, and that the next one is answered."""
    answers, status = converse(target, ask_all(line, {"id": "next"}))
    assert status == 1
    assert found("next", 0) in answers
    assert [told for told in answers if told.get("id") != "next"] == [expected]


@pytest.mark.parametrize(("line", "message", "field"), UNREADABLE)
def test_line_that_cannot_be_read_is_answered_by_its_number(sticks, line, message, field):
    at = {"field": field} if field else {}
    check_refusal(sticks.target, line, {"final": True, "error": message, **at, "inputLine": 1})


@pytest.mark.parametrize(("fields", "message", "field"), REFUSED)
def test_bad_query_is_refused_as_a_whole(sticks, fields, message, field):
    check_refusal(sticks.target, {"id": "a", **fields}, {"id": "a", "final": True, "error": message, "field": field})


@pytest.mark.parametrize(("fields", "message", "field"), REFUSED_BY_DAEMON)
def test_query_that_the_daemon_refuses_names_the_field(sticks, fields, message, field):
    expected = {"id": "a", "turn": 0, "final": True, "error": message, "field": field}
    check_refusal(sticks.target, {"id": "a", **fields}, expected)


def test_moves_of_a_long_game_are_counted_from_its_start(sticks):
    moves = ["1"] * 150 + ["9"]
    answers, _ = converse(
        sticks.target, ask_all({"id": "a", "start": "999 one", "moves": moves, "analyzeTurns": [0, 140, 150, 151]})
    )
    assert [(told["turn"], told.get("error")) for told in by_turn(answers)] == [
        (0, None),
        (140, None),
        (150, None),
        (151, 'move 151: illegal move "9" at "849 one"'),
    ]
    assert {asked.position.left for asked in sticks.engine.asked} == {999, 859, 849}


def test_answers_come_out_of_order_and_reports_come_during_the_search(sticks):
    def script(talk):
        talk.say({"id": "slow", "reportEvery": 0.001, **ENDLESS}, {"id": "quick"})
        heard = [talk.hear()]
        while heard[-1]["id"] != "quick":
            heard.append(talk.hear())
        while heard[-1]["id"] != "slow":
            heard.append(talk.hear())
        talk.say({"id": "t", "action": "terminate", "terminateId": "slow"})
        return heard + talk.rest()

    answers, status = converse(sticks.target, script)
    slow = [answer for answer in answers if answer["id"] == "slow"]
    assert len(slow) >= 2
    assert [answer["final"] for answer in slow] == [False] * (len(slow) - 1) + [True]
    assert slow[-1]["stopReason"] == "stopped"
    assert slow[-1]["nodes"] >= slow[-2]["nodes"]
    assert {"id": "t", "action": "terminate", "terminateId": "slow"} in answers
    assert found("quick", 0) in answers
    assert status == 0


def test_terminated_turn_that_did_not_begin_has_no_results(sticks):
    def script(talk):
        talk.say(*({"id": name, "moves": ["1"], "analyzeTurns": "all", **ENDLESS} for name in ("a", "b")))
        until(lambda: len(sticks.engine.asked) == 2)
        talk.say({"id": "t", "action": "terminate", "terminateId": "b", "turns": [1]})
        heard = [talk.hear(), talk.hear()]
        talk.say({"id": "all", "action": "terminate_all"})
        return heard, talk.rest()

    (heard, rest), _ = converse(sticks.target, script)
    assert heard == [
        {"id": "b", "turn": 1, "final": True, "noResults": True},
        {"id": "t", "action": "terminate", "terminateId": "b", "turns": [1]},
    ]
    assert sorted((told["id"], told.get("turn"), told.get("final")) for told in rest if told["id"] != "all") == [
        ("a", 0, True),
        ("a", 1, True),
        ("b", 0, True),
    ]


def test_clear_empties_the_queue_and_lets_running_searches_be(sticks):
    def script(talk):
        talk.say({"id": "a", "moves": ["1", "1", "1"], "analyzeTurns": "all", **ENDLESS})
        until(lambda: len(sticks.engine.asked) == 2)
        talk.say({"id": "c", "action": "clear"})
        heard = [talk.hear() for _ in range(3)]
        assert sticks.searches.running == 2
        talk.say({"id": "all", "action": "terminate_all"})
        talk.rest()
        return heard

    heard, _ = converse(sticks.target, script)
    assert by_turn(heard) == [
        {"id": "a", "turn": 2, "final": True, "noResults": True},
        {"id": "a", "turn": 3, "final": True, "noResults": True},
        {"id": "c", "action": "clear"},
    ]


def test_version_tells_the_program_and_its_daemons(sticks):
    [answer], _ = converse(sticks.target, ask_all({"id": "v", "action": "version"}))
    assert answer.keys() == {"id", "action", "version", "daemons"}
    assert [(one["slots"], one["games"]) for one in answer["daemons"]] == [(2, ["sticks"])]


def test_id_is_free_again_once_its_query_is_finished(sticks):
    def script(talk):
        talk.say({"id": "a", **ENDLESS}, {"id": "a"})
        heard = [talk.hear()]
        talk.say({"id": "t", "action": "terminate", "terminateId": "a"})
        heard += [talk.hear(), talk.hear()]
        talk.say({"id": "a"})
        return heard + talk.rest()

    answers, _ = converse(sticks.target, script)
    assert answers[0]["error"] == "id 'a' is that of a query that is not finished"
    assert answers[-1] == found("a", 0)


def test_higher_priority_goes_first(sticks):
    def script(talk):
        talk.say({"id": "hold", "moves": ["1"], "analyzeTurns": "all", **ENDLESS})
        until(lambda: len(sticks.engine.asked) == 2)
        for name, priority in (("low", -1), ("usual", 0), ("high", 5)):
            talk.say({"id": name, "start": f"{len(name)} one", "priority": priority, "moveTimeMs": 100_000})
        talk.say({"id": "t", "action": "terminate", "terminateId": "hold", "turns": [0]})
        heard = []
        while sum(told.get("id") in ("low", "usual", "high") for told in heard) < 3:
            heard.append(talk.hear())
        talk.say({"id": "all", "action": "terminate_all"})
        talk.rest()
        return [told["id"] for told in heard if told["id"] in ("low", "usual", "high")]

    order, _ = converse(sticks.target, script)
    assert order == ["high", "usual", "low"]


def test_overload_is_waited_out(open_daemon):
    daemon = open_daemon(slots=1, queue_size=0)
    answers, status = converse(
        daemon.target, ask_all(*({"id": str(at), "start": f"{at} one"} for at in range(1, 30))), workers=8
    )
    assert status == 0
    assert sorted(int(answer["id"]) for answer in answers) == list(range(1, 30))


def test_daemon_that_dies_in_the_middle_of_the_queue_is_asked_again_when_it_is_back(sticks):
    with Relay(sticks.target) as relay:

        def script(talk):
            talk.say({"id": "a", "moves": ["1"], "analyzeTurns": "all", **ENDLESS})
            until(lambda: len(sticks.engine.asked) == 2)
            relay.cut()
            until(sticks.is_idle)
            relay.restore()
            until(lambda: len(sticks.engine.asked) == 4)  # both turns again
            talk.say({"id": "t", "action": "terminate", "terminateId": "a"})
            return talk.rest()

        answers, status = converse(relay.address, script)
    assert status == 0
    assert [(told["id"], told["turn"], told["final"]) for told in by_turn(answers) if told["id"] != "t"] == [
        ("a", 0, True),
        ("a", 1, True),
    ]


def test_daemon_that_shuts_down_in_the_middle_of_the_queue_is_asked_again_when_it_is_back(open_daemon):
    first = open_daemon(slots=2, listen=free_place())

    def script(talk):
        talk.say({"id": "a", "moves": ["1"], "analyzeTurns": "all", **ENDLESS})
        until(lambda: len(first.engine.asked) == 2)
        first.stop().result(SOON)  # its searches end, with what they found so far
        second = open_daemon(slots=2, listen=first.target)
        until(lambda: len(second.engine.asked) == 2)
        talk.say({"id": "t", "action": "terminate_all"})
        return talk.rest()

    answers, status = converse(first.target, script)
    assert status == 0
    assert [told["id"] for told in by_turn(answers)] == ["a", "a", "t"]


def test_queries_of_a_dead_daemon_go_to_another_one(sticks, open_daemon):
    other = open_daemon(slots=1, queue_size=8)
    with Relay(other.target) as relay:

        def script(talk):
            query = {"options": {"reports": 10, "seconds_per_report": 0.01}}
            talk.say(*({"id": str(at), "start": f"{at} one", **query} for at in range(1, 9)))
            until(lambda: other.engine.asked)
            relay.cut()
            return talk.rest()

        answers, status = converse(f"{relay.address},{sticks.target}", script)
    assert status == 0
    assert sorted(answer["id"] for answer in answers if answer["final"]) == [str(at) for at in range(1, 9)]


def test_daemon_that_stays_away_ends_each_query_with_an_error(sticks, monkeypatch):
    monkeypatch.setattr("plyd.clients.analyze.engines.AGAIN_SECONDS", 0.05)
    with Relay(sticks.target) as relay:

        def script(talk):
            talk.say({"id": "a", **ENDLESS}, {"id": "b", **ENDLESS})
            until(lambda: len(sticks.engine.asked) == 2)
            relay.cut()
            return talk.rest()

        answers, status = converse(relay.address, script)
    assert status == 1
    assert sorted((told["id"], told["turn"], told["final"]) for told in answers) == [("a", 0, True), ("b", 0, True)]
    assert all("is unavailable" in told["error"] for told in answers)


def test_no_daemon_at_the_address_is_told_before_anything_is_read(monkeypatch):
    monkeypatch.setattr("plyd.clients.analyze.engines.FIRST_SECONDS", 0.05)
    with pytest.raises(Unavailable, match="is unavailable"):
        converse(free_place(), ask_all({"id": "a"}))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_terminates_what_is_left(sticks, number):
    def script(talk):
        talk.say({"id": "a", "moves": ["1", "1"], "analyzeTurns": "all", **ENDLESS})
        until(lambda: len(sticks.engine.asked) == 2)
        os.kill(os.getpid(), number)
        return [talk.hear() for _ in range(3)]  # the input stays open

    answers, status = converse(sticks.target, script)
    assert status == 128 + number
    assert [(told["turn"], told["final"]) for told in by_turn(answers)] == [(0, True), (1, True), (2, True)]


def test_closed_output_ends_quietly(sticks):
    def script(talk):
        talk.say({"id": "a"})
        talk.hear()
        talk.hang_up()
        talk.say({"id": "b"}, {"id": "c", **ENDLESS})
        until(lambda: len(sticks.engine.asked) == 3)
        until(sticks.is_idle)

    _, status = converse(sticks.target, script)
    assert status == 0


def test_errors_in_a_file_of_answers_are_told(sticks, tmp_path, capsys):
    file = tmp_path / "answers.jsonl"
    converse(sticks.target, ask_all({"id": "a", "moves": ["9"]}, {"id": "b"}), resume=file)
    assert capsys.readouterr().err == f"1 of the answers are errors: see {file}\n"


def test_resumed_run_skips_what_is_answered_and_mends_a_torn_line(sticks, tmp_path):
    file = tmp_path / "answers.jsonl"
    queries = [{"id": name, "moves": ["1"], "analyzeTurns": "all"} for name in ("a", "b")]
    converse(sticks.target, ask_all(*queries), resume=file)
    whole = file.read_text().splitlines(keepends=True)
    assert len(whole) == 4
    file.write_text("".join(whole[:2]) + whole[2][:20])
    sticks.engine.asked.clear()
    converse(sticks.target, ask_all(*queries), resume=file)
    assert len(sticks.engine.asked) == 2
    again = file.read_text().splitlines(keepends=True)
    assert again[:2] == whole[:2]
    assert len(again) == 4


def test_two_runs_do_not_write_one_file_of_answers(sticks, tmp_path):
    file = tmp_path / "answers.jsonl"
    other, _ = pipes.resume_file(file)
    with pytest.raises(click.ClickException, match="another process is writing"):
        converse(sticks.target, lambda _: None, resume=file)
    os.close(other)
    converse(sticks.target, ask_all({"id": "a"}), resume=file)
    converse(sticks.target, ask_all({"id": "b"}), resume=file)
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize("names", ['"id":[],"turn":0', '"id":"a","turn":[]', '"id":"a"'])
def test_file_that_holds_no_answers_is_not_resumed(sticks, tmp_path, names):
    file = tmp_path / "answers.jsonl"
    file.write_text(f'{{{names},"final":true,"score":{{}}}}\n')
    with pytest.raises(click.ClickException, match=r"line 1: .* is not an answer of plyd analyze"):
        converse(sticks.target, lambda _: None, resume=file)


def test_no_line_is_read_while_the_answers_are_not(sticks, monkeypatch):
    waits, room = [], pipes.LineWriter.room

    async def counted_room(writer):
        waits.append(writer)
        await room(writer)

    monkeypatch.setattr(pipes.LineWriter, "room", counted_room)
    converse(sticks.target, ask_all("x", "y", {"id": "a"}))
    assert len(waits) == 3


def test_writer_has_room_again_once_its_text_is_read(monkeypatch):
    monkeypatch.setattr(pipes, "MOST_UNWRITTEN", 1000)
    text = "x" * 500_000  # more than a pipe holds

    async def write(receive, send):
        writer = pipes.LineWriter(send, lambda: None)
        await writer.room()
        writer.put(text)
        waiting = asyncio.ensure_future(writer.room())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        left = len(text)
        while left:
            left -= len(await asyncio.to_thread(os.read, receive, left))
        await asyncio.wait_for(waiting, SOON)
        await writer.close()

    receive, send = os.pipe()
    asyncio.run(write(receive, send))
    os.close(receive)
    os.close(send)


def test_csv_has_a_row_for_each_final_answer(sticks):
    def script(talk):
        talk.say({"id": "a"}, "{")
        talk.end()
        return talk._receive.read()

    text, _ = converse(sticks.target, script, as_csv=True)
    head, *rows = text.splitlines()
    assert head == "id,turn,move,value,pointOfView,exact,line,nodes,depth,seconds,error"
    assert any(row.startswith("a,0,2,0.625,player_two,False,2,0,0,") for row in rows)
    assert len(rows) == 2
