"""Makes the screenshots of docs: `python docs/screenshots.py newsgroups feeds`, or one of these.

Raw posts by week (the corpora's folder in ODL_MIRROR) and RSS in German, made here, are run from
nothing, as a person does: `odl init`, `odl run`. Needs chromium (or its path in ODL_CHROMIUM) and
`pip install -e '.[browser]'`.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1080, "height": 960}
HEIGHTS = {"newsgroups": 805, "feeds": 790}  # what is shown of the page
BEGAN = datetime(2026, 3, 2, 6)
SHOWN = 736_214_400_000  # 1993-05-01 in ms: the page shows the day before
DAYS, A_DAY = 70, 12
# subjects, what they do, with what: every sentence of a subject is one of each
NEWS = {
    "Rat": (
        ["Der Stadtrat", "Die Bürgermeisterin", "Der Finanzausschuss", "Die Opposition im Rathaus"],
        ["berät über", "verschiebt", "beschließt", "streitet um"],
        [
            "den Haushalt",
            "die neue Grundsteuer",
            "den Umbau des Rathauses",
            "die Gebühren für Parkplätze",
        ],
    ),
    "Fußball": (
        ["Der Trainer", "Die Mannschaft", "Der Torwart", "Der Verein"],
        ["hofft auf", "verliert", "feiert", "spricht über"],
        [
            "das Pokalspiel",
            "den Aufstieg in die Landesliga",
            "das Tor in der Nachspielzeit",
            "den neuen Stürmer",
        ],
    ),
    "Schule": (
        ["Die Grundschule", "Das Gymnasium", "Der Elternbeirat", "Die Schulleiterin"],
        ["wartet auf", "plant", "fordert", "eröffnet"],
        [
            "mehr Lehrer",
            "die neue Mensa",
            "Tablets für die Klassen",
            "den Ganztag mit Hausaufgaben",
        ],
    ),
    "Verkehr": (
        ["Die Buslinie 7", "Die Baustelle am Bahnhof", "Der Radweg", "Die Umleitung"],
        ["sorgt für", "endet ohne", "bringt", "beginnt mit"],
        [
            "Stau im Berufsverkehr",
            "neue Haltestellen",
            "Verspätungen",
            "eine Ampel an der Kreuzung",
        ],
    ),
    "Theater": (
        ["Das Stadttheater", "Die Regisseurin", "Das Orchester", "Der Chor"],
        ["probt", "zeigt", "verschiebt", "wiederholt"],
        ["die Premiere", "das Konzert im Dom", "eine Oper von Mozart", "das Stück für Kinder"],
    ),
    "Markt": (
        ["Die Bäckerei", "Der Wochenmarkt", "Der Einzelhandel", "Das Kaufhaus"],
        ["klagt über", "wirbt mit", "schließt wegen", "rechnet mit"],
        [
            "hohe Preise für Strom",
            "Rabatten am Sonntag",
            "fehlenden Kunden",
            "Äpfeln aus der Region",
        ],
    ),
}
FLOOD = (
    ["Das Hochwasser", "Die Flut", "Das Wasser der Werre", "Die Welle hinter dem Deich"],
    ["erreicht", "bedroht", "überschwemmt", "steigt bis an"],
    ["die Altstadt", "den Campingplatz", "die Keller der Uferstraße", "die Brücke am Wehr"],
)
ITEM = (
    "<item><guid>{guid}</guid><title>{title}</title>"
    "<pubDate>{time}</pubDate><description>{text}</description></item>"
)


def feeds(folder):
    """Write a feed a day, of made-up local news in German; a flood comes in the last week."""
    draw = random.Random(0)
    sources = folder / "feeds"
    sources.mkdir()
    for day in range(DAYS):
        items = []
        for number in range(A_DAY):
            flood = day >= DAYS - 5 and number % 4 == 0
            parts = FLOOD if flood else draw.choice(list(NEWS.values()))
            said = [" ".join(draw.choice(words) for words in parts) for _ in range(4)]
            time = BEGAN + timedelta(days=day, minutes=45 * number)
            sent = time.strftime("%a, %d %b %Y %H:%M:00 +0100")
            items.append(
                ITEM.format(
                    guid=f"{day}-{number}", title=said[0], time=sent, text=". ".join(said[1:]) + "."
                )
            )
        name = (BEGAN + timedelta(days=day)).strftime("%Y-%m-%d.xml")
        channel = f"<channel>{''.join(items)}</channel>"
        feed = f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0">{channel}</rss>'
        (sources / name).write_text(feed, encoding="utf-8")
    return ["feeds"]


def newsgroups(folder):
    """Write raw posts without their groups: three weeks, and the next one up to Friday."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import newsposts

    posts = newsposts.read(Path(os.environ.get("ODL_MIRROR", "")))
    if posts is None:
        sys.exit(
            "20 Newsgroups is not there: name the corpora's folder in ODL_MIRROR (docs/corpora.md)"
        )
    (folder / "posts").mkdir()
    for name, part in zip(("april", "later"), newsposts.weeks(posts, 3, 6400), strict=True):
        newsposts.write(
            folder / "posts" / f"{name}.jsonl", [post for post in part if post.time < SHOWN]
        )
    return ["posts/*.jsonl"]


def photograph(page, picture, height):
    """Take the upper part of a page."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    browser = os.environ.get("ODL_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = opened.new_context(viewport=SIZE, offline=True).new_page()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_function("document.documentElement.dataset.ready")
        tab.screenshot(
            path=picture, clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height}
        )
        opened.close()
    with Image.open(picture) as taken:  # a third of the bytes
        small = taken.convert("RGB").quantize(96)
    small.save(picture, optimize=True)
    print(f"{picture}: {picture.stat().st_size // 1000} kB")


def main(names):
    """Make the screenshots of some streams."""
    bin = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            given = {"feeds": feeds, "newsgroups": newsgroups}[name](Path(place))
            for command in (["init", name, *given], ["run", name]):
                subprocess.run(["odl", *command], cwd=place, env=environment, check=True)
            photograph(
                Path(place) / name / "new.html", ROOT / "docs" / f"new-{name}.png", HEIGHTS[name]
            )


if __name__ == "__main__":
    main(sys.argv[1:] or [*HEIGHTS])
