"""The page about what is new in a real browser: what moves, moves; nothing is asked for, nothing is complained of."""

import os
import shutil

import newpages
import pytest

from odl.report import newpage

BROWSER = os.environ.get("ODL_CHROMIUM") or shutil.which("chromium")
driver = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright (pip install playwright)"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="needs chromium (or its path in ODL_CHROMIUM)"),
]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
WIDE, NARROW = (1300, 900), (390, 844)


@pytest.fixture(scope="module")
def browser():
    with driver.sync_playwright() as play:
        found = play.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture(scope="module")
def watch():
    return newpages.watch(n_periods=40, title=newpages.EVIL, id=newpages.EVIL)


@pytest.fixture(scope="module")
def file(watch, tmp_path_factory):
    path = tmp_path_factory.mktemp("new") / "new.html"
    path.write_text(newpage.render_page(watch), encoding="utf-8")
    return path


class Opened:
    """A page in a context of its own, with what it said and asked for."""

    def __init__(self, browser, file, size=WIDE, scripts=True, **options):
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(
            viewport=viewport, java_script_enabled=scripts, offline=True, **options
        )
        self.page, self.said, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.address = file.as_uri()
        self.page.goto(self.address)
        if scripts:
            self.page.wait_for_function("document.documentElement.dataset.ready")

    def info(self, table):
        return self.page.locator(f".dt-container:has(#{table}) .dt-info").inner_text()

    def again(self):
        self.page.reload()
        self.page.wait_for_function("document.documentElement.dataset.ready")
        self.asked[:] = self.asked[:1]


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def opened(browser, file, request):
    held = Opened(browser, file, request.param, has_touch=request.param is NARROW)
    yield held
    asked = [url for url in held.asked if not url.startswith("data:")]
    assert held.said == [] and asked == [held.address]
    held.context.close()


def test_it_fits_and_its_first_screen_says_what_is_new(opened):
    page = opened.page
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".lead").bounding_box()["y"] < height * 0.3
    assert page.locator("#headlines th[scope=row]").first.bounding_box()["y"] < height * 0.6
    assert (
        page.locator(".event h2").first.bounding_box()["y"]
        > page.locator("#headlines").bounding_box()["y"]
    )
    assert page.locator(".event").first.get_by_text("new", exact=True).is_visible()


def test_the_table_of_earlier_headlines_sorts_and_searches(opened):
    page = opened.page
    assert opened.info("earlier") == "1 to 12 of 18"
    page.locator(".dt-container:has(#earlier) input[type=search]").fill('"Story 7-1"')
    page.wait_for_function("document.querySelector('.dt-info').textContent.includes('(of 18)')")
    assert opened.info("earlier") == "1 to 1 of 1 (of 18)"
    page.locator(".dt-container:has(#earlier) input[type=search]").fill("data-order")
    page.get_by_text("Nothing fits.").wait_for()
    page.locator(".dt-container:has(#earlier) input[type=search]").fill("")
    if page.viewport_size["width"] > 600:
        head = page.locator("#earlier thead th").nth(0)
        head.click()
        driver.expect(head).to_have_attribute(
            "aria-sort", "ascending"
        )  # sorting waits for the browser to be idle
        assert page.locator("#earlier tbody tr").first.get_attribute("data-t") == "3"


def test_a_row_unfolds_by_click_and_by_key(opened):
    row = opened.page.locator("#earlier tbody tr").nth(1)
    reasons = row.locator("details ul")
    assert not reasons.is_visible()
    row.locator("summary").click()
    assert reasons.is_visible() and "words of its own" in reasons.inner_text()
    row.locator("summary").press("Enter")
    assert not reasons.is_visible()


def test_what_came_since_the_last_visit_of_a_reader_is_marked(opened, watch):
    """By a mark that this browser has."""
    page, last = opened.page, watch.periods[-1].t
    assert page.locator("#visited").is_hidden()
    assert page.evaluate("Object.values(localStorage)") == [str(last)]
    opened.again()
    assert page.locator("#visited").inner_text().startswith("Nothing came since your last visit")
    page.evaluate("mark => localStorage.setItem(Object.keys(localStorage)[0], mark)", last - 4)
    opened.again()
    assert (
        page.locator("#visited")
        .inner_text()
        .startswith("Since your last visit: 4 periods; 1 of the headlines")
    )
    assert page.get_by_text("since your last visit", exact=True).count() == 1


def test_an_event_is_found_in_its_table(opened, watch):
    page = opened.page
    assert page.locator("#event-table tbody tr").count() == 12
    cells = page.locator("#event-table tbody tr").first.locator("td").all()
    assert len(cells) == 4 and all(cell.is_visible() for cell in cells)  # on a telephone too
    hidden = next(f"event-{n}" for n in watch.events if not page.locator(f"#event-{n}").count())
    page.evaluate(f"location.hash = '{hidden}'")
    page.locator(f"#{hidden}").wait_for()
    assert page.locator(f"#{hidden}").bounding_box()["y"] < page.viewport_size["height"]


def test_everything_has_a_name_and_the_keyboard_reaches_it(opened):
    """What a screen reader says of controls and pictures; tabbing goes through them."""
    page = opened.page
    for role in ("link", "button", "searchbox", "combobox", "img", "table"):
        for found in page.get_by_role(role).all():
            if found.is_visible():
                name = found.evaluate("""node => node.getAttribute('aria-label') || node.labels?.[0]?.textContent
                    || node.caption?.textContent || node.textContent""")
                assert name and name.strip(), found.evaluate("node => node.outerHTML")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + document.activeElement.type"))
        box = page.evaluate("document.activeElement.getBoundingClientRect().toJSON()")
        assert box["right"] > 0 and box["left"] < page.viewport_size["width"]  # focus is seen
    assert {"A", "SUMMARYundefined", "INPUTsearch"} <= reached


def test_text_has_contrast(opened):
    """At least 4.5 to 1, WCAG 2 AA, of every text that is seen."""
    low = opened.page.evaluate("""() => {
      const channel = (c) => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
      const light = (rgb) => rgb.match(/[\\d.]+/g).slice(0, 3).map(Number).map(channel)
        .reduce((sum, c, at) => sum + c * [.2126, .7152, .0722][at], 0);
      const back = (node) => { for (; node; node = node.parentElement) {
        const c = getComputedStyle(node).backgroundColor;
        if (!/, 0\\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
      return [...document.querySelectorAll("main *, nav *, footer *")].filter((node) => node.offsetParent &&
        [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())).filter((node) => {
          if (node.disabled || node.classList.contains("disabled")) return false;
          const [a, b] = [light(getComputedStyle(node).color), light(back(node))].sort((x, y) => y - x);
          return (a + .05) / (b + .05) < 4.5; }).map((node) => node.outerHTML.slice(0, 80)); }""")
    assert low == []


def test_text_of_documents_does_nothing(opened):
    page = opened.page
    assert page.get_by_text('<script>alert("x")</script>').first.is_visible()
    assert page.locator(".headlines b, .event h2 b").count() == 0


def test_without_scripts_everything_can_be_read(browser, file):
    opened = Opened(browser, file, NARROW, scripts=False)
    page = opened.page
    assert (
        page.locator("#earlier tbody tr").count() == 18
        and page.locator("#event-table tbody tr").count() == 19
    )
    assert page.locator(".copy").count() and not page.locator(".copy").first.is_visible()
    row = page.locator("#earlier tbody tr").nth(1)
    row.locator("summary").click()
    assert row.locator("details ul").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert opened.said == []
    opened.context.close()


def test_a_script_that_fails_leaves_the_tables(browser, file, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text(
        file.read_text(encoding="utf-8").replace(
            "data:text/javascript;base64,", "data:text/javascript,!"
        )
    )
    opened = Opened(browser, broken)
    assert opened.page.locator("#earlier tbody tr").count() == 18 and opened.said
    opened.context.close()


def test_dark_and_in_print(browser, file):
    opened = Opened(browser, file, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(colour) == "rgb(22, 25, 29)"
    opened.page.emulate_media(media="print", color_scheme="light")
    assert not opened.page.locator("nav").first.is_visible()
    opened.context.close()


def test_a_title_from_right_to_left_begins_at_the_right_of_each_line(browser, tmp_path):
    path = tmp_path / "new.html"
    path.write_text(
        newpage.render_page(newpages.watch(title="התפרצות הר הגעש חסמה את הכביש " * 3)),
        encoding="utf-8",
    )
    held = Opened(browser, path, NARROW)
    lines = held.page.locator(".title > *").first.evaluate(
        "title => { const { right } = title.getBoundingClientRect(), text = document.createRange();"
        " text.selectNodeContents(title);"
        " return [...text.getClientRects()].map(line => [line.y, right - line.right]); }"
    )
    assert len({y for y, _ in lines}) > 1 and all(
        any(y == y_ and gap < 1 for y_, gap in lines) for y, _ in lines
    )
    held.context.close()
