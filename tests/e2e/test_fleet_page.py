#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page over a fleet, in Chromium, shows the numbers that `geiger fleet ... --json` prints.

GEIGER: the command.  A receiver fills the store with profiles of twelve hosts, two versions, and
three slots, one of them after a gap.  GG_TEST_KEEP: a folder for pictures of every view.
"""

import base64
import concurrent.futures
import gzip
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

import pprof_maker
from fleet_store import Receiver, Store
from sentences import check, in_scratch, skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "consumers"))
from browser import Browser  # pylint: disable=wrong-import-position

GEIGER = os.environ["GEIGER"]
CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-headless-shell") if os.path.exists(path)), None)
SLOT = 600
CLOSE = 1e-9  # of sums of doubles
PUSH = "/push.v1.PusherService/Push"
PROTO = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"}
MAIN, CACHE, PARSE = ("main.main",), ("cache.put", "main.main"), ("parse.read", "main.main")
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "": 1, "k": 1e3, "M": 1e6}
# A name with the characters that mean something in SQL, JSON, addresses, and the page.
HOSTILE = "it's \"<b id=injected>\\ ${1} {service} %41 %00& a=b;--"


# --- the store and the server ---


def seed(store):
    """Returns the first slot: a profile is a look at the end of the slot before its time."""
    receiver = Receiver(store.folder, "segments")
    receiver.start()
    now = int(time.time())
    start = now - now % SLOT - 20 * SLOT

    def push(service, host, version, slot, rows):
        labels = {"service_name": service, "instance": f"{host}:80", "version": version}
        body = gzip.compress(pprof_maker.heap(rows, time_s=start + slot * SLOT + 30))
        status = receiver.get(PUSH, pprof_maker.push([(labels, [body])]), PROTO)[0]
        assert status == 200, status

    for slot in (1, 2, 7):
        for host in range(12):
            version = "1.10" if host >= 6 else "1.9"
            cache = 900 if host == 7 else 100 + host
            parse = 60 if version == "1.9" else 160
            push("checkout", f"web-{host}", version, slot,
                 [(MAIN, 64, 40 * slot, 20), (CACHE, 4096, 1000 * slot, cache), (PARSE, 100000, 200 * slot, parse + host % 3)])
    push(HOSTILE, "odd'host", "v\\'\n\"", 1, [(MAIN, 64, 40, 20)])
    assert receiver.is_drained()
    receiver.kill()
    return start


class Server:
    """`geiger serve --fleet`, and requests to it with its token."""

    def __init__(self, store, *more):
        self.process = subprocess.Popen([GEIGER, "serve", "--fleet", store, *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.base = f"http://{parts.netloc}"
        self.place, self.token = parts.netloc, urllib.parse.parse_qs(parts.query)["token"][0]

    def get(self, path, headers=None, method="GET"):
        """Status, headers and body."""
        connection = http.client.HTTPConnection(self.place, timeout=300)
        connection.request(method, path, headers={"Authorization": f"Bearer {self.token}", **(headers or {})})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, reply.headers, body

    def view(self, name, **parameters):
        return self.get(f"/fleet/{name}.json?{urllib.parse.urlencode(parameters, doseq=True)}")

    def end(self):
        self.process.terminate()
        self.process.wait(300)
        self.process.stdout.close()


def command(store, *words):
    done = subprocess.run([GEIGER, "fleet", *words, "--store", store, "--json"], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the page ---


class Page:
    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def open(self, address):
        self.browser.open(self.server.base + address)
        self.settle()

    def settle(self):
        self.browser.wait("document.querySelector('main').getAttribute('aria-busy') === 'false'")

    def click(self, selector):
        self.browser.value(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def text(self, selector):
        return self.browser.value(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def rows(self, place="main"):
        """The texts of the cells of the first table of a place."""
        return self.browser.value(
            f"[...(document.querySelector({json.dumps(place)} + ' .fleet-table')?.tBodies[0].rows ?? [])]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))")

    def key(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.browser.command("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def address(self):
        return self.browser.value("location.pathname + location.search")

    def size(self, width, height=860):
        self.browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                             mobile=False)

    def picture(self, name):
        keep = os.environ.get("GG_TEST_KEEP")
        if keep:
            data = self.browser.command("Page.captureScreenshot", format="png")["data"]
            pathlib.Path(keep, f"fleet-{name}.png").write_bytes(base64.b64decode(data))


NUMBER = re.compile(r"([\d.]+) ?([KMG]?i?B|[kM]?)(?: ± ([\d.]+) %| \(([\d.]+)-([\d.]+)\))?(?:,|$)")


def differs(what, text, triple):
    """A problem unless the text is that estimate with that interval, as rounded."""
    match = NUMBER.match(text)
    if not match:
        return f"{what}: {text!r} is no figure"
    number, unit, percent, low, high = match.groups()
    factor = UNITS[unit]
    step = 10.0 ** -len(number.partition(".")[2]) * factor
    value, estimate = float(number) * factor, triple["estimate"]
    if abs(value - estimate) > 0.5001 * step:
        return f"{what}: {text!r} is not {estimate}"
    far = max(triple["high"] - estimate, estimate - triple["low"]) / estimate * 100
    if percent is not None:
        least = 0.1 if far < 1 else 1
        return None if float(percent) - least - 1e-6 <= far <= float(percent) + 1e-6 else f"{what}: ± {percent} is not {far}"
    if low is None:
        return None if far < 1e-6 else f"{what}: {text!r} lacks the interval {triple}"
    widest = 10.0 ** -len(low.partition(".")[2]) * factor
    near = (0 <= triple["low"] - float(low) * factor <= widest * 1.001 and
            0 <= float(high) * factor - triple["high"] <= widest * 1.001)
    return None if near else f"{what}: {text!r} is not {triple}"


def same(found, wanted):
    return None if found == wanted else f"{found!r} is not {wanted!r}"


# --- answers ---


VIEWS = (("services", {}, []), ("report", {"service": "checkout"}, ["checkout"]),
         ("report", {"service": "checkout", "by-label": "version"}, ["checkout", "--by-label", "version"]),
         ("report", {"service": "checkout", "metric": "allocated", "since": "@0", "unit": "count", "total": "1"},
          ["checkout", "--metric", "allocated", "--since", "@0", "--unit", "count", "--total"]),
         ("tree", {"service": "checkout", "fold": "0.1", "focus": "^parse"}, ["checkout", "--fold", "0.1", "--focus", "^parse"]),
         ("diff", {"service": "checkout", "before": "1.9", "after": "1.10"}, ["checkout", "1.9", "1.10"]),
         ("hosts", {"service": "checkout", "focus": "^cache"}, ["checkout", "--focus", "^cache"]),
         ("timeline", {"service": "checkout", "version": "1.9"}, ["checkout", "--version", "1.9"]))


def unlike(found, wanted, place=""):
    """A problem unless both are the same JSON.  Last digits vary with the order of sums."""
    if isinstance(wanted, dict) and isinstance(found, dict) and list(found) == list(wanted):
        return next(filter(None, (unlike(found[key], wanted[key], f"{place}.{key}") for key in wanted)), None)
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        return next(filter(None, (unlike(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(found, wanted)))), None)
    close = 1e-6 if place.endswith(("p_value", "q_value")) else CLOSE
    if isinstance(wanted, float) and isinstance(found, (int, float)) and math.isclose(found, wanted, rel_tol=close):
        return None
    return None if found == wanted else f"{place}: {found!r} is not {wanted!r}"


def test_answers(store, server):
    wanted = [json.loads(command(store.folder, name, *words)) for name, _, words in VIEWS]
    found = [server.view(name, **parameters) for name, parameters, _ in VIEWS]
    check("the server's answers are what the commands print with --json",
          *[unlike(json.loads(body), want, name) if status == 200 else f"{name}: {status} {body[:300]}"
            for (name, _, _), (status, _, body), want in zip(VIEWS, found, wanted)])
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        many = list(pool.map(lambda i: server.view(VIEWS[i % len(VIEWS)][0], **VIEWS[i % len(VIEWS)][1])[2], range(64)))
    check("requests at the same time get the same answers",
          *[unlike(json.loads(body), wanted[i % len(VIEWS)], f"{i}") for i, body in enumerate(many)])


def test_refusals(server):
    """Wrong questions get the command's own error, as JSON."""
    wrong = (("report", {}, 400, "needs a service"), ("report", {"service": "checkout", "since": "noon"}, 400, "is not a time"),
             ("report", {"service": "checkout", "metric": "most"}, 400, "is not a choice"),
             ("report", {"service": "checkout", "by": "host"}, 400, "is not a choice"),
             ("report", {"service": "checkout", "label": "zone"}, 400, "KEY=VALUE"),
             ("report", {"service": "checkout", "limit": "-1"}, 400, "is not a whole number"),
             ("tree", {"service": "checkout", "focus": "("}, 400, "Unmatched"),
             ("tree", {"service": "checkout", "inverted": "yes"}, 400, "no such value"),
             ("diff", {"service": "checkout", "before": "1.9"}, 400, "two of its versions"),
             ("diff", {"service": "checkout", "after": "1.9"}, 400, "'before'"),
             ("diff", {"service": "checkout", "before-since": "soon"}, 400, "is not a time"),
             ("hosts", {"service": "checkout", "rate": "2"}, 400, "not between"),
             ("report", {"service": ["checkout", "b"]}, 400, "twice"),
             ("report", {"service": "checkout", "store": "http://127.0.0.1:1"}, 400, "no such parameter"),
             ("report", {"service": "checkout", "tenant": "system"}, 400, "no such parameter"),
             ("report", {"service": "checkout", "json": ""}, 400, "no such parameter"),
             ("report", {"service": "check\0out"}, 400, "0 byte"),
             ("report", {"service": "checkout", **{f"x{i}": "" for i in range(70)}}, 400, "more than 64"),
             ("report", {"service": "shop"}, 404, "no service"), ("report", {"service": "checkout", "host": "x"}, 404, "host"),
             ("report", {"service": "checkout", "until": "2001-01-01"}, 404, "ran at the end of a slot"), ("nothing", {}, 404, "no view"))
    problems = []
    for name, parameters, want, says in wrong:
        status, headers, body = server.view(name, **parameters)
        error = json.loads(body).get("error", {}) if headers["Content-Type"] == "application/json" else {}
        if status != want or says not in error.get("message", "") or "advice" not in error:
            problems.append(f"{name} {parameters}: {status} {body[:300]}")
    check("a wrong question gets a clear error as JSON", *problems)
    outside = [server.get(path)[0] for path in ("/page", "/data", "/profiles", "/export?format=pprof", "/metrics", "/fleet/",
                                                "/fleet/.json", "/fleet/report", "/fleet/../services.json")]
    check("nothing of a profile's server is there", same(outside, [404] * len(outside)))
    refused = [server.get("/fleet/services.json", {"Authorization": "Bearer 0"})[0],
               server.get("/", {"Authorization": "Bearer 0"})[0], server.get("/", {"Host": "evil.example"})[0],
               server.get("/fleet/services.json", method="POST")[0]]
    check("the token, the host's name and the method are checked", same(refused, [403, 403, 421, 405]))
    problems = []
    for path in ("/", "/fleet/services.json", "/fleet/report.json"):
        headers = server.get(path)[1]
        for name, value in (("Content-Security-Policy", "default-src 'none'"), ("X-Content-Type-Options", "nosniff"),
                            ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"), ("X-Frame-Options", "DENY")):
            if value not in headers.get(name, ""):
                problems.append(f"{path}: {name}: {headers.get(name)}")
        if "unsafe" in headers["Content-Security-Policy"].partition("script-src")[2].partition(";")[0]:
            problems.append(f"{path}: {headers['Content-Security-Policy']}")
    check("every answer has the headers of the server", *problems)


def test_hostile(store, server):
    """Nothing of a question becomes a part of a statement."""
    before = store.ask("SELECT count(), sum(cityHash64(*)) FROM series")
    status, _, body = server.view("report", service=HOSTILE)
    problems = [None if status == 200 and json.loads(body)["fleet"]["service"] == HOSTILE else f"{status} {body[:300]}"]
    texts = ["'", "''", "\\", "\\'", "\\\\'", "' OR 1 = 1 --", "'; DROP TABLE draw; --", "`", '"', "${service}", "{service}",
             "{db}", "%27", "%", "\n", "\r\n\t", "\x01", "\u2019", "\U0001f9ee", "a" * 2000, "", "-- json", "--json", "-h"]
    for text in texts:
        for name, parameters in (("report", {"service": text}), ("report", {"service": "checkout", "version": text}),
                                 ("hosts", {"service": "checkout", "host": text}),
                                 ("tree", {"service": "checkout", "label": f"zone={text}"}),
                                 ("diff", {"service": "checkout", "before": text, "after": "1.9"})):
            status, _, body = server.view(name, **parameters)
            error = json.loads(body).get("error")
            if status not in (400, 404) or error is None or "Syntax" in error["message"] or "Code:" in error["message"]:
                problems.append(f"{name} {parameters}: {status} {body[:300]}")
    version = server.view("report", service=HOSTILE, version="v\\'\n\"", host="odd'host")
    problems.append(None if version[0] == 200 else f"{version}")
    problems.append(same(store.ask("SELECT count(), sum(cityHash64(*)) FROM series"), before))
    check("quotes, backslashes, braces and percents are values and nothing else", *problems)


# --- views ---


def test_services(store, page):
    page.open("/")
    data = json.loads(command(store.folder, "services"))["services"]
    rows = {row[0]: row for row in page.rows()}
    problems = [same(sorted(rows), sorted({row["service"] for row in data}))]
    for service, row in rows.items():
        of = [one for one in data if one["service"] == service]
        problems.append(differs(f"{service} live", row[4], dict.fromkeys(("estimate", "low", "high"), sum(one["live_bytes"] for one in of))))
        problems.append(same([row[2], row[3]], [str(len(of)), str(int(sum(one["processes"] for one in of)))]))
    problems.append(same(rows["checkout"][1], "1.10"))
    allocated = json.loads(command(store.folder, "report", "checkout", "--metric", "allocated", "--since", "@0"))
    problems.append(unlike(sum(one["allocated_bytes"] for one in data if one["service"] == "checkout"),
                           allocated["selected_bytes"]["estimate"], "allocated"))
    page.open("/?since=@0")
    figure = allocated["selected_bytes"]["estimate"]
    problems.append(differs("allocated", next(row for row in page.rows() if row[0] == "checkout")[6],
                            dict.fromkeys(("estimate", "low", "high"), figure)))
    page.open("/")
    problems.append(None if page.browser.value("document.getElementById('injected') === null") else "a name became markup")
    check("the list of services has the sums of their versions", *problems)
    page.click("main a[href*='service=checkout']")
    check("a service leads to its versions", same(page.address(), "/?service=checkout"))
    page.browser.value("history.back()")
    page.browser.wait("document.querySelector('main').dataset.view === 'services'")
    page.settle()
    check("the browser goes back", same(page.address(), "/"), same(len(page.rows()), 2))


def test_versions(store, page, start):
    page.open("/?service=checkout")
    data = json.loads(command(store.folder, "report", "checkout", "--by-label", "version"))
    rows = page.rows("section[aria-label=Versions]")
    wanted = {row["label"]: row for row in data["rows"]}
    check("versions have their intervals", same([row[0] for row in rows], [row["label"] for row in data["rows"]]),
          *[differs(row[0], row[1], wanted[row[0]]["self"]) for row in rows],
          differs("all", page.text(".whole"), data["selected_bytes"]), same([row[2] for row in rows], ["6", "6"]))
    line = json.loads(command(store.folder, "timeline", "checkout"))
    slots = page.rows("section:last-of-type")
    times = [line["start_seconds"] + point["time_ns"] / 1e9 for point in line["points"]]
    check("a timeline has each slot at its own time", same(times, [start + slot * SLOT for slot in (0, 1, 6)]))
    check("the chart's table has the slots of the command",
          same([row[0] for row in slots], [time.strftime("%Y-%m-%d %H:%M", time.gmtime(at)) for at in times]),
          *[differs(row[0], row[1], point["live_bytes"]) for row, point in zip(slots, line["points"])])
    held = page.browser.value("document.querySelector('.error-held').textContent")
    check("the view says which error its intervals hold", same(held, "95 % intervals hold the error of sampling."))
    box = page.browser.value("(() => { const plot = document.querySelector('.u-over'); plot.scrollIntoView();"
                             " const r = plot.getBoundingClientRect();"
                             " return [r.x, r.y, r.width, r.height]; })()")
    for kind, share in (("mousePressed", 0.02), ("mouseMoved", 0.1), ("mouseMoved", 0.3), ("mouseReleased", 0.3)):
        page.browser.command("Input.dispatchMouseEvent", type=kind, x=box[0] + share * box[2], y=box[1] + box[3] / 2,
                             button="left", buttons=1, clickCount=1)
    page.browser.wait("location.search.includes('since=')")
    page.settle()
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(page.address()).query)
    since, until = (int(asked[name][0][1:]) for name in ("since", "until"))
    check("dragging over the chart chooses a window",
          None if start <= since < until <= start + 6 * SLOT and until - since > SLOT else f"{page.address()}",
          None if "averaged over" in page.text("h2") else page.text("h2"))


def chain(nodes):
    """The heaviest path, from the root's first child down."""
    found, at = [], 0
    while True:
        children = [node for node in nodes if node["parent"] == at]
        if not children:
            return found
        heaviest = max(children, key=lambda node: node["total"]["estimate"])
        found.append(heaviest)
        at = heaviest["id"]


def test_flame(store, page):
    page.open("/?view=flame&service=checkout&version=1.10")
    data = json.loads(command(store.folder, "tree", "checkout", "--version", "1.10", "--fold", "0.1"))
    problems = [differs("all", page.text(".figure-text"), data["nodes"][0]["total"])]
    page.browser.value("document.querySelector('.fleet-flame').focus()")
    page.key("ArrowDown", 40)
    for node in chain(data["nodes"]):
        page.key("ArrowDown", 40)
        problems.append(same(page.text(".flame-detail .name"), node["function"]))
        problems.append(differs(node["function"], page.text(".figure-text"), node["total"]))
    siblings = sorted((node for node in data["nodes"] if node["depth"] == 2), key=lambda node: -node["total"]["estimate"])
    page.key("ArrowRight", 39)
    problems.append(same(page.text(".flame-detail .name"), siblings[1]["function"]))
    problems.append(differs("sibling", page.text(".figure-text"), siblings[1]["total"]))
    check("the flame graph's frames have the figures of the command's nodes, by keyboard", *problems,
          same(len(siblings), 2))
    painted = page.browser.value("(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d')"
                                 ".getImageData(0, 0, c.width, c.height).data; return new Set(new Uint32Array(d.buffer)).size; })()")
    check("it is painted", None if painted > 4 else f"{painted} colours")
    page.click(".actions a[href*='view=hosts']")
    check("a frame leads to the hosts' shares of it", same(page.address(), "/?view=hosts&service=checkout&version=1.10&focus="
                                                            + urllib.parse.quote_plus(f"^{siblings[1]['function']}$".replace(".", "\\."))))


def test_functions(store, page):
    page.open("/?view=functions&service=checkout&metric=allocated&since=@0")
    data = json.loads(command(store.folder, "report", "checkout", "--metric", "allocated", "--since", "@0"))
    rows = page.rows()
    shown = [row for row, want in zip(rows, data["rows"]) if want["self"]["estimate"] > 0]
    check("functions have the figures of the report", same([row[0] for row in rows], [row["label"] if row.get("label") else row["function"] for row in data["rows"]]),
          *[differs(row[0], row[1], want["self"]) for row, want in zip(shown, data["rows"])],
          *[differs(row[0], row[3], want["total"]) for row, want in zip(rows, data["rows"])],
          None if len(shown) >= 2 else f"{rows}")


CHANGE = re.compile(r"([+−])([\d.]+) (\wiB) \(([+−])([\d.]+)(?: (\wi?B))? to ([+−])([\d.]+)(?: (\wi?B))?\)")


def changes(text, triple):
    """A problem unless the text is that change with its interval."""
    match = CHANGE.match(text)
    if not match:
        return f"{text!r} is no change"
    parts = match.groups()
    for name, (sign, number, unit) in zip(("estimate", "low", "high"), (parts[0:3], parts[3:6], parts[6:9])):
        factor = UNITS[unit or parts[2]] * (1 if sign == "+" else -1)
        step = 10.0 ** -len(number.partition(".")[2]) * abs(factor)
        if abs(float(number) * factor - triple[name]) > 0.5001 * step:
            return f"{text!r} is not {triple}"
    return None


def test_diff(store, page, start):
    page.open("/?view=diff&service=checkout")
    data = json.loads(command(store.folder, "diff", "checkout", "1.9", "1.10"))
    rows = page.rows()
    check("a diff without versions compares the newest two", same(page.address(), "/?view=diff&service=checkout&before=1.9&after=1.10"))
    check("its rows are those of the command", same([row[0] for row in rows], [row["label"] for row in data["rows"]]),
          *[changes(row[3], want["difference"]) for row, want in zip(rows, data["rows"])],
          *[differs(row[0], row[2], want["after"]) for row, want in zip(rows, data["rows"])],
          *[None if math.isclose(float(row[5]), want["q_value"], rel_tol=0.051) else f"{row[5]} {want['q_value']}"
            for row, want in zip(rows, data["rows"])],
          None if [row[0] for row in rows] == ["parse.read"] else f"{rows}")
    question = ["--before-at", f"@{start + SLOT}", "--all"]
    data = json.loads(command(store.folder, "diff", "checkout", *question))
    page.open(f"/?view=diff&service=checkout&before-at=@{start + SLOT}&all=1")
    rows = page.rows()
    check("two moments are compared as well", same(len(rows), len(data["rows"])),
          None if data["before"]["path"].startswith("checkout, at ") and data["before"]["path"] in page.text("h2")
          else page.text("h2"), same(data["significant_count"], 0))


def test_hosts(store, page):
    page.open("/?view=hosts&service=checkout&focus=%5Ecache")
    data = json.loads(command(store.folder, "hosts", "checkout", "--focus", "^cache"))
    rows = page.rows()
    check("hosts have their figures, and the one that deviates is marked",
          same([row[0] for row in rows], [row["host"] for row in data["rows"]]),
          *[differs(row[0], row[1], want["self"]) for row, want in zip(rows, data["rows"])],
          *[same(row[2], f"{want['of_median']:.2f}") for row, want in zip(rows, data["rows"])],
          *[None if math.isclose(float(row[3]), want["q_value"], rel_tol=0.051) else f"{row[3]} {want['q_value']}"
            for row, want in zip(rows, data["rows"])],
          same([row[0] for row in rows if row[4] == "deviates"], ["web-7"]))
    page.click(".fleet-table a")
    check("a host leads to its flame graph", same(page.address(), "/?view=flame&service=checkout&host=web-7&focus=%5Ecache"))


def test_form(page):
    page.open("/?view=flame&service=checkout")
    page.browser.value("(() => { const s = document.querySelector('[data-name=version]'); s.value = '=1.9';"
                       " s.dispatchEvent(new Event('change', { bubbles: true })); })()")
    page.browser.wait("location.search.includes('version=1.9')")
    page.settle()
    page.browser.value("(() => { const s = document.querySelector('[data-name=since]'); s.value = 'noon';"
                       " s.dispatchEvent(new Event('change', { bubbles: true })); })()")
    page.browser.wait("location.search.includes('since=noon')")
    page.settle()
    error = page.text(".failure")
    check("the controls make the address, and a wrong value is explained on the page",
          same(page.address(), "/?view=flame&service=checkout&version=1.9&since=noon"),
          None if error and "'noon' is not a time" in error and "2h" in error else error)
    page.open("/?view=rows&service=checkout&color=always")
    named = page.text("[role=alert]") or ""
    check("what an address has besides is named", None if "view=rows" in named and "color" in named else page.text("main"))
    page.open("/?service=" + urllib.parse.quote_plus(HOSTILE))
    check("a hostile name is shown as it is", same(page.text(".command"), HOSTILE),
          None if page.browser.value("document.getElementById('injected') === null") else "it became markup")
    page.open("/")
    page.key("2", 50)
    check("a view that needs a service waits for one", same(page.address(), "/"))


VIEWED = {"services": "/", "versions": "/?service=checkout", "flame": "/?view=flame&service=checkout",
          "functions": "/?view=functions&service=checkout", "diff": "/?view=diff&service=checkout",
          "hosts": "/?view=hosts&service=checkout", "error": "/?view=flame&service=nowhere"}


def test_widths(page):
    problems = []
    for width in (1200, 400):
        page.size(width)
        for name, address in VIEWED.items():
            page.open(address)
            wide, room = page.browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            if wide > room:
                problems.append(f"{name} is {wide} wide in {room} of {width}")
            page.picture(f"{name}-{width}")
    page.size(1200)
    check("every view fits 1200 and 400 pixels", *problems)
    strangers = page.browser.value(
        "performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin + '/fleet/'))")
    check("the page loads nothing but answers of its server", same(strangers, []))


def test_drawn(store, page):
    """Half of the hosts become drawn ones of twice as many; the others are always sent."""
    columns = ("slot, service, series, host, processes, {}, gap_max, scheme, rss, live_bytes, allocated_bytes, covered_s, "
               "dropped")
    into = f"INSERT INTO process ({columns.format('selected_ppm')}) SELECT "
    store.ask(into + columns.format("toUInt32(0)").replace("host,", "host + 1,") + " FROM process FINAL WHERE host % 2 = 0")
    store.ask(into + columns.format("toUInt32(500000)") + " FROM process FINAL WHERE host % 2 = 0 AND selected_ppm > 0")
    problems = []
    for more in ([], ["--inverted"], ["--fold", "50"], ["--metric", "allocated", "--since", "@0"], ["--unit", "count"]):
        words = [word for word in more if word not in ("--inverted", "--fold", "50")]
        report = json.loads(command(store.folder, "report", "checkout", *words))
        tree = json.loads(command(store.folder, "tree", "checkout", *more))
        problems.append(same([tree["fleet"]["error"], report["fleet"]["error"]], ["sampling and hosts"] * 2))
        unit = "count" if "count" in more else "bytes"
        problems.append(unlike(tree["nodes"][0]["total"], report[f"selected_{unit}"], f"{more} all"))
        rows = {row["function"]: row for row in report["rows"]}
        # A function is on one path, and folded alone.  An inverted tree begins with the leaves.
        for node in tree["nodes"][1:]:
            if more == ["--inverted"]:
                if node["depth"] == 1:
                    problems.append(unlike(node["total"], rows[node["function"]]["self"], f"{more} {node['function']}"))
                continue
            row = rows[node["function"] or "parse.read"]
            problems.append(unlike([node["self"], node["total"]], [row["self"], row["total"]], f"{more} {node['function']}"))
        problems.append(None if any(node["folded"] for node in tree["nodes"]) or "50" not in more else f"{more}: folding")
    check("a tree of drawn hosts has the estimates and intervals of the report, for all hosts", *problems)
    page.open("/?view=flame&service=checkout")
    data = json.loads(command(store.folder, "tree", "checkout", "--fold", "0.1"))
    check("the flame graph says that its intervals hold the error between hosts",
          same(page.text(".error-held"), "95 % intervals hold the error of sampling and that between hosts."),
          differs("all", page.text(".figure-text"), data["nodes"][0]["total"]),
          None if ", stacks of " in page.text("h2") else page.text("h2"))


def test_empty(store, browser):
    subprocess.run([GEIGER, "fleet", "schema", "--apply", "--store", store.folder, "--tenant", "empty"], check=True,
                   capture_output=True, timeout=120)
    server = Server(store.folder, "--tenant", "empty")
    try:
        browser.open(server.url)
        page = Page(browser, server)
        page.settle()
        text = page.text("main")
        check("an empty store is explained", None if "No host has sent anything" in text else text)
    finally:
        server.end()


def test_away(store, browser, server):
    """The last one: the store goes away."""
    browser.open(server.url)
    page = Page(browser, server)
    page.open("/?view=flame&service=checkout")
    store.down()
    status, _, body = server.view("services")
    error = json.loads(body)["error"]
    page.open("/?view=functions&service=checkout")
    text = page.text(".failure")
    check("without the store the server answers 502 with the reason, and the page shows it", same(status, 502),
          None if error["message"] and text and error["message"] in text else f"{error} {text}")
    server.end()
    page.browser.value("document.querySelector('.tabs [data-view=hosts]').click()")
    page.settle()
    check("without the server the page says so", None if "The server does not answer" in page.text(".failure") else page.text("main"))


def test_command_line(store):
    problems = []
    for words, says in ((["--pid", "1"], "a fleet and a profile or process"), (["a.geiger"], "a fleet and a profile or process"),
                        (["--pull"], "not a fleet"), (["--source"], "no source lines"), (["--confidence", "2"], "not between")):
        done = subprocess.run([GEIGER, "serve", "--fleet", store, *words], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 2 or says not in done.stderr:
            problems.append(f"{words}: {done.returncode} {done.stderr}")
    for words in (["--fleet", "ftp://x"], ["--fleet", "nowhere"], ["--tenant", "shop"]):
        done = subprocess.run([GEIGER, "serve", *words], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode not in (1, 2) or not done.stderr:
            problems.append(f"{words}: {done.returncode} {done.stderr}")
    done = subprocess.run([GEIGER, "help", "serve"], capture_output=True, text=True, timeout=60, check=False).stdout
    problems += [line for line in done.splitlines() if len(line) > 80]
    check("wrong command lines are refused, and the help fits", *problems)


def main():
    if CHROMIUM is None:
        skip("the page shows the numbers of the commands", "there is no chromium")
        return
    store = Store(os.path.abspath("store"))
    if store.url is None:
        skip("the page shows the numbers of the commands", store.why)
        return
    server = None
    try:
        start = seed(store)
        server = Server(store.folder)
        test_command_line(store.folder)
        test_answers(store, server)
        test_refusals(server)
        test_hostile(store, server)
        with Browser(CHROMIUM, "--force-prefers-reduced-motion") as browser:
            page = Page(browser, server)
            page.size(1200)
            # A link with the token keeps its question, and loses the token.
            browser.open(server.url + "&view=hosts&service=checkout")
            page.settle()
            check("a link with the token keeps its question, and loses the token",
                  same(page.address(), "/?view=hosts&service=checkout"))
            test_services(store, page)
            test_versions(store, page, start)
            test_flame(store, page)
            test_functions(store, page)
            test_diff(store, page, start)
            test_hosts(store, page)
            test_form(page)
            test_widths(page)
            test_drawn(store, page)
            test_empty(store, browser)
            test_away(store, browser, server)
    finally:
        if server is not None and server.process.poll() is None:
            server.end()
        store.down()
        shutil.rmtree("segments", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
