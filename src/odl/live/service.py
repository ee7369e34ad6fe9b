"""Web service of ``odl watch --http``: documents, answers, alerts, pages, feeds and metrics."""

import getpass
import hmac
import json
import math
import os
import threading
import time
from contextlib import contextmanager
from importlib.resources import files
from urllib.parse import urlsplit

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from werkzeug.exceptions import BadRequest, HTTPException, ServiceUnavailable, UnsupportedMediaType
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from odl.alerts import explain, feedback, maps, read, spans, verdicts
from odl.errors import DataError, OdlError, ParameterError
from odl.files.escaping import clean, visible
from odl.live.watch import print_line

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BURST_SECONDS = 10.0  # an address may send at once the documents that its rate allows in this time
MAX_ADDRESSES = 10_000  # number of recorded addresses above which those without a delay are removed
MAX_READERS = 2  # requests that read results at the same time
READER_WAIT_SECONDS = 5.0  # longest wait of other requests for results
MAX_FIELD_LENGTH = 1000  # characters of a field of feedback
FEEDBACK_FIELDS = (*feedback.FEEDBACK_COLUMNS, "judged", "by")  # fields of a request
JSON_LINES_TYPES, JSON_TYPE = ("application/x-ndjson", "application/jsonl"), "application/json"
UNREADABLE = "results cannot be read at the moment; the output of odl watch has the reason"
TAIL_BUCKETS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)  # tail probabilities
# Tag of new.html to which the service adds the attribute that enables the buttons of the page.
# Texts on the page cannot contain this tag, because they are escaped.
MAIN_TAG = b'<main id="main"'
RESPONSE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline' data:; "
    "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
}


class Service:
    """WSGI application that answers the requests to a watch.

    Parameters
    ----------
    desk : odl.live.server.Desk
    token : str
        Token that each request must have. If it is empty, only requests to names of this machine
        are answered.
    rate : float
        Largest number of documents per second from one address.
    """

    def __init__(self, desk, token="", rate=math.inf):
        self.desk, self.token, self.rate = desk, token, rate
        self.due, self.alone = {}, threading.Lock()
        self.readers, self.meters = threading.BoundedSemaphore(MAX_READERS), Meters(desk)
        self.rules = Map(
            [
                Rule(path, endpoint=(name, *arguments), methods=[method])
                for path, method, name, *arguments in ROUTES
            ],
            merge_slashes=False,
        )

    def __call__(self, environ, start_response):
        """Answer a request (WSGI)."""
        request = Request(environ)
        try:
            response = self.refusal(request)
            if response is None:
                (name, *endpoint_arguments), arguments = self.rules.bind_to_environ(environ).match()
                response = getattr(self, name)(request, *endpoint_arguments, **arguments)
        except HTTPException as error:
            response = error.get_response(environ)
            response = error.response or reply(
                {"error": error.description}, error.code, response.headers.get("Allow")
            )
        except (ParameterError, ValueError) as error:  # such as an invalid Host header
            response = reply({"error": str(error)}, 400)
        except OdlError as error:
            print_line(error)
            response = reply({"error": UNREADABLE}, 503)
        except Exception as error:
            # A defect of odl must neither leave a client without a response nor print a traceback.
            print_line(f"{type(error).__name__}: {visible(str(error))}")
            response = reply({"error": UNREADABLE}, 503)
        response.headers.extend(RESPONSE_HEADERS)
        return response(environ, start_response)

    def refusal(self, request):
        """Return the response that refuses a request, None if the request is allowed."""
        address = urlsplit(f"//{request.host}")
        if self.token and request.path != "/health":
            login = request.authorization  # the token of a program, or the password from a browser
            secret = (login.token or login.password or "") if login else ""
            if not hmac.compare_digest(secret.encode(), self.token.encode()):
                return reply(
                    {"error": "the token is missing or wrong; send the token of odl watch"},
                    401,
                    authenticate='Basic realm="odl"',
                )
        elif not self.token and address.hostname not in LOOPBACK:  # protects from DNS rebinding
            return reply({"error": "without a token, only requests to localhost are answered"}, 421)
        origin = request.headers.get("Origin")
        is_other_site = origin is not None and urlsplit(origin).netloc != address.netloc
        if request.method == "POST" and is_other_site:
            return reply({"error": "the request was sent by a page of another site"}, 403)
        return None

    def answer(self, request, learn):
        """Answer documents; with `learn` they are also stored."""
        body, kind = body_of(request, JSON_TYPE, *JSON_LINES_TYPES), request.mimetype
        lines = [body]
        if kind != JSON_TYPE:
            lines = [line for line in body.split(b"\n") if line.strip()]
        if len(lines) > self.desk.max_documents:
            with self.alone:
                self.meters.too_large += len(lines)
            limit = f"expected {self.desk.max_documents} at most in a request"
            return reply({"error": f"{len(lines)} documents; {limit}"}, 413)
        if wait := self.seconds_to_wait(request.remote_addr, len(lines)):
            return reply(
                {"error": f"more than {self.rate:g} documents per second; send these again"},
                429,
                after=wait,
            )
        began, answers = time.monotonic(), self.desk.ask(lines, learn)
        if answers is None:
            return reply(
                {"error": "too many documents are waiting, or odl watch is ending; send again"},
                503,
                after=1,
            )
        maps = [json.loads(answer) for answer in answers]
        self.meters.take(time.monotonic() - began, maps)
        if kind != JSON_TYPE:
            return reply("".join(f"{answer}\n" for answer in answers), kind=JSON_LINES_TYPES[0])
        return reply(answers[0], 422 if "error" in maps[0] else 200)

    def seconds_to_wait(self, address, count):
        """Return how many seconds an address must wait before it sends `count` documents.

        If the result is 0, the documents are counted against the rate of the address. `self.due`
        maps an address to the time at which its rate allows all documents that it has sent.
        """
        now = time.monotonic()
        with self.alone:
            due = max(self.due.get(address, now), now)
            if due > now + BURST_SECONDS:
                return math.ceil(due - now - BURST_SECONDS)
            if len(self.due) >= MAX_ADDRESSES:
                self.due = {other: moment for other, moment in self.due.items() if moment > now}
            self.due[address] = due + count / self.rate
        return 0

    @contextmanager
    def reading(self):
        """Context in which at most `MAX_READERS` requests read results at the same time.

        The cost of reading grows with the length of the stream.

        Raises
        ------
        werkzeug.exceptions.ServiceUnavailable
            If the other requests read for longer than `READER_WAIT_SECONDS`, or the watch ends.
        """
        if not self.readers.acquire(timeout=READER_WAIT_SECONDS):
            raise ServiceUnavailable(
                response=reply({"error": "other requests are reading; ask again"}, 503, after=1)
            )
        try:
            if self.desk.ended:
                raise ServiceUnavailable(
                    response=reply({"error": "odl watch is ending; ask again"}, 503, after=1)
                )
            yield
        finally:
            self.readers.release()

    def new(self, request):
        """Return the alerts of the last period, or of the periods since a date."""
        since = request.args.get("since")
        with self.reading():
            watch = read.alerts_of(".", last=None if since else 1)
            chosen = spans.periods_between(watch.periods, since)
            return reply({"periods": [maps.period_map(watch, period) for period in chosen]})

    def event(self, request, number):
        """Return the description of an event."""
        with self.reading():
            watch = read.alerts_of(".")
            if number not in watch.events:
                return reply({"error": f"there is no event {number}"}, 404)
            return reply(maps.event_map(watch, number))

    def document(self, request, ident):
        """Return the explanation of a document's score, in the open period or a learned one."""
        if self.desk.watch and (answer := self.desk.watch.current.answers.get(ident)):
            return reply(answer)
        with self.reading():
            watch = read.alerts_of(".")
            location = explain.find_document(watch.place, ident)
            if location is None:
                return reply({"error": "there is no such document"}, 404)
            explained, earlier, _ = explain.explain_document(watch.place, *location)
            return reply(maps.explained_map(watch, explained, earlier[0].id if earlier else None))

    def feedback(self, request):
        """Write or remove a line of feedback.csv, and request a run that writes the page again."""
        entry, is_judgement = entry_of(body_of(request, JSON_TYPE))
        with self.reading():
            if is_judgement:
                login = request.authorization
                by = entry.by or (login.username if login else "") or getpass.getuser()
                if entry.judged:
                    checked(entry)
                watch = read.alerts_of(".", last=1)
                entry, changed = verdicts.judge(
                    ".", watch, entry.what, entry.judged, by, entry.note
                )
            elif entry.verdict:
                name = explain.feedback_name(read.alerts_of("."), entry.what)
                entry = checked(entry._replace(what=name))
                feedback.add(".", entry)
                changed = True
            else:
                names = entry.what, f"event:{entry.event}"
                changed = any(feedback.remove(".", name) for name in names)
            if changed:
                self.desk.renew = True
        judged_fields = {"judged": entry.judged or None, "by": entry.by} if is_judgement else {}
        return reply({"what": entry.what, "verdict": entry.verdict or None, **judged_fields})

    def openapi(self, request):
        """Return the OpenAPI description of the service."""
        return reply(
            (files("odl.live") / "openapi.yaml").read_text(encoding="utf-8"),
            kind="application/yaml",
        )

    def written(self, request, path, kind):
        """Return the page, with its feedback buttons enabled, or a feed."""
        if not os.path.exists(path):
            return reply({"error": "no period is learned yet"}, 404)
        with open(path, "rb") as file:
            body = file.read()
        response = reply(body.replace(MAIN_TAG, MAIN_TAG + b' data-live="yes"', 1), kind=kind)
        response.add_etag()
        return response.make_conditional(request)

    def health(self, request):
        """Return whether the watch is running."""
        running = self.desk.watch is not None and not self.desk.ended
        return reply({"status": "ok" if running else "not at work"}, 200 if running else 503)

    def metrics(self, request):
        """Return the metrics in the format of Prometheus."""
        return reply(generate_latest(self.meters.registry), kind=CONTENT_TYPE_LATEST)


ROUTES = (
    ("/", "GET", "written", "new.html", "text/html; charset=utf-8"),
    ("/documents", "POST", "answer", True),
    ("/documents/<path:ident>", "GET", "document"),
    ("/judge", "POST", "answer", False),
    ("/new", "GET", "new"),
    ("/events/<int:number>", "GET", "event"),
    ("/topics/<int:number>", "GET", "event"),
    ("/feedback", "POST", "feedback"),
    ("/feed.atom", "GET", "written", "new.atom", "application/atom+xml; charset=utf-8"),
    ("/feed.json", "GET", "written", "new.json", "application/feed+json; charset=utf-8"),
    ("/health", "GET", "health"),
    ("/metrics", "GET", "metrics"),
    ("/openapi.yaml", "GET", "openapi"),
)


def reply(body, status=200, allow=None, *, kind=JSON_TYPE, after=None, authenticate=None):
    """Return a response.

    Parameters
    ----------
    body : dict or str or bytes
        A dict is sent as JSON.
    status : int
    allow, after, authenticate : optional
        Values of the headers Allow, Retry-After and WWW-Authenticate.
    kind : str
        Media type.
    """
    text = visible(json.dumps(body, ensure_ascii=False)) if isinstance(body, dict) else body
    headers = {"Allow": allow, "Retry-After": after, "WWW-Authenticate": authenticate}
    return Response(
        text,
        status,
        {name: str(value) for name, value in headers.items() if value},
        content_type=kind,
    )


def body_of(request, *kinds):
    """Return the body of a request, which must have one of the given media types.

    Raises
    ------
    werkzeug.exceptions.UnsupportedMediaType
        If the body has another type, is compressed, or is not UTF-8.
    """
    charset = request.mimetype_params.get("charset", "utf-8")
    encoding = request.headers.get("Content-Encoding", "identity")
    if request.mimetype not in kinds:
        # The third kind is another name of the second one, and is not suggested.
        raise UnsupportedMediaType(
            f"a body of {request.mimetype or 'no type'}; expected {' or '.join(kinds[:2])}"
        )
    if charset.lower() not in ("utf-8", "utf8", "us-ascii") or encoding.lower() != "identity":
        raise UnsupportedMediaType("a compressed or non-UTF-8 body; expected uncompressed UTF-8")
    return request.get_data(cache=False)


def entry_of(body):
    """Parse a JSON body; return (line of feedback.csv, whether the line judges a headline).

    Raises
    ------
    werkzeug.exceptions.BadRequest
        If the body is not JSON, or lacks a field.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest("the body is not valid JSON, or it is nested too deeply") from error
    fields = request if isinstance(request, dict) else {}
    texts = {name: "" if fields.get(name) is None else fields[name] for name in FEEDBACK_FIELDS}
    if not all(isinstance(text, str) and len(text) <= MAX_FIELD_LENGTH for text in texts.values()):
        raise BadRequest(
            f"a field of feedback is not a string of at most {MAX_FIELD_LENGTH} characters"
        )
    entry = feedback.FeedbackLine(
        **{name: " ".join(clean(text).split()) for name, text in texts.items()}
    )
    if not entry.what or ("verdict" in fields) == ("judged" in fields):
        raise BadRequest(
            "expected what (event:NUMBER, source:FILE or the id of a document) "
            f"and either verdict or judged, as {JSON_TYPE}"
        )
    return entry, "judged" in fields


def checked(entry):
    """Check the values of a line of feedback.csv that a request gives, and return the line.

    Raises
    ------
    werkzeug.exceptions.BadRequest
        If a value is invalid.
    """
    try:
        return feedback.check_entry(entry, "the request", "field")
    except DataError as error:
        raise BadRequest(str(error)) from error


def drift(watch):
    """Return the number of novel documents in the open period divided by its expectation.

    A document is novel if its tail probability is at most `alerts.tail`. The expected number of
    novel documents by chance is `alerts.tail` times the number of items.
    """
    n_items = watch.current.n_items
    if watch.judge is None or not n_items:
        return 0.0
    return len(watch.current.candidates) / (n_items * watch.judge.settings.tail)


class Meters:
    """Metrics for Prometheus."""

    def __init__(self, desk):
        self.registry, self.too_large = CollectorRegistry(), 0
        common = {"registry": self.registry}
        ProcessCollector(**common)  # memory and CPU time
        self.seconds = Histogram(
            "odl_answer_seconds", "Time from a request with documents to its answer.", **common
        )
        self.tails = Histogram(
            "odl_tail", "Tail probabilities of documents.", buckets=TAIL_BUCKETS, **common
        )
        gauges = {
            "documents": ("Documents accepted since the start.", lambda watch: watch.n_accepted),
            "late": (
                "Documents that came after the end of their period.",
                lambda watch: watch.n_late,
            ),
            "refused": (
                "Documents that could not be read, or came in a request that is too large.",
                lambda watch: watch.n_refused + self.too_large,
            ),
            "open_period_items": (
                "Items of the open period so far.",
                lambda watch: watch.current.n_items,
            ),
            "drift": (
                "Novel documents of the open period divided by their number expected by chance.",
                drift,
            ),
            "open_period_start_seconds": (
                "Unix time at which the open period begins.",
                lambda watch: (watch.current.begin or 0) / 1000,
            ),
            "learned_period": (
                "Number of the last learned period; -1 if there is none.",
                lambda watch: watch.last_learned,
            ),
            "learning": (
                "Whether a period is being learned.",
                lambda watch: watch.learned is not None,
            ),
        }
        waiting = Gauge("odl_waiting", "Documents that wait to be answered.", **common)
        waiting.set_function(lambda: float(desk.waiting))
        for name, (text, value) in gauges.items():
            gauge = Gauge(f"odl_{name}", text, **common)
            gauge.set_function(lambda value=value: float(value(desk.watch)) if desk.watch else 0.0)

    def take(self, seconds, answers):
        """Record the time and the tails of an answered request."""
        self.seconds.observe(seconds)
        for answer in answers:
            if (tail := answer.get("tail")) is not None:
                self.tails.observe(tail)
