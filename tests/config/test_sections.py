"""A setting is written once, as a field of its section: all else follows."""

import copy
import json
from dataclasses import dataclass, field, fields

import pytest
from places import ROOT

from odl import learners
from odl.config.schema import closed
from odl.config.sections import Alerts, Batches, FollowedAlerts, Order, Stream, Study, Weighting
from odl.config.setting import Section, setting, table, without
from odl.corpora import collection
from odl.errors import ConfigError, ParameterError


@dataclass(frozen=True)
class MoreAlerts(FollowedAlerts):
    patience: int = setting(2, "periods that a topic may be small in", "periods", minimum=1)


@dataclass(frozen=True, kw_only=True)
class MoreStudy(Study):
    alerts: MoreAlerts


def test_a_setting_of_alerts_is_one_field():
    """Schema, default, argument of the step, check and row of the table."""
    entry = MoreStudy.schema()["properties"]["alerts"]["properties"]["patience"]
    assert entry == {
        "type": "integer",
        "default": 2,
        "minimum": 1,
        "description": "periods that a topic may be small in",
    }
    assert MoreStudy.defaults()["alerts"] == {**FollowedAlerts.defaults(), "patience": 2}
    assert MoreAlerts.from_map({"patience": 3}, "--settings").patience == 3
    assert MoreAlerts.part({"patience": 3, "other": 1}) == {"patience": 3}
    row = "| `alerts.patience` | periods that a topic may be small in | periods, from 1 | `2` |"
    assert table(MoreAlerts, "alerts").splitlines()[-1] == row
    with pytest.raises(ConfigError, match="did you mean 'patience'"):
        MoreAlerts.from_map({"patiense": 3})
    with pytest.raises(ParameterError, match="patience is 0; expected an integer at least 1"):
        MoreAlerts(patience=0)


@pytest.mark.parametrize("kind", [complex, list, list[complex]])
def test_a_setting_of_a_kind_that_no_configuration_has_is_one_sentence(kind):
    @dataclass(frozen=True)
    class Odd(Section):
        size: kind = setting(1)

    for make in (Odd, Odd.schema):
        with pytest.raises(
            ParameterError, match=r"size is a .*(complex|list).*; expected bool, int, .*annotation"
        ):
            make()


def test_a_plain_field_may_have_its_limits_as_metadata():
    @dataclass(frozen=True)
    class Own(Section):
        size: int = field(default=3, metadata={"minimum": 1})

    assert Own.schema()["properties"]["size"] == {"type": "integer", "default": 3, "minimum": 1}
    with pytest.raises(ParameterError, match="size is 0; expected an integer at least 1"):
        Own(size=0)


def test_nobody_else_names_a_setting_of_alerts_to_describe_it():
    """Beside its section a setting stands where it is used: the name of none is in the workflow's rules."""
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    own = {entry.name for entry in fields(Alerts)} - {
        "topics",
        "terms",
        "window",
        "budget",
        "level",
        "past",
    }
    assert len(own) > 5 and not {name for name in own if f'"{name}"' in rules}


def test_what_is_inside_a_section_is_one_too():
    stream = Order.from_map({"batches": {"documents": 9}, "protocol": "topic-entry"}, "--stream")
    assert stream.batches == Batches(documents=9) and stream.topic_entry.last == 1
    with pytest.raises(ConfigError, match=r"--stream\.batches\.documents is 0"):
        Order.from_map({"batches": {"documents": 0}}, "--stream")
    defaults = Stream.defaults()
    before = copy.deepcopy(defaults)
    defaults["timesteps"].append(1)
    assert Stream.defaults() == before, "a default is shared"


RECORDED = {
    "alerts": Alerts.schema(),
    "features": Weighting.schema(),
    "stream": Order.schema(),
    "options": closed(collection.OPTIONS),
    **{name: learners.learner_class(name).schema() for name in learners.LEARNERS},
}
FROZEN = json.loads((ROOT / "tests" / "config" / "settings.json").read_text(encoding="utf-8"))


def newer(schema, frozen, within=""):
    """Yield the settings that need `earlier`: those that the frozen list lacks or has with another default."""
    for name, entry in schema["properties"].items():
        if "properties" in entry:
            yield from newer(entry, frozen, f"{within}{name}.")
        elif "earlier" not in entry and (
            within + name not in frozen or frozen[within + name] not in (None, entry.get("default"))
        ):
            yield within + name


@pytest.mark.parametrize("kind", RECORDED)
def test_a_new_setting_and_a_new_default_declare_what_reproduces_earlier_versions(kind):
    """settings.json lists the settings of the first version with these records. Do not add to it: write `earlier=`."""
    if kind in FROZEN:  # a learner that it lacks has no records of earlier versions
        assert list(newer(RECORDED[kind], FROZEN[kind])) == []


def test_a_setting_without_earlier_is_found():
    assert list(newer(MoreAlerts.schema(), FROZEN["alerts"] | {"run": None, "atoms": None})) == [
        "patience"
    ]
    assert list(newer(RECORDED["features"], FROZEN["features"] | {"tf": "log"})) == ["tf"]


def test_a_value_of_an_earlier_version_is_recorded_as_that_version_did():
    @dataclass(frozen=True)
    class Inner(Section):
        size: int = setting(3, earlier=1)

    @dataclass(frozen=True)
    class Outer(Section):
        inner: Inner = field(default_factory=Inner)
        tf: str = setting("raw")

    assert Outer.earlier() == {"inner": {"size": 1}}
    assert without({"tf": "raw", "inner": {"size": 1}}, Outer.earlier()) == {
        "tf": "raw",
        "inner": {},
    }
    assert without({"inner": {"size": 3}}, Outer.earlier()) == {"inner": {"size": 3}}


def test_a_key_that_was_removed_is_refused_with_what_took_its_place():
    with pytest.raises(
        ConfigError, match=r"'alerts.pool' is no longer a setting: .*events.*; remove it"
    ):
        Alerts.from_map({"pool": 100})
