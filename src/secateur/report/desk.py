"""The desk: a page with the rows behind it, so that edits are priced, trees fitted again and trainings compared.

It keeps no state of an edit: a page sends its whole journal each time, so two pages never disturb one another. It is
served to the browser of this machine alone, on 127.0.0.1. A request is answered if it names this host, which a page of
another site cannot make a browser do, knows the token in the address, and does not come from another origin.
"""

import hmac
import json
import re
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from secateur.errors import InputError, SecateurError
from secateur.report.cells import describe_groups, describe_limits
from secateur.report.material import RowsAtHand, known_numbers
from secateur.report.page import make_report, to_json
from secateur.report.rules import describe_list
from secateur.report.summarize import find_list
from secateur.results.difference import compare_answers
from secateur.rules.edits import Price, read_journal
from secateur.rules.rules import Rules

MOST_TRAININGS = 20
SHOWN_REGIONS = 50


@dataclass(frozen=True)
class Training:
    """Rules that are open, with the rows to measure on, as they take them, and their labels."""

    name: str
    rules: Rules
    X: Any = None
    y: Any = None
    columns: tuple[str, ...] = ()  # that a tree may be fitted to again
    page: Mapping[str, Any] = field(default_factory=dict)  # further arguments of ``rules.report``


class Desk:
    """Trainings that are open, and what can be asked about them; one question is answered at a time."""

    def __init__(self, trainings: Sequence[Training], refit: Callable[[list[str]], Training] | None = None) -> None:
        self.trainings, self._refit = list(trainings), refit
        self._lock = threading.Lock()
        self._lists: dict[int, tuple[Rules, RowsAtHand]] = {}

    def render(self, place: int) -> str:
        """Write the page of a training."""
        with self._lock:
            shown = self._find(place)
            desk = {
                "training": place,
                "trainings": [one.name for one in self.trainings],
                "columns": list(shown.columns) if self._refit is not None else [],
            }
            return make_report(shown.rules, shown.X, shown.y, **shown.page, desk=desk).to_html()

    def ask(self, place: int, question: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question about a training as plain values."""
        answers = {"edit": self._edit, "refit": self._fit_again, "beside": self._compare}
        if question not in answers:
            raise InputError(f"There is no question {question!r}.")
        with self._lock:
            self._find(place)
            return answers[question](place, asked)

    def _find(self, place: int) -> Training:
        if not 0 <= place < len(self.trainings):
            raise InputError(f"There is no training {place}: {len(self.trainings)} are open.")
        return self.trainings[place]

    def _find_list(self, place: int) -> tuple[Rules, RowsAtHand]:
        if place not in self._lists:
            shown = self.trainings[place]
            given, at_hand = find_list(shown.rules, shown.X, shown.y)
            self._lists[place] = at_hand.measure(given), at_hand
        return self._lists[place]

    def _edit(self, place: int, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Make the edits of a journal, and at last strike lines until so many are left, if that is asked."""
        rules, at_hand = self._find_list(place)
        edited = rules.replay(read_journal(asked))
        if asked.get("lines") is not None:
            edited = edited.limit(lines=asked["lines"], reason=str(asked.get("reason", "")))
        shown, groups = self.trainings[place], None
        if (groups_by := shown.page.get("groups_by")) is not None:
            groups = describe_groups(edited, shown.X, at_hand, groups_by)
        try:
            regions, note = edited.changed(), ""
        except InputError as error:
            regions, note = (), str(error)
        return {
            "list": describe_list(edited, at_hand, at_hand.audit(edited), None) | describe_limits(edited, rules),
            "journal": [edit.to_dict() for edit in edited.journal],
            "price": {"training": _describe_price(edited.price), "unseen": _describe_price(edited.unseen_price)},
            "regions": [{"text": r.text, "tree": r.tree_class, "list": r.list_class} for r in regions[:SHOWN_REGIONS]],
            "n_regions": len(regions),
            "regions_note": note,
            "guarantee": edited.guarantee,
            "groups": groups,
        }

    def _fit_again(self, place: int, asked: Mapping[str, Any]) -> dict[str, Any]:
        without, shown = asked.get("without"), self.trainings[place]
        if self._refit is None:
            raise InputError("A tree is fitted again where a table was opened: `secateur open TABLE --target COLUMN`.")
        if not isinstance(without, list) or not without or not all(one in shown.columns for one in without):
            raise InputError(f"Expected the columns to leave out as a list of names, found {without!r}.")
        if len(self.trainings) == MOST_TRAININGS:
            raise InputError(f"{MOST_TRAININGS} trainings are open already: end this one, and open the table again.")
        self.trainings.append(self._refit(without))
        return {"training": len(self.trainings) - 1}

    def _compare(self, place: int, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Put two trainings side by side, with the rows that change their answer."""
        other = asked.get("other")
        if type(other) is not int:
            raise InputError(f"Expected the number of another training, found {other!r}.")
        old, new = self._find(other), self._find(place)
        lists = [self._find_list(one)[0] for one in (other, place)]
        difference = lists[0].diff(lists[1])
        is_same = old.X is not None and new.X is not None and np.array_equal(old.y, new.y)
        if is_same:
            difference = replace(difference, swaps=compare_answers(lists[0], lists[1], old.X, old.y, new.X))
        no_swaps = "" if is_same else "Both have no rows in common, so which rows change their answer is unknown."
        return {
            "names": [old.name, new.name],
            "texts": [rules.to_text(width=52) for rules in lists],
            "told": f"{difference}\n{no_swaps}".rstrip(),
        }


def _describe_price(price: Price | None) -> dict[str, Any] | None:
    """Describe a price: the rows, those with another class, and by class those caught and lost."""
    if price is None:
        return None
    counted = {name: known_numbers(getattr(price, name)) for name in ("caught", "lost")}
    return {"rows": price.rows, "differs": price.differs, "off": price.off, "largest": price.largest, **counted}


HOST = "127.0.0.1"
MOST_ASKED = 1_000_000  # bytes of a question
PATIENCE = 30  # seconds for a request to arrive
PATH = re.compile(r"/([^/]*)/(?:(\d{1,4})/([a-z]*))?")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself says the rest
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}


class DeskServer(ThreadingHTTPServer):
    """A server for one desk, on a free port.

    Attributes
    ----------
    address : str
        Where the page is, with the token.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk, self.token = desk, secrets.token_urlsafe(24)
        super().__init__((HOST, 0), _Handler)
        self.origin = f"http://{HOST}:{self.server_port}"
        self.address = f"{self.origin}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that goes away in the middle of an answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DeskServer
    server_version, sys_version = "secateur", ""
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Send a page."""
        found = self._find()
        if found is None:
            return
        place, question = found
        if question:
            return self._reject(405, "Ask with POST.")
        try:
            page = self.server.desk.render(place)
        except SecateurError as error:
            return self._reject(404, str(error))
        self._send(200, page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Answer a question."""
        found = self._find()
        if found is None:
            return
        content = self._read()
        if content is None:
            return self._reject(413, f"Expected a question of at most {MOST_ASKED:,} bytes.")
        try:
            asked = json.loads(content)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return self._reject(400, "Expected a question as JSON.")
        try:
            answer, status = self.server.desk.ask(*found, asked), 200
        except SecateurError as error:
            answer, status = {"error": str(error)}, 400
        self._send(status, to_json(answer), "application/json")

    def _find(self) -> tuple[int, str] | None:
        """Check who asks; give the training and the question, or reject."""
        own, path = self.server.origin, PATH.fullmatch(self.path)
        if self.headers.get_all("Host") != [own.removeprefix("http://")]:
            self._reject(403, "This is another host.")
        elif self.headers.get("Origin") not in ((own,) if self.command == "POST" else (own, None)):
            self._reject(403, "This comes from another page.")
        elif path is None or not hmac.compare_digest(path[1].encode(), self.server.token.encode()):
            self._reject(404, "There is nothing here: use the whole address that `secateur open` printed.")
        else:
            return int(path[2] or 0), path[3] or ""
        return None

    def _read(self) -> bytes | None:
        """Read what was sent once, None if it is too long: an answer is lost where something is left to read."""
        size = self.headers.get("Content-Length") or "0"
        if not size.isdecimal() or int(size) > MOST_ASKED:
            return None
        del self.headers["Content-Length"]  # so that it is not waited for again
        return self.rfile.read(int(size))

    def _reject(self, status: int, sentence: str) -> None:
        self._read()
        self.close_connection = True
        self._send(status, f"{sentence}\n", "text/plain; charset=utf-8")

    def _send(self, status: int, text: str, kind: str) -> None:
        content = text.encode("utf-8", errors="replace")
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: an address holds the token, a question the reasons of a person."""
