"""docs/protocol.md has every service, method, message, field and value of the schema, and every game's notation."""

import re
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from plyd.engines import registry
from plyd.v1 import engine_pb2, position_pb2, rules_pb2, search_pb2
from tests.test_docs import generate

TEXT = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text()
FILES = [module.DESCRIPTOR for module in (position_pb2, search_pb2, engine_pb2, rules_pb2)]
MESSAGES = {name: message for file in FILES for name, message in file.message_types_by_name.items()}
ENUMS = {name: enum for file in FILES for name, enum in file.enum_types_by_name.items()}
METHODS = [method for file in FILES for service in file.services_by_name.values() for method in service.methods]
SCALARS = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def rows(name):
    """The first two columns of the table that explains a message or an enum."""
    [section] = re.findall(rf"^#### `{name}`\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `(\w+)` \| (.*?) \| \S.* \|$", section, re.MULTILINE)


def type_of(field):
    """A field's type as the schema writes it."""
    kind = field.message_type or field.enum_type
    if field.message_type and field.message_type.GetOptions().map_entry:
        key, value = kind.fields_by_name["key"], kind.fields_by_name["value"]
        return f"map<{SCALARS[key.type]}, {SCALARS[value.type]}>"
    name = kind.name if kind else SCALARS[field.type]
    if field.is_repeated:
        return f"repeated {name}"
    is_optional = field.containing_oneof and field.containing_oneof.name == f"_{field.name}"
    return f"optional {name}" if is_optional else name


@pytest.mark.parametrize("name", MESSAGES)
def test_message_is_explained_field_by_field(name):
    assert rows(name) == [(field.name, type_of(field)) for field in MESSAGES[name].fields]


@pytest.mark.parametrize("name", MESSAGES)
def test_choice_of_one_is_told(name):
    section = TEXT.partition(f"#### `{name}`\n")[2].partition("\n#")[0]
    told = re.findall(r"^\| `(\w+)` \|.*\| \*One of `(\w+)`\.\* ", section, re.MULTILINE)
    choices = [choice for choice in MESSAGES[name].oneofs if not choice.name.startswith("_")]
    assert told == [(field.name, choice.name) for choice in choices for field in choice.fields]


@pytest.mark.parametrize("name", ENUMS)
def test_enum_is_explained_value_by_value(name):
    assert rows(name) == [(value.name, str(value.number)) for value in ENUMS[name].values]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_method_is_listed_with_what_it_takes_and_gives(method):
    takes = f"{'stream ' if method.client_streaming else ''}`{method.input_type.name}`"
    gives = f"{'stream ' if method.server_streaming else ''}`{method.output_type.name}`"
    table = TEXT.partition(f"| `{method.containing_service.full_name}` |")[2].partition("\n\n")[0]
    assert f"| `{method.name}` | {takes} | {gives} | " in table


def test_every_name_in_the_reference_is_in_the_schema():
    assert set(re.findall(r"^#### `(\w+)`$", TEXT, re.MULTILINE)) == {*MESSAGES, *ENUMS}


@pytest.mark.parametrize("game", registry.ENGINES)
def test_notation_of_every_game_is_shown_by_its_examples(game):
    card = registry.load(game).card
    notation = TEXT.partition(generate.BEGIN)[0]
    [(position, move)] = re.findall(rf"^\| `{game}` \| (.*) \| (.*) \|$", notation, re.MULTILINE)
    for example in card.position_examples:
        assert f"`{example}`" in position
    for example in card.move_examples:
        assert f"`{example}`" in move


def test_ports_variants_and_options_of_every_game_are_those_that_it_describes():
    assert generate.games_text() in TEXT, "stale: run .venv/bin/python docs/generate.py"
