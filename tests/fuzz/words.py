"""What has to hold for any lines of the text protocols, messages of the page, and files of games."""

import asyncio
import functools
import io
import json
import re

from tests.fuzz.notation import text_of

REPLY = re.compile(
    r"OK|SWAP|ERROR .+|UNKNOWN .+|MESSAGE .+|DEBUG .+|name=.+|\d+,\d+( \d+,\d+ \d+,\d+)?", re.ASCII | re.DOTALL
)
ARENA_REPLY = re.compile(r"match \S+ (play|evil) (ready|move [0-9a-f]{1,8})\n")


class LeastBrain:
    """An engine whose move is the first legal one, and which remembers questions that nobody could answer."""

    def __init__(self):
        from plyd.v1 import engine_pb2

        self.trouble = ""
        self.faults: list[Exception] = []
        self.known = {
            "threads": engine_pb2.Option(name="threads", default_value="0", minimum=0, maximum=64),
            "memory": engine_pb2.Option(name="memory", default_value="256", minimum=8, maximum=65536),
        }

    async def ready(self, options):
        await asyncio.sleep(0)

    async def search(self, question, end, late, told):
        from plyd.engines.core.errors import BadInput

        await asyncio.sleep(0)
        try:
            told(self._report(question, end))
        except BadInput:  # a five stands on the board already
            raise
        except Exception as error:
            self.faults.append(error)
            raise

    def _report(self, question, end):
        from plyd.clients.library.requests import go_command
        from plyd.engines.gomoku.rules import RULES
        from plyd.v1 import search_pb2

        left = max(end - asyncio.get_running_loop().time(), 0.0)
        go_command({"seconds": left, "nodes": question.nodes, "depth": question.depth}, ponder=False)
        for name, text in question.options.items():
            assert self.known[name].minimum <= int(text) <= self.known[name].maximum, (name, text)
        rules = RULES[question.variant]
        position = rules.parse(question.position.start)
        for move in question.position.moves:
            position = rules.play(position, move).position
        moves = [move.text for move in rules.legal_moves(position)[:1]]
        lines = [search_pb2.Line(moves=moves)] if moves else []
        move = moves[0] if moves else None
        return search_pb2.Report(final=True, move=move, nodes=5, depth=2, elapsed_us=7, lines=lines)

    async def stop(self):
        await asyncio.sleep(0)

    async def close(self):
        pass


class Manager:
    """Says lines to a Gomocup bridge and checks each answer, all in one event loop."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()

    def check(self, data: bytes) -> None:
        """Every line is obeyed, refused in one line, or passed over; afterwards a new game can begin."""
        self._loop.run_until_complete(self._talk(data))

    async def _talk(self, data: bytes) -> None:
        from plyd.clients.gomocup.bridge import GomocupBridge

        said: list[str] = []
        brain = LeastBrain()
        bridge = GomocupBridge(brain, said.append, 100, {})
        for line in [*data.split(b"\n")[:30], b"START 6", b"BEGIN"]:
            await bridge.handle_line(line.decode("ascii", "replace").strip(), self._loop.time())
            for _ in range(4):
                await asyncio.sleep(0)
            assert not brain.faults, (line, brain.faults)
        if bridge._thinking:
            await bridge._thinking
        await bridge.close()
        for reply in said:
            assert REPLY.fullmatch(reply), reply
            assert reply.isascii(), reply
            assert "\n" not in reply, reply
        assert "OK" in said


def check_gomocup_words(data: bytes) -> None:
    """Points and lists of stones are read or refused, and a board that was read can be asked about."""
    from plyd.clients.gomocup.board import CommandRejected, GomocupBoard
    from plyd.clients.gomocup.text import StoneList, point_of, quoted
    from plyd.clients.library.bridges.line_bridge import one_line
    from plyd.engines.core.errors import BadInput
    from plyd.engines.gomoku.rules import FREESTYLE
    from plyd.protocols.gomocup import POINT, STONE

    first, *lines = data.decode("ascii", "replace").split("\n")
    size = 5 + len(first) % 16
    board = GomocupBoard(size)
    try:
        board.check_empty(point_of("TURN", first))
    except CommandRejected as error:
        assert one_line(str(error)).isascii()
    assert quoted(first).isprintable()
    listing = StoneList("BOARD", STONE if len(data) % 2 else POINT, size)
    for line in lines:
        listing.add(line.strip())
    board.set_up(listing.stones)
    assert board.stones() == listing.stones
    for point in listing.stones:
        assert board.point_of(board.move_to(point)) == point
    start, moves = board.position()
    try:
        position = FREESTYLE.parse(start)
        for move in moves:
            position = FREESTYLE.play(position, move).position
    except BadInput as error:
        assert "five" in str(error) or "over" in str(error)  # a manager may set up what no game can be
        return
    assert len(listing.stones) == size * size - position.count(".")


def check_arena(data: bytes) -> None:
    """Every line of a referee is answered in one line, told to be wrong, or passed over."""
    from plyd.clients.hosts.arena2584 import VARIANTS, Arena, ArenaPlayer

    class Adviser:
        def slide(self, replay):
            return replay.slides()[0]

        def drop(self, replay, index):
            return index << 4 | replay.empty()[0]

    out, errors = io.StringIO(), io.StringIO()
    Arena(ArenaPlayer("plyd", Adviser(), VARIANTS["hard"], seed=1), out, errors).run(text_of(data).split("\n")[:60])
    for reply in out.getvalue().splitlines(keepends=True) if "\x85" not in text_of(data) else ():
        assert ARENA_REPLY.fullmatch(reply) or not reply.isprintable(), reply


def check_solve_lines(data: bytes) -> None:
    """Lines come out whole, however they are cut on their way, and one without end does not fill the memory."""
    from plyd.clients.commands.solve import LONGEST_LINE, LineBuffer

    lines, out = LineBuffer(), b""
    pieces = [data[i : i + 7] for i in range(0, len(data), 7)] if data[:1] != b"L" else [data, b"y" * 9000, b"\n"]
    for piece in pieces:
        whole = lines.add(piece)
        assert not whole or whole.endswith(b"\n")
        assert len(lines.rest) <= LONGEST_LINE + 5
        out += whole
    if data[:1] != b"L":
        assert out + lines.rest == data


def check_page(data: bytes) -> None:
    """A page's message is a request whose every field is of its kind, or is refused; so is a record to be written."""
    from plyd.clients.library.errors import InvalidRequest
    from plyd.clients.library.requests import limits_of
    from plyd.clients.web.errors import error_json
    from plyd.clients.web.messages import PageRequest, parse_export

    text = text_of(data)
    try:
        request = PageRequest(text)
    except InvalidRequest as error:
        json.dumps(error_json(error))
        request = None
    readers = ("position", "moves", "seconds", "clock", "turns", "search_query") if request else ()
    for reader in (*readers, "flag", "whole"):
        try:
            if request is None:
                break
            value = getattr(request, reader)(*{"flag": ["chance"], "whole": ["nodes", 1, 1 << 40]}.get(reader, []))
        except InvalidRequest as error:
            json.dumps(error_json(error))
            continue
        if reader == "search_query":
            wish = {"seconds": value.seconds, "nodes": value.nodes, "depth": value.depth}
            if value.remaining is not None:
                wish |= {"remaining_seconds": value.remaining, "increment_seconds": value.increment}
            limits_of(wish, wish.keys()).SerializeToString()
            value.position.SerializeToString()
    try:
        check_written(*parse_export(data))
    except InvalidRequest as error:
        json.dumps(error_json(error))


def check_http_message(data: bytes) -> None:
    """The body of an HTTP call is a message that can be written again, or is refused."""
    from plyd.clients.http.codec import JSON, PROTO, decode, encode, single_message
    from plyd.clients.http.failures import CallFailed
    from plyd.clients.http.methods import METHODS, game_of

    for method in (each for each in METHODS if each.name in ("Search", "Play", "Evaluate")):
        for form in (JSON, PROTO):
            try:
                message = decode(form, data, method.request)
            except CallFailed as failed:
                json.dumps(failed.as_json())
                continue
            game_of(message)
            assert decode(PROTO, encode(PROTO, message), method.request) is not None
    try:
        assert len(single_message(data)) == len(data) - 5
    except CallFailed as failed:
        json.dumps(failed.as_json())


def check_written(record, form: str) -> None:
    """A record that can be written is read as it was."""
    from plyd.clients.formats.files import read, write

    name, _, data = write(record, form, card_of(record.game))
    again = read(name, data)
    assert again.game.strip() == record.game.strip()
    assert again.moves == record.moves or (record.tree and form == "sgf")  # whose moves are the tree's main line
    assert again == read(name, write(again, form, card_of(again.game))[2])


def check_game_file(file_name: str, data: bytes) -> None:
    """A file of a game is read or refused; what was read can be written, and is then read as it was."""
    from plyd.clients.formats.files import formats_of, read, write
    from plyd.clients.library.errors import InvalidRequest

    try:
        record = read(file_name, data)
    except InvalidRequest as error:
        assert str(error)
        return
    for form in formats_of(card_of(record.game)):
        try:
            name, _, written = write(record, form, card_of(record.game))
        except InvalidRequest as error:
            assert form != "text", repr(error)  # which can hold any game
            continue
        again = read(name, written)
        assert again.moves == record.moves
        assert again == read(name, write(again, form, card_of(again.game))[2])


@functools.cache
def card_of(game: str):
    """The card of a game; of one that there is not, an empty one."""
    from plyd.engines import registry
    from plyd.servers.rpc.messages import engine_message
    from plyd.v1.engine_pb2 import EngineInfo

    return engine_message(registry.load(game)) if game in registry.ENGINES else EngineInfo(game="unknown")


def check_course_record(data: bytes) -> None:
    """A record file is judged or refused, and is the same file when what was read of it is written."""
    from plyd.clients.formats.rec2584 import BadRecord, pack_records, read_records_from
    from plyd.clients.formats.rec2584_judge import Judge
    from plyd.clients.formats.tile_replay import FinishedGame

    judge = Judge()
    try:
        records = list(read_records_from(io.BytesIO(data), len(data)))
        games = [judge.replay(*record) for record in records]
    except BadRecord as error:
        assert str(error)
        return
    assert judge.summary()
    kept = [FinishedGame(0, 0, 0, start, end, actions) for actions, start, end in records]
    assert pack_records(kept) == data
    assert all(game.points >= 0 for game in games)


def check_saved_match(data: bytes) -> None:
    """A line of a match's file is a game that can be counted, or none."""
    from plyd.clients.match.results import MatchTally, parse_game

    for line in text_of(data).split("\n")[:20]:
        try:
            played = parse_game(line)
        except ValueError:
            continue
        assert parse_game(json.dumps(played.as_json())) == played
        tally = MatchTally()
        tally.add(played)
        assert sum(tally.pairs()) <= 1
        assert tally.games() == [played]


def check_tournament(data: bytes) -> None:
    """The file of a tournament is read or refused."""
    import tomllib
    from pathlib import Path

    from plyd.clients.match.side import BadMatch
    from plyd.clients.tournament.plan import Plan
    from plyd.clients.tournament.settings import parse_settings

    try:
        fields = tomllib.loads(text_of(data))
    except (ValueError, RecursionError):
        return
    try:
        settings = parse_settings(fields, Path())
    except BadMatch:
        return
    json.dumps(settings.identity())
    assert Plan(settings).games >= settings.games


def check_refereed_match(data: bytes) -> None:
    """A line of a contest's file is a match that can be summed up, or none."""
    from plyd.clients.hosts.referee2584 import summary
    from plyd.clients.hosts.referee_cli import parse_match

    for line in text_of(data).split("\n")[:20]:
        try:
            match = parse_match(line)
        except ValueError:
            continue
        assert parse_match(json.dumps(match.as_json())) == match
        json.dumps(summary([match], 10_000))


def check_openings(folder, data: bytes) -> None:
    """A file of openings is read or refused."""
    from plyd.clients.library.errors import InvalidRequest
    from plyd.clients.match.openings import read_openings
    from plyd.clients.match.side import BadMatch
    from plyd.engines.connect4.rules import RULES
    from plyd.engines.core.errors import BadInput
    from plyd.v1 import position_pb2

    class Rulebook:
        def inspect(self, start, moves):
            try:
                position = RULES.parse(start) if start else RULES.start()
                for move in moves:
                    position = RULES.play(position, move).position
            except BadInput as error:
                raise InvalidRequest(str(error)) from None
            is_on = RULES.to_move(position) is not None
            outcome = position_pb2.OUTCOME_ONGOING if is_on else position_pb2.OUTCOME_DRAW
            place = {"start": RULES.text(position)}
            return position_pb2.State(text=RULES.text(position), outcome=outcome, to_move=1, position=place)

    path = folder / "openings.txt"
    path.write_bytes(data)
    try:
        openings = read_openings(Rulebook(), path)
    except BadMatch as error:
        assert str(error)
        return
    assert openings
    assert all(RULES.text(RULES.parse(opening.text)) == opening.text for opening in openings)


def check_analyze_line(data: bytes) -> None:
    """A line of `plyd analyze` is a query that can be sent, an action, or is refused in words that can be printed."""
    from plyd.clients.analyze.answer import as_json, error_answer
    from plyd.clients.analyze.query import Action, BadQuery, Query, parse_line
    from plyd.clients.library.requests import limits_of
    from plyd.v1 import engine_pb2, position_pb2

    try:
        read = parse_line(data, Query(id=""))
    except BadQuery as error:
        as_json(error_answer(error.query_id, error, line=1))
        return
    if isinstance(read, Action):
        as_json(dict(read.echo))
        return
    args = read.search_args()
    position = position_pb2.Position(game=read.game, variant=read.variant, start=read.start, moves=read.moves)
    limits = limits_of(args, args.keys())
    engine_pb2.AnalyzeRequest(position=position, limits=limits, options=args["options"], max_lines=args["lines"])
    assert 0 <= min(read.turns) <= max(read.turns) <= len(read.moves)


def check_stored_report(data: bytes) -> None:
    """A text of the store is a report that its text says again, or is refused."""
    from plyd.servers.search.known.report_text import BadReport, read_report_text, write_report_text

    try:
        report = read_report_text(text_of(data))
    except BadReport:
        return
    again = write_report_text(report)
    assert write_report_text(read_report_text(again)) == again
