"""Options of an engine: text in, values out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plyd.engines.core.errors import BadOption, quoted

OptionValue = int | float | bool | str
MEMORY = "memory"  # the option for the megabytes that a searcher may use


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Its type is that of its default; numbers have a range, words a list of choices."""

    name: str
    summary: str
    default: OptionValue
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other names that are still understood, but not listed."""

    def __post_init__(self) -> None:
        is_number = not isinstance(self.default, bool | str)
        assert is_number == (self.minimum is not None) == (self.maximum is not None), "numbers have a range"
        assert isinstance(self.default, str) == bool(self.choices), "words have choices"

    def read(self, text: str) -> OptionValue:
        """The worth that a text names."""
        value = self._convert(text)
        if value is None or not self._allows(value):
            raise BadOption(f"option {self.name} is {quoted(text)}; allowed is {self._allowed()}")
        return value

    def _convert(self, text: str) -> OptionValue | None:
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text)
        if isinstance(self.default, str):
            return text
        if not re.fullmatch(r"[-+.0-9eE]+", text):  # Python would take 1_000 and nan too
            return None
        try:
            return type(self.default)(text)
        except ValueError:
            return None

    def _allows(self, value: OptionValue) -> bool:
        if isinstance(value, bool):
            return True
        if isinstance(value, str):
            return value in self.choices
        return (self.minimum is None or self.minimum <= value) and (self.maximum is None or value <= self.maximum)

    def _allowed(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return " or ".join(self.choices)
        if isinstance(self.default, int):
            return f"a whole number from {self.minimum} to {self.maximum}"
        return f"a number from {self.minimum:g} to {self.maximum:g}"


def read_options(options: Sequence[Option], texts: Mapping[str, str]) -> dict[str, OptionValue]:
    """The value of every option: what the texts say, the default for the rest."""
    known = {name: option for option in options for name in (option.name, *option.aliases)}
    values = {option.name: option.default for option in options}
    given: dict[str, str] = {}  # the name by which each option was set
    for name, text in texts.items():
        if name not in known:
            raise BadOption(f"unknown option {quoted(name)}; options are {', '.join(values) or 'none'}")
        option = known[name]
        earlier = given.setdefault(option.name, name)
        if texts[earlier] != text:
            raise BadOption(
                f"options {earlier} and {name} mean the same, but are {quoted(texts[earlier])} and {quoted(text)}"
            )
        values[option.name] = option.read(text)
    return values


def memory_option(default: int, minimum: int, maximum: int) -> Option:
    """The option for the megabytes that a searcher may use."""
    return Option(MEMORY, "Megabytes that a search may use.", default=default, minimum=minimum, maximum=maximum)


def granted_megabytes(options: Mapping[str, OptionValue], megabytes: int | None) -> int:
    """The megabytes that a searcher was granted; without a grant, those that its options ask for."""
    return int(options[MEMORY]) if megabytes is None else megabytes
