"""Configurations: values with names, one's own by reference, and where each can run."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from abtune.configurations import (
    ASYNC,
    CONFIGURATIONS,
    DEFAULT_PAIR,
    MAINLINE,
    Configuration,
    find_configuration,
    import_attribute,
    require_runnable,
)
from abtune.errors import InputError, TargetError


@pytest.fixture
def own(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put modules with configurations into the working folder."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(empty_folder)])
    Path("own_configs.py").write_text(
        "from abtune.configurations import Configuration\n"
        "MINE = Configuration(name='mine', pass_config={'tirx.x': True})\n"
        "OTHER = {'name': 'mine'}\n",
        encoding="utf-8",
    )
    Path("wrong_configs.py").write_text("def x(:\n", encoding="utf-8")
    Path("failing_configs.py").write_text("None.absent\n", encoding="utf-8")
    Path("leaving_configs.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    Path("final_configs.py").write_text("raise GeneratorExit(3)\n", encoding="utf-8")
    Path("refusing_configs.py").write_text(
        "def __getattr__(name): raise ValueError(f'no {name}')\n", encoding="utf-8"
    )
    Path("broken_configs.py").write_text("import absent_module\n", encoding="utf-8")
    yield
    sys.modules.pop("own_configs", None)


def test_names_are_found() -> None:
    """Every configuration is found by its name, which is its own."""
    for name, config in CONFIGURATIONS.items():
        assert find_configuration(name) is config
        assert config.name == name


def test_pairs_are_runnable() -> None:
    """The default baseline and candidate of each kind of target exist, differ, and run there."""
    for kind, names in DEFAULT_PAIR.items():
        assert len(set(names)) == 2
        for name in names:
            require_runnable(find_configuration(name), kind=kind, arch=90 if kind == "cuda" else 0)


def test_the_published_pair_differs_in_its_meaning() -> None:
    """The baseline leaves out asynchronous design spaces; the candidate builds with asynchronous copies."""
    assert MAINLINE.skipped_annotation == "software_pipeline_async_stages"
    assert MAINLINE.pass_config == {}
    assert ASYNC.skipped_annotation == ""
    assert ASYNC.pass_config == {"tirx.use_async_copy": True}
    assert MAINLINE.strategy == ASYNC.strategy == "evolutionary"


def test_settings_are_what_decides() -> None:
    """Settings differ where anything that is searched does."""
    for change in (
        {"name": "x"},
        {"strategy": "replay-trace"},
        {"strategy_options": {"x": 1}},
        {"skipped_annotation": "x"},
        {"pass_config": {"x": 1}},
        {"space": "x:y"},
        {"cost_model": "x:y"},
        {"target_kind": "llvm"},
        {"minimum_arch": 1},
    ):
        assert replace(MAINLINE, **change).settings() != MAINLINE.settings()  # type: ignore[arg-type]
    assert "cost_model" not in MAINLINE.settings()  # nor in those of sweeps by earlier versions


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "evolutionery"}, "unknown search strategy 'evolutionery'; did you mean: evolutionary"),
        ({"strategy_options": {"size": "many"}}, "strategy_options of configuration 'x': size is no int or "),
        ({"strategy_options": {"size": float("nan")}}, "strategy_options of configuration 'x': size is nan"),
        ({"pass_config": {"tirx.x": object()}}, "pass_config of configuration 'x': tirx.x is no int or str"),
        ({"pass_config": {5: True}}, "pass_config of configuration 'x': the name 5 is no str"),
        ({"strategy_options": {5: 6}}, "strategy_options of configuration 'x': the name 5 is no str"),
        (
            {"strategy_options": None},
            "strategy_options of configuration 'x' must be of type dict, not NoneType",
        ),
        ({"minimum_arch": "80"}, "minimum_arch of configuration 'x' must be of type int, not str"),
        ({"minimum_arch": True}, "minimum_arch of configuration 'x' must be of type int, not bool"),
        ({"strategy": 5}, "strategy of configuration 'x' must be of type str, not int"),
        ({"target_kind": None}, "target_kind of configuration 'x' must be of type str, not NoneType"),
        ({"skipped_annotation": 1}, "skipped_annotation of configuration 'x' must be of type str, not int"),
        ({"space": 5}, "space of configuration 'x' must be of type str, not int"),
        ({"space": "mine"}, "space of configuration 'x' is no module:function: 'mine'"),
        ({"space": ":space"}, "space of configuration 'x' is no module:function: ':space'"),
        ({"cost_model": "mine"}, "cost_model of configuration 'x' is no module:function: 'mine'"),
        (
            {"cost_model": "mine:model", "strategy": "replay-trace"},
            "configuration 'x': replay-trace asks no cost_model; leave it out",
        ),
        ({"name": 5}, "name of configuration must be of type str, not int"),
    ],
)
def test_what_no_search_can_use_is_refused(changes: dict[str, Any], said: str) -> None:
    """A strategy that does not exist, and values that no file can hold, are named before anything begins."""
    with pytest.raises(InputError) as caught:
        Configuration(**{"name": "x", **changes})
    assert str(caught.value).startswith(said)


def test_configurations_travel() -> None:
    """A configuration arrives in another process as it was."""
    for config in CONFIGURATIONS.values():
        assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own


def test_own_configurations_are_found(own: None) -> None:
    """One's own is found as module:attribute, in the working folder too."""
    assert find_configuration("own_configs:MINE").name == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mainlin", "unknown configuration 'mainlin'; did you mean: mainline"),
        ("zzz", "unknown configuration 'zzz'; there are: mainline, async"),
        ("own_configs:OTHER", "own_configs:OTHER is of type dict, not abtune.configurations.Configuration"),
        ("own_configs:ABSENT", "module 'own_configs' has no attribute 'ABSENT'"),
        ("absent_configs:X", "cannot import 'absent_configs:X': No module named 'absent_configs'"),
        ("broken_configs:X", "cannot import 'broken_configs:X': No module named 'absent_module'"),
        ("wrong_configs:X", "cannot import 'wrong_configs:X': SyntaxError: "),
        ("failing_configs:X", "cannot import 'failing_configs:X': AttributeError: 'NoneType'"),
        ("leaving_configs:X", "cannot import 'leaving_configs:X': SystemExit: 3"),
        ("final_configs:X", "cannot import 'final_configs:X': GeneratorExit: 3"),
        ("refusing_configs:X", "cannot import 'refusing_configs:X': ValueError: no X"),
        (":X", "cannot import ':X': write mine:wide"),
        ("../own_configs:X", "cannot import '../own_configs:X': write mine:wide"),
        ("own_configs:", "module 'own_configs' has no attribute ''"),
        ("..:X", "cannot import '..:X'"),
        (".own_configs:MINE", "cannot import '.own_configs:MINE'"),
    ],
)
def test_names_that_name_nothing_are_refused(own: None, name: str, said: str) -> None:
    """A name that does not exist, or is no configuration, is one line."""
    with pytest.raises(InputError) as caught:
        find_configuration(name)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["Configuration(name='')", "import absent_module"])
def test_a_module_that_fails_is_named_with_its_line(empty_folder: Path, text: str) -> None:
    """The line of one's own module that failed is said, also where it failed within abtune."""
    Path("third_line.py").write_text(f"from abtune.configurations import Configuration\n\n{text}\n")
    with pytest.raises(InputError, match=r"\(third_line\.py, line 3\)$"):
        find_configuration("third_line:X")


def test_any_attribute_can_be_imported(own: None) -> None:
    """What a configuration names, such as a design space, is imported in the same way."""
    assert import_attribute("own_configs:OTHER") == {"name": "mine"}
    assert sys.path.count(str(Path.cwd())) == 1


def test_a_module_changes_nothing_for_those_who_import_it(
    own: None, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that works in another folder sends no dataset there, and output still goes where it went."""
    Path("elsewhere").mkdir()
    Path("moving_configs.py").write_text(
        "import os, sys\nos.chdir('elsewhere')\nsys.stdout = sys.stderr = None\nMINE = 1\n", encoding="utf-8"
    )
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):  # else a failure leaves them so
        monkeypatch.setattr(sys, name, getattr(sys, name))
    assert import_attribute("moving_configs:MINE") == 1
    assert (Path.cwd(), sys.stdout, sys.stderr) == (empty_folder, *before)


@pytest.mark.skipif(sys.platform == "win32", reason="a working folder cannot be removed there")
def test_a_design_space_of_abtune_needs_no_working_folder(empty_folder: Path) -> None:
    """Where that folder was removed, only modules in it cannot be imported."""
    gone = empty_folder / "gone"
    gone.mkdir()
    os.chdir(gone)  # empty_folder goes back
    gone.rmdir()
    assert import_attribute("abtune.traces:synchronous")
    with pytest.raises(InputError, match="cannot import 'mine:thing': No module named 'mine'"):
        import_attribute("mine:thing")


def test_what_lies_beside_a_configuration_hides_no_library(
    own: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory comes first for the module that is named, and last for all that comes later."""
    Path("colorsys.py").write_text("OTHER = 'ours'", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    import_attribute("own_configs:OTHER")
    assert importlib.import_module("colorsys").rgb_to_hsv(0, 0, 1)[2] == 1
    monkeypatch.delitem(sys.modules, "colorsys")
    assert import_attribute("colorsys:OTHER") == "ours"
    monkeypatch.delitem(sys.modules, "colorsys")


@pytest.mark.parametrize("name", ["", "a/b", "a b", "..", "a\nb", "a\0b", "x" * 200, "größer", "-a"])
def test_names_are_fit_for_files(name: str) -> None:
    """A name becomes part of the name of a file, so it has letters, digits and little else."""
    with pytest.raises(InputError, match="name of a configuration"):
        Configuration(name=name)


@pytest.mark.parametrize(
    ("config", "kind", "arch", "said"),
    [
        (
            MAINLINE,
            "llvm",
            0,
            "'mainline' needs a cuda target; use random and vector-tiles",
        ),
        (
            ASYNC,
            "cuda",
            75,
            "'async' needs compute capability sm_80 or newer; use random",
        ),
        (
            Configuration(name="x", target_kind="llvm"),
            "cuda",
            90,
            "'x' needs a llvm target; use mainline and async here",
        ),
    ],
)
def test_what_cannot_run_is_refused(config: Configuration, kind: str, arch: int, said: str) -> None:
    """A configuration that the target cannot run is refused with the reason and what to use instead."""
    with pytest.raises(TargetError) as caught:
        require_runnable(config, kind=kind, arch=arch)
    assert said in str(caught.value)


def test_what_can_run_is_not_refused() -> None:
    """A configuration without needs runs anywhere; one with needs where they are met."""
    require_runnable(Configuration(name="x"), kind="llvm", arch=0)
    require_runnable(Configuration(name="x"), kind="cuda", arch=60)
    require_runnable(ASYNC, kind="cuda", arch=80)
