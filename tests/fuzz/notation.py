"""What has to hold for any text that is said to be a position, a move, an option, an address or a side of a match."""

from plyd.engines.core.errors import BadInput, BadMove, BadPosition

LONGEST_MESSAGE = 3000  # characters; gRPC carries some 8 KB of them, each perhaps as three
MOST_PLAYED = 12


def text_of(data: bytes) -> str:
    """The text of some bytes; what is no UTF-8 becomes lone surrogates, as in names of files."""
    return data.decode("utf-8", "surrogateescape")


def is_told_well(error: Exception) -> bool:
    """Whether a refusal fits on a terminal and on the wire, and quotes what it refuses."""
    message = str(error)
    quotes = any(mark in message for mark in "\"'") or message.startswith(("empty", "no "))
    return message.isprintable() and 0 < len(message) <= LONGEST_MESSAGE and quotes


def check_rules(rules, data: bytes, *, every_move: bool = False) -> bool:
    """Whether a text names a position; a bar may follow, and moves, which are played as far as they are legal."""
    start, _, moves = text_of(data).partition("|")
    try:
        position = rules.parse(start)
    except BadPosition as error:
        assert is_told_well(error), repr(error)
        return False
    check_position(rules, position)
    for move in moves.split(" ")[:MOST_PLAYED]:
        try:
            position, points, _ = rules.play(position, move)
        except BadMove as error:
            assert is_told_well(error), repr(error)
            break
        assert points >= 0
        check_position(rules, position)
    legal = rules.legal_moves(position)
    assert bool(legal) == (rules.to_move(position) is not None)
    after = [
        rules.play(position, move.text)
        for move in (legal if every_move else legal[len(data) % max(len(legal), 1) :][:1])
    ]
    for step in after[-1:]:
        check_position(rules, step.position)
    return True


def check_position(rules, position) -> None:
    """A position has one name, which names it."""
    name = rules.text(position)
    assert rules.parse(name) == position
    board = rules.board(position)
    assert len(board.cells) == board.rows * board.columns
    assert name.isprintable()


def check_options(options, data: bytes) -> None:
    """An option is read as a value within its bounds, and as the same one when that is written out."""
    from plyd.engines.core.options import read_options

    name, _, text = text_of(data).partition("=")
    texts = {name: text} if len(data) % 8 else {option.name: text for option in options}
    try:
        values = read_options(options, texts)
    except BadInput as error:
        assert is_told_well(error), repr(error)
        return
    for option in options:
        value = values[option.name]
        assert type(value) is type(option.default)
        if option.minimum is not None:
            assert option.minimum <= value <= option.maximum
        assert option.read(str(value).lower() if isinstance(value, bool) else str(value)) == value


def check_address(data: bytes) -> None:
    """An address names a place that has one name; a bridge's endpoint is read in the same way."""
    from plyd.clients.library.channel import is_loopback, parse_endpoint
    from plyd.clients.library.errors import BadEndpoint
    from plyd.servers.access.addresses import BadAddress, parse_address

    text = text_of(data)
    try:
        address = parse_address(text)
        assert parse_address(str(address)) == address
        assert isinstance(address.is_local, bool)
    except BadAddress as error:
        assert any(mark in str(error) for mark in "\"'")
    for insecure in (True, False):
        try:
            endpoint = parse_endpoint(text, insecure=insecure)
            assert parse_endpoint(str(endpoint), insecure=insecure) == endpoint
            assert insecure or is_loopback(endpoint.host)
        except BadEndpoint as error:
            assert '"' in str(error) or "--insecure" in str(error)


def check_contender(data: bytes) -> None:
    """A side of a match is read, or refused in words."""
    from plyd.clients.match.side import BadMatch, SideLimits, parse_side

    try:
        side = parse_side(text_of(data), "first", SideLimits(seconds=0.1))
    except BadMatch as error:
        assert str(error)
        return
    assert str(side)
    assert side.name == side.as_json()["name"]
    limits = side.limits
    assert limits.seconds is None or 0 < limits.seconds < 1e7
    assert limits.nodes is None or 1 <= limits.nodes < 10**19
