"""The page about what is new in a real browser: what moves, moves; nothing is asked for, nothing is complained of."""

import os
import shutil

import newpages
import pytest

from odl.alerts import show
from odl.report import newpage

BROWSER = os.environ.get("ODL_CHROMIUM") or shutil.which("chromium")
driver = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="needs chromium (or its path in ODL_CHROMIUM)"),
]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
WIDE, NARROW = (1300, 900), (390, 844)
BOX = "#alerts-box"


@pytest.fixture(scope="module")
def browser():
    with driver.sync_playwright() as play:
        found = play.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture(scope="module")
def watch():
    return newpages.watch(n_topics=20, title=newpages.EVIL, id=newpages.EVIL)


@pytest.fixture(scope="module")
def file(watch, tmp_path_factory):
    path = tmp_path_factory.mktemp("new") / "new.html"
    path.write_text(newpage.text(watch), encoding="utf-8")
    return path


class Opened:
    """A page in a context of its own, with what it said and asked for."""

    def __init__(self, browser, file, size=WIDE, scripts=True, **options):
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=viewport, java_script_enabled=scripts, offline=True, **options)
        self.page, self.said, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.address = file.as_uri()
        self.page.goto(self.address)
        if scripts:
            self.page.wait_for_function("document.documentElement.dataset.ready")

    def info(self):
        return self.page.locator(f"{BOX} .dt-info").inner_text()

    def column(self, place):
        return self.page.locator(f"#alerts tbody tr > :nth-child({place})").all_inner_texts()


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
    assert page.locator(".topic h2").first.bounding_box()["y"] < height * 0.6
    assert page.locator(".topic").first.get_by_text("new", exact=True).is_visible()


def test_the_table_sorts(opened):
    scores = opened.column(5)
    head = opened.page.locator("#alerts thead th").nth(1 if opened.page.viewport_size["width"] < 600 else 4)
    head.click()
    driver.expect(head).to_have_attribute("aria-sort", "ascending")  # sorting waits for the browser to be idle
    head.click()
    driver.expect(head).to_have_attribute("aria-sort", "descending")
    assert opened.column(5) != scores
    if opened.page.viewport_size["width"] > 600:
        values = [float(text) for text in opened.column(5)]
        assert values == sorted(values, reverse=True) and len(values) == 25


def test_periods_sort_as_numbers(opened):
    head = opened.page.locator("#alerts thead th").nth(0)
    head.click()
    driver.expect(head).to_have_attribute("aria-sort", "ascending")
    periods = [int(text.split()[0]) for text in opened.column(1)]
    assert periods == sorted(periods) and periods[0] == 2


def test_the_table_searches(opened, watch):
    page = opened.page
    assert opened.info() == "1 to 25 of 80"
    page.locator(f"{BOX} input[type=search]").fill("Story 7-")
    page.wait_for_function("document.querySelector('#alerts-box .dt-info').textContent.includes('(of 80)')")
    assert opened.info() == "1 to 8 of 8 (of 80)"
    assert all("Story 7-" in text for text in opened.column(2))
    word = "qzx1"  # only in what is folded away
    page.locator(f"{BOX} input[type=search]").fill(word)
    page.wait_for_function("document.querySelector('#alerts-box .dt-info').textContent.startsWith('1 to 25 of ')")
    assert opened.info().endswith("(of 80)")
    page.locator(f"{BOX} input[type=search]").fill("data-order")
    page.get_by_text("Nothing fits; widen the search").wait_for()


def test_the_table_filters(opened, watch):
    page = opened.page
    states = [alert.state for period in watch.periods for alert in period.alerts if alert.topic]
    page.locator("#state").select_option("growing")
    assert opened.info().endswith(f"of {states.count('growing')} (of 80)")
    page.locator("#state").select_option("alone")
    alone = [alert for period in watch.periods for alert in period.alerts if not alert.topic]
    assert alone and opened.info().endswith(f"of {len(alone)} (of 80)")
    page.locator("#state").select_option("")
    folded = sum(alert.folded for period in watch.periods for alert in period.alerts)
    page.locator("#lead").check()
    assert opened.info() == (f"1 to 25 of {80 - folded} (of 80)" if folded else "1 to 25 of 80")


def test_a_row_unfolds_by_click_and_by_key(opened):
    row = opened.page.locator("#alerts tbody tr").nth(1)
    reasons = row.locator("details p")
    assert not reasons.is_visible()
    row.locator("summary").click()
    assert reasons.is_visible() and "Words that others share" in reasons.inner_text()
    row.locator("summary").press("Enter")
    assert not reasons.is_visible()


def test_brushing_by_pointer(opened, watch):
    page = opened.page
    page.locator("#plot").scroll_into_view_if_needed()
    area = page.locator("#plot").bounding_box()
    step, y = area["width"] / len(watch.periods), area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + 4.5 * step, y)
    page.mouse.down()
    page.mouse.move(area["x"] + 6.5 * step, y, steps=4)
    page.mouse.up()
    assert opened.info() == "1 to 24 of 24 (of 80)"
    assert {int(text.split()[0]) for text in opened.column(1)} == {4, 5, 6}
    assert page.locator("#chosen").inner_text().startswith("Shown in the table of all alerts: period 4, 2023-")
    box = page.locator(".brush").bounding_box()
    assert box["x"] == pytest.approx(area["x"] + 4 * step, abs=2) and box["width"] == pytest.approx(3 * step, abs=2)
    page.locator("#all").click()
    assert opened.info() == "1 to 25 of 80" and not page.locator(".brush").is_visible()


def test_brushing_by_key(opened):
    page = opened.page
    page.locator("#from").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert opened.info() == "1 to 16 of 16 (of 80)"
    assert page.locator("#from").get_attribute("aria-valuetext").startswith("period 10, ")
    page.locator("#to").press("Home")  # beyond the other handle: they change places
    assert page.locator("#from").input_value() == "0" and page.locator("#to").input_value() == "10"


def test_periods_since_a_date(opened, watch):
    """Named in the address or chosen; without a date all of them are there."""
    since = show.date_of(watch.periods[-4].last)
    opened.page.goto(f"{opened.address}#since={since}")
    opened.page.reload()
    opened.page.wait_for_function("document.documentElement.dataset.ready")
    opened.asked[:] = opened.asked[:1]
    parts = opened.page.locator("[data-day]")
    shown = [part for part in parts.all() if part.is_visible()]
    assert [part.get_attribute("data-t") for part in shown] == [str(each.t) for each in watch.periods[-2:-5:-1]]
    assert all(part.locator("details").get_attribute("open") is not None for part in shown)
    opened.page.locator("#since").fill("")
    assert all(part.is_visible() for part in parts.all()) and parts.count() == len(watch.periods) - 1


def test_what_came_since_the_last_visit_of_a_reader(opened, watch):
    """By a mark that this browser keeps: periods since then stand unfolded below the latest one."""
    page, last = opened.page, watch.periods[-1].t
    assert page.locator("#visited").is_hidden()

    def again(mark=None):
        if mark is not None:
            page.evaluate("mark => localStorage.setItem(Object.keys(localStorage)[0], mark)", mark)
        page.reload()
        page.wait_for_function("document.documentElement.dataset.ready")
        opened.asked[:] = opened.asked[:1]
        return page.locator("#visited").inner_text(), page.locator("#new + section:not(:has(h2)) [data-t]").all()

    assert page.evaluate("Object.values(localStorage)") == [str(last)]
    said, came = again()
    assert said == "Nothing came since your last visit; the latest period once more." and not came
    said, came = again(last - 3)
    assert said == "Since your last visit: 3 periods; the latest first, those before it below."
    assert [part.get_attribute("data-t") for part in came] == [str(last - 1), str(last - 2)]
    assert all(part.locator("details").get_attribute("open") is not None for part in came)
    assert page.evaluate("Object.values(localStorage)") == [str(last)]


def test_a_topic_is_found_in_its_table(opened, watch):
    page = opened.page
    assert page.locator("#topic-table tbody tr").count() == 12
    cells = page.locator("#topic-table tbody tr").first.locator("td").all()
    assert len(cells) == 5 and all(cell.is_visible() for cell in cells)  # on a telephone too
    page.locator(f"{BOX} #alerts a[href^='#topic-']").first.click()
    name = page.url.rpartition("#")[2]
    page.locator(f"#{name}").wait_for()
    page.evaluate("location.hash = ''")
    hidden = next(f"topic-{n}" for n in watch.topics if not page.locator(f"#topic-{n}").count())
    page.evaluate(f"location.hash = '{hidden}'")
    page.locator(f"#{hidden}").wait_for()
    assert page.locator(f"#{hidden}").bounding_box()["y"] < page.viewport_size["height"]


def test_everything_has_a_name_and_the_keyboard_reaches_it(opened):
    """What a screen reader says of controls and pictures; tabbing goes through them."""
    page = opened.page
    for role in ("link", "button", "searchbox", "slider", "combobox", "checkbox", "img", "table"):
        for found in page.get_by_role(role).all():
            if found.is_visible():
                name = found.evaluate("""node => node.getAttribute('aria-label') || node.labels?.[0]?.textContent
                    || node.caption?.textContent || node.textContent""")
                assert name and name.strip(), found.evaluate("node => node.outerHTML")
    reached = set()
    page.locator("#from").focus()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"to", "all", "state", "lead"} <= reached and any(name.startswith("dt-search") for name in reached)


def test_text_of_documents_does_nothing(opened):
    page = opened.page
    assert page.get_by_text('<script>alert("x")</script>').first.is_visible()
    assert page.locator("#alerts b, .topic h2 b").count() == 0


def test_without_scripts_everything_can_be_read(browser, file, watch):
    opened = Opened(browser, file, NARROW, scripts=False)
    page = opened.page
    assert page.locator("#alerts tbody tr").count() == 80
    assert not page.locator("#state").is_visible() and page.locator("#alerts").is_visible()
    row = page.locator("#alerts tbody tr").nth(1)
    row.locator("summary").click()
    assert row.locator("details p").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert opened.said == []
    opened.context.close()


def test_a_script_that_fails_leaves_the_table(browser, file, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text(
        file.read_text(encoding="utf-8").replace("data:text/javascript;base64,", "data:text/javascript,!")
    )
    opened = Opened(browser, broken)
    assert opened.page.locator("#alerts tbody tr").count() == 80 and opened.said
    assert not opened.page.locator("#state").is_visible()
    opened.context.close()


def test_dark_and_in_print(browser, file):
    opened = Opened(browser, file, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(colour) == "rgb(22, 25, 29)"
    opened.page.emulate_media(media="print", color_scheme="light")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("#alerts tbody tr").count() == 80
    assert not opened.page.locator("#state").is_visible() and not opened.page.locator("nav").first.is_visible()
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("#alerts tbody tr").count() == 25
    opened.context.close()


def test_a_title_from_right_to_left_begins_at_the_right_of_each_line(browser, tmp_path):
    path = tmp_path / "new.html"
    path.write_text(newpage.text(newpages.watch(title="התפרצות הר הגעש חסמה את הכביש " * 3)), encoding="utf-8")
    held = Opened(browser, path, NARROW)
    lines = held.page.locator(".title > *").first.evaluate(
        "title => { const { right } = title.getBoundingClientRect(), text = document.createRange();"
        " text.selectNodeContents(title);"
        " return [...text.getClientRects()].map(line => [line.y, right - line.right]); }"
    )
    assert len({y for y, _ in lines}) > 1 and all(any(y == y_ and gap < 1 for y_, gap in lines) for y, _ in lines)
    held.context.close()
