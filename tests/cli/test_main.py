from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from drawing import further
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner, Result

import secateur
from secateur import datasets
from secateur.cli.console import errors, out
from secateur.cli.main import app, run
from secateur.errors import SecateurError
from secateur.export.listing import make_listing
from secateur.export.text import lay_out
from secateur.rules.making import StoredContent
from secateur.verify import Verification
from secateur.words.conditions import count_of

COMMANDS = ["simplify", "methods", "reproduce"]
SCRIPT = Path(sys.executable).with_name("secateur")


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables as wide as they like, without colours, whatever the terminal of the person who runs the tests."""
    monkeypatch.setenv("COLUMNS", "250")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    for console in (out, errors):
        monkeypatch.setattr(console, "width", 250)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command as a person calls it."""
    monkeypatch.setattr(sys, "argv", ["secateur", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=120, check=False)


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def embedded(table: str, method: str, *, each_leaf: bool) -> secateur.Rules:
    """The rules of an embedded table; the columns of zeros and ones of a category read as one."""
    data = datasets.load(table)
    groups: dict[str, list[str]] = {}
    for column in data.feature_names:
        groups.setdefault(column.split("=")[0], []).append(column)
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    known = {"feature_names": data.feature_names, "groups": groups, "domain_knowledge": not each_leaf}
    return secateur.simplify(model, data.X, data.y, method=method, each_leaf=each_leaf, **known)


@pytest.mark.parametrize("table", ["weather", "human-id"])
@pytest.mark.parametrize("method", [*secateur.METHODS, "M1-D", "M1-P", "M2-D", "M2-P", "Izza", "Quinlan"])
def test_simplify_shows_what_the_library_does(table: str, method: str) -> None:
    result = invoke("simplify", "--table", table, "--each-leaf", "--method", method, "--verbose")
    assert result.exit_code == 0
    data = datasets.load(table)
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    plain = secateur.simplify(model, data.X, data.y, method=method, each_leaf=True, feature_names=data.feature_names)
    rules = embedded(table, method, each_leaf=True)
    if method != "budgeted":  # which shuffles the columns of a category together
        assert rules.deleted.tolist() == plain.deleted.tolist()  # groups only help to read
    shown = one_line(result.stdout)
    assert f"A decision tree for the embedded table {table} predicts " in shown
    assert rules.method in shown
    left = f"{rules.n_conditions} of {rules.tree_conditions} conditions left"
    assert f"One rule for each of {len(rules)} leaves, by {rules.method}: {left}." in shown
    unpriced = rules.method not in ("budgeted", "quinlan")  # numbers behind their reasons are not counted again
    assert ("Verified." if unpriced else "Nothing is wrong, but not everything was checked.") in shown
    assert "Measured on" in shown
    assert "What is guaranteed" in shown
    assert one_line(rules.guarantee) in one_line(result.stdout.replace("│", " "))
    for rule in rules:
        asked = f"if {rule.asked}" if rule.kept_ids else "always"
        assert f"{rule.index + 1}. {rule.class_name} {asked}" in shown


@pytest.mark.parametrize("table", ["weather", "human-id"])
@pytest.mark.parametrize("method", secateur.METHODS)
def test_simplify_shows_a_short_list_of_every_method(table: str, method: str) -> None:
    result = invoke("simplify", "--table", table, "--method", method)
    assert result.exit_code == 0
    rules = embedded(table, method, each_leaf=False)
    for line in lay_out(replace(make_listing(rules), before=(), after=())).splitlines():
        assert line in result.stdout
    shown = one_line(result.stdout)
    sections = f" in {len(rules.sections)} sections" if len(rules.sections) > 1 else ""
    size = f"{count_of(rules.n_lines, 'line')}{sections} with {count_of(rules.n_conditions, 'condition')}"
    assert f"{size}; the tree has {count_of(rules.tree_rules, 'rule')} with {rules.tree_conditions}." in shown
    moves = ", and no probability moves by more than 10 points," if rules.keeps_shares else ""
    assert (f"Compared with the tree, no answer changes{moves} for any possible row." in shown) == rules.is_exact
    assert rules.keeps_shares == (method == "exact")
    assert "always saying " in shown
    assert "Next: secateur simplify YOUR_TABLE.csv --target COLUMN" in shown
    assert len(result.stdout.splitlines()) < 40
    assert "=" not in result.stdout  # no column of zeros and ones


def test_simplify_shows_a_real_table_on_one_screen_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", 80)
    shown = invoke("simplify").stdout
    assert shown == invoke("simplify", "--table", "tumours", "--method", "exact").stdout
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("Among ") >= 2
    words = one_line(shown)
    assert "Set aside 143 of 569 rows, drawn from each class" in words
    found, named = re.findall(r"malignant: finds (\d+) of 53 unseen .* of (\d+) that it names", words)[0]
    data = load_breast_cancer(as_frame=True)
    rows, held, labels, wanted = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target_names[data.target], random_state=0
    )
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
    said = tree.fit(rows.sort_index(), labels.sort_index()).predict(held)
    assert (int(found), int(named)) == (((said == 0) & (wanted == 0)).sum(), (said == 0).sum())


def test_the_seed_and_the_depth_change_the_tree() -> None:
    weather = ("simplify", "--table", "weather")
    assert "the tree has 7 rules with 18." in one_line(invoke(*weather, "--seed", "5").stdout)
    assert "the tree has 2 rules with 2." in one_line(invoke(*weather, "--max-depth", "1").stdout)
    assert invoke(*weather, "--seed", "1").stdout != invoke(*weather, "--seed", "5").stdout


def test_the_tolerance_reaches_the_method() -> None:
    asked = ("simplify", "--each-leaf", "--method", "mismatch", "--max-depth", "2", "--tolerance")
    strict, loose = (one_line(invoke(*asked, share).stdout) for share in ("0", "1"))
    assert strict != loose
    counts = [int(re.findall(r"(\d+) of \d+ conditions left", shown)[0]) for shown in (strict, loose)]
    assert counts[0] >= counts[1]


def test_the_conflict_reaches_the_method() -> None:
    asked = ("simplify", "--each-leaf", "--method", "budgeted", "--max-conflict")
    shown = [one_line(invoke(*asked, share).stdout) for share in ("0", "1")]
    for text, share in zip(shown, ("0", "1"), strict=True):
        assert f"they disagree on at most {share} of all" in text


def test_the_budget_reaches_the_short_list() -> None:
    shown = [one_line(invoke("simplify", "--budget", share).stdout) for share in ("0", "1")]
    counts = [int(re.findall(r"with (\d+) conditions?; the tree", text)[0]) for text in shown]
    assert counts[0] > counts[1]
    assert "get another class than from the tree" in shown[1]


def test_simplify_says_the_same_twice() -> None:
    assert invoke("simplify", "--table", "human-id").stdout == invoke("simplify", "--table", "human-id").stdout


def test_methods_lists_every_method_in_order_with_its_aliases() -> None:
    result = invoke("methods")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    places = []
    for name, method in secateur.METHODS.items():
        (place,) = [i for i, line in enumerate(lines) if re.match(rf"{name}( \(|$)", line)]
        places.append(place)
        assert all(alias in lines[place] for alias in method.aliases)
        assert lines[place + 1] == f"  {method.summary}"
        assert method.preserves in lines[place + 2]
        assert ("needs training rows" in lines[place + 2]) == method.needs_rows
    assert places == sorted(places)


def test_reproduce_prints_the_papers_numbers_beside_ours() -> None:
    result = invoke("reproduce", "deterministic")
    assert result.exit_code == 0
    lines = [one_line(line) for line in result.stdout.splitlines()]
    ours = [line for line in lines if line.startswith(("Weather", "human-id"))]
    theirs = [line for line in lines if line.startswith("(")]
    assert len(ours) == len(theirs) == 6
    assert ours[0] == "Weather M1-D 7 30.43 71.43 1.00 7/7 100.0 0.0 5"
    assert theirs[0] == "(7) (30.43) (71.43) (1.00) (7/7) (100.0) (0.0)"
    assert ours[4] == "human-id M2-D 3 20.00 33.33 0.33 3/3 100.0 0.0 0"
    assert "state is the smallest random_state" in one_line(result.stdout)
    assert "Every cell agrees." in result.stdout


def test_every_number_of_the_reproduction_is_legible_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", 80)
    result = invoke("reproduce", "deterministic")
    assert "…" not in result.stdout
    assert "(30.43)" in result.stdout


def test_reproduce_ends_with_1_when_a_number_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.lab import deterministic

    other = [replace(row, coverage_pct=99.0) for row in deterministic.expected_rows()]
    ours = deterministic.reproduce_deterministic()
    monkeypatch.setattr(deterministic, "reproduce_deterministic", lambda: ours)
    monkeypatch.setattr(deterministic, "expected_rows", lambda: other)
    result = invoke("reproduce", "deterministic")
    assert result.exit_code == 1
    assert "(99.0)" in result.stdout
    assert "6 rows differ from the paper." in result.stdout


def test_simplify_ends_with_1_when_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    verify = secateur.Rules.verify

    def fail(rules: secateur.Rules) -> Verification:
        return verify(rules.change(stored=StoredContent("no digest", "another", "0")))

    assert invoke("simplify").exit_code == 0
    monkeypatch.setattr(secateur.Rules, "verify", fail)
    for form in ((), ("--each-leaf",)):
        failed = invoke("simplify", *form)
        assert failed.exit_code == 1
        assert "NOT verified." in failed.stdout  # without --verbose, too
        assert "proved it" not in failed.stdout


def test_what_faithful_protects_goes_only_when_asked(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.assign(outcome=y).to_csv(tmp_path / "cancer.csv", index=False)
    asked = ["simplify", str(tmp_path / "cancer.csv"), "--target", "outcome", "--tolerance", "0.2", "--json"]
    left = [
        json.loads(invoke(*asked, "--each-leaf", "--method", "faithful", *more).stdout)["n_conditions"]
        for more in ((), ("--no-protect",))
    ]
    assert left[1] < left[0]
    rejected = invoke("simplify", "--method", "mismatch", "--no-protect")
    assert "does not read protect; 'faithful' does" in str(rejected.exception)


# Help.


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"Usage: secateur {command}" in one_line(result.stdout)


def test_the_help_names_the_commands_and_the_exit_status() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    shown = one_line(result.stdout)
    assert "Short rules from decision trees, without making them lie." in shown
    assert all(command in shown for command in COMMANDS)
    assert "Exit status: 0 all is well, 1 a check failed, 2 the input was wrong." in shown


def test_the_help_of_simplify_explains_every_option() -> None:
    shown = one_line(invoke("simplify", "--help").stdout)
    for words in (
        *("--table", "tumours|weather|human-id", "The embedded table to use."),
        *("--method", "How to delete; see `secateur methods`."),
        *(
            "--tolerance",
            "Of a short list: how far a line's probability may lie from the tree's; 1 keeps classes only.",
        ),
        "Of other methods: how far a rule's training reliability may move.",
        *("--budget", "Of a short list: fraction of the training rows of each class whose answer may differ from"),
        *("--sections", "Of a short list: the most sections."),
        *("--of", "The class of interest"),
        *("--max-columns", "Of a short list: the most columns that it may ask."),
        *("--max-conflict", "Of the method budgeted: share of rows that rules of different classes may cover"),
        *("--each-leaf", "Give one rule for each leaf, instead of a short list."),
        *("--otherwise", "Of a short list: the class of “otherwise”."),
        *("--max-depth", "Depth limit of the tree."),
        *("--seed", "random_state of the tree."),
        "secateur simplify --table human-id --each-leaf --method M1-D",
    ):
        assert words in shown


def test_no_command_shows_the_help() -> None:
    result = invoke()
    assert "Usage: secateur" in one_line(result.output)
    assert all(command in result.output for command in COMMANDS)


# Mistakes.

MISTAKES = {
    ("simplify", "--method", "sibbling"): "There is no method 'sibbling'. Did you mean 'sibling'?",
    ("simplify", "--method", ""): "There is no method ''.",
    ("simplify", "--method", "[red]none"): "There is no method '[red]none'.",
    ("simplify", "--method", "[/]"): "There is no method '[/]'.",
    ("simplify", "--tolerance", "1.5"): "Expected tolerance as a number from 0 to 1, found 1.5.",
    ("simplify", "--tolerance", "nan"): "Expected tolerance as a number that is not negative, found nan.",
    ("simplify", "--budget", "1.5"): "Expected budget as a number from 0 to 1, found 1.5.",
    ("simplify", "--budget", "nan"): "Expected budget as a number from 0 to 1, found nan.",
    ("simplify", "--max-conflict", "0.1"): "The method 'exact' does not read max_conflict; 'budgeted' does.",
    ("simplify", "--form", "compact"): "No such option: --form",
    (
        "simplify",
        "--tolerance",
        "lots",
    ): "Expected --tolerance as a number, or for numbers such as 0.25sd, found 'lots'.",
    ("simplify", "--table", "wether"): "'wether' is not one of 'tumours', 'weather', 'human-id'.",
    ("simplify", "--max-depth", "0"): "Invalid value for '--max-depth'",
    ("simplify", "--seed", "-1"): "Invalid value for '--seed'",
    ("simplify", "--seed", "4294967296"): "Invalid value for '--seed'",
    ("simplify", "--colour", "red"): "No such option: --colour",
    ("reproduce",): "Missing argument",
    ("reproduce", "random"): "'random' is not",
    ("prune",): "No such command 'prune'.",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_ends_with_2_and_one_sentence(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output, complaint = run_command(monkeypatch, capsys, *arguments)
    assert code == 2
    said = one_line(complaint.replace("│", " "))
    said = re.sub("No such option '(--[a-z]+)'", r"No such option: \1", said)  # click's words, and newer typer's
    assert MISTAKES[arguments] in said
    assert "Traceback" not in complaint
    assert output == ""


def test_a_mistake_found_by_the_library_is_announced_as_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, complaint = run_command(monkeypatch, capsys, "simplify", "--method", "Iza")
    assert one_line(complaint).startswith("Error: There is no method 'Iza'. Did you mean 'redundancy'? Methods: none,")
    assert len(complaint.strip().splitlines()) == 1


def test_a_message_reaches_the_person_word_for_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "The columns are ['a', 'b'], [bold] and [/odd]."

    def fail(name: str) -> None:
        raise SecateurError(sentence)

    monkeypatch.setattr("secateur.datasets.load", fail)
    code, _, complaint = run_command(monkeypatch, capsys, "simplify", "--table", "weather")
    assert code == 2
    assert one_line(complaint) == f"Error: {sentence}"


def test_a_bug_is_not_disguised_as_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("secateur.datasets.load", fail)
    monkeypatch.setattr(sys, "argv", ["secateur", "simplify", "--table", "weather"])
    with pytest.raises(RuntimeError, match="a bug"):
        run()


# The installed script.


@pytest.mark.long
def test_the_installed_script_simplifies() -> None:
    found = run_script("simplify", "--table", "human-id", "--each-leaf", "--method", "M1-D")
    assert found.returncode == 0
    assert found.stderr == ""
    assert "by mismatch-certified: 4 of 5 conditions left." in found.stdout


@pytest.mark.long
def test_the_installed_script_rejects_without_a_traceback() -> None:
    found = run_script("simplify", "--method", "sibbling")
    assert found.returncode == 2
    assert found.stdout == ""
    assert one_line(found.stderr).startswith("Error: There is no method 'sibbling'. Did you mean 'sibling'?")
    assert "Traceback" not in found.stderr


@pytest.mark.long
@pytest.mark.parametrize("call", [["methods"], ["methods", "--json"]])
def test_a_closed_pipe_is_not_a_failed_check(call: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([SCRIPT, *call], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)
    assert done.returncode == 141, done.stderr
    assert not done.stderr


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize(
    ("call", "status"), [(["--version"], 0), (["verify", "x.json"], 2), *further([(["methods"], 0), (["nonsense"], 2)])]
)
def test_the_package_is_the_program_too(call: list[str], status: int) -> None:
    module = [sys.executable, "-m", "secateur", *call]
    done = subprocess.run(module, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (status, run_script(*call).stdout), done.stderr


@pytest.mark.long
def test_the_program_ends_early_and_properly() -> None:
    """Libraries are not taken apart at the end, but what they asked to be called is called, and all is written."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('called'))\n"
        "class Never:\n"
        "    def __del__(self): print('taken apart')\n"
        "kept = Never()\n"
        "sys.argv = ['secateur', 'verify', 'absent.json']\n"
        "print('begun')\n"
        "from secateur.cli.main import start\n"
        "start()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "begun\ncalled\n")
    assert done.stderr == "Error: There is no file absent.json.\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_make_a_success_a_failure(closed: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", f'exec "$0" --version {closed}', SCRIPT], timeout=120, check=False)
    assert done.returncode == 0


@pytest.mark.long
def test_the_program_waits_for_threads_of_libraries() -> None:
    code = (
        "import sys, threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(1), print('done'))).start()\n"
        "sys.argv = ['secateur', '--version']\n"
        "from secateur.cli.main import start\n"
        "start()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout.splitlines()
