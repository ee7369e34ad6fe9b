"""The page about what is new with ten thousand alerts in a real browser: size, time to load, time to filter and sort.

    python benchmarks/newpage.py --alerts 10000

Needs chromium and playwright. Milliseconds on the clock of the page, median and largest: until the table can be used
after the address was opened, and from a key or click until the new rows are laid out (limits: 2000 and 200).
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "helpers"))
import newpages

from odl.report import newpage

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WATCH = """new MutationObserver((list, self) => {
  if (document.documentElement?.dataset.ready) { window.ready ??= performance.now(); self.disconnect(); }
}).observe(document, {subtree: true, attributes: true, childList: true});
window.timed = (act) => { const from = performance.now(); act(); document.body.offsetHeight;
  return performance.now() - from; };
window.set = (selector, value, name) => timed(() => { const box = document.querySelector(selector);
  box.value = value; box.dispatchEvent(new Event(name, {bubbles: true})); });"""
SEARCH = "text => set('#alerts-box input[type=search]', text, 'input')"
STATE = "state => set('#state', state, 'change')"
BRUSH = "start => set('#from', start, 'change')"
SORT = """place => new Promise((done) => { const from = performance.now();
  new MutationObserver((list, self) => { self.disconnect(); document.body.offsetHeight;
    done(performance.now() - from); }).observe(document.querySelector('#alerts tbody'), {childList: true});
  document.querySelectorAll('#alerts thead th')[place].click(); })"""
SHOWN = "document.querySelector('#alerts-box .dt-info').textContent"


def measured(browser, address, repeats):
    """Return milliseconds by what was done."""
    found = {"load": [], "search": [], "state": [], "brush": [], "sort": []}
    for _ in range(repeats):
        page = browser.new_page()
        page.add_init_script(WATCH)
        page.goto(address)
        page.wait_for_function("window.ready")
        found["load"].append(page.evaluate("window.ready"))
        before = page.evaluate(SHOWN)
        for text in ("s", "sh", "shuttle", "story 17", "wheat tonnes", "zzz", ""):
            found["search"].append(page.evaluate(SEARCH, text))
            if text in ("zzz", ""):
                assert page.evaluate(SHOWN) == (before if text == "" else f"none (of {before.split()[-1]})")
        found["state"] += [page.evaluate(STATE, state) for state in ("new", "growing", "")]
        found["brush"] += [page.evaluate(BRUSH, start) for start in (100, 400, 0)]
        found["sort"] += [page.evaluate(SORT, place) for place in (0, 4, 5)]
        page.close()
    return found


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alerts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    args = parser.parse_args()
    watch = newpages.watch(n_periods=args.alerts // 20 + 2, per=20, documents=400, n_topics=300, budget=20)
    text = newpage.text(watch)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = os.path.join(folder, "new.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        browser = play.chromium.launch(executable_path=args.chromium, args=FLAGS)
        found = measured(browser, f"file://{path}", args.repeats)
        browser.close()
    print(f"{sum(len(period.alerts) for period in watch.periods)} alerts, {len(text.encode()) / 1e6:.1f} MB")
    for name, values in found.items():
        print(f"{name:8} median {statistics.median(values):6.0f} ms, largest {max(values):6.0f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
