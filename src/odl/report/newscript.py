"""Style and script of the page about what is new; tables sort and search by DataTables, which the wheel itables ships.

Without scripts everything is there: the script hides nothing that it does not show again.
"""

import base64
import importlib.util
import os

from odl.errors import DataError

LIBRARY = "html/dt_bundle.js"

STYLE = """
.lead { font-size: 1.15rem; max-width: 52rem; text-wrap: balance; }
.meta, .facts, .number { color: var(--soft); font-size: .86rem; }
:root { --new: #b3470b; --growing: #1a7f37; --returning: #7a3fb8; }
@media (prefers-color-scheme: dark) { :root { --new: #ffa657; --growing: #56d364; --returning: #d2a8ff; } }
.when { color: var(--soft); font-weight: 400; font-size: 1.05rem; display: block; }
.cards { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr));
  align-items: start; } #alerts details p { margin: .2rem 0 .4rem; font-size: .85rem; }
nav ul { font-size: .9rem; margin: .3rem 0; }
.topic { border: 1px solid var(--line); border-left: 4px solid var(--line); border-radius: 4px; margin: 0;
  padding: .5rem .9rem .6rem; } .topic:has(.state.new) { border-left-color: var(--new); }
.topic:has(.state.growing) { border-left-color: var(--growing); }
.topic:has(.state.returning) { border-left-color: var(--returning); }
.topic h2 { border: 0; margin: 0; padding: 0; font-size: 1.15rem; line-height: 1.35; overflow-wrap: anywhere; }
.topic h2 a { text-decoration: none; color: inherit; } .topic h2 a:hover { text-decoration: underline; }
.topic p { margin: .15rem 0; max-width: none; } .number { font-weight: 400; }
.topic.alone, .topic:nth-child(odd):has(+ .alone), .topic:nth-child(odd):last-child { grid-column: 1 / -1; }
.topic:nth-child(odd):has(+ .alone) ol, .topic:nth-child(odd):last-child ol, .alone ol {
  columns: 22rem 2; column-gap: 2.5rem; }
.topic li { break-inside: avoid; }
.topic ol { margin: .3rem 0 .2rem; padding-left: 1.6rem; } .topic li { max-width: none; margin: 0 0 .6rem; }
.title { overflow-wrap: anywhere; } .topic li details, #alerts details { border: 0; margin: 0; padding: 0; }
.topic li summary, #alerts summary { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.state { display: inline-block; font-size: .75rem; font-weight: 600; border: 1px solid currentColor; color: var(--soft);
  border-radius: 1rem; padding: 0 .5rem; vertical-align: .1em; line-height: 1.5; }
.state.new { color: var(--new); } .state.growing { color: var(--growing); }
.state.returning { color: var(--returning); }
.mark { color: var(--new); font-size: .86rem; white-space: nowrap; } .moving { padding-left: 1.2rem; }
dl { margin: .3rem 0; font-size: .9rem; } dl div { display: grid; grid-template-columns: 11rem 1fr; gap: .1rem .8rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; } .quiet { margin: .35rem .8rem; }
.health { font-size: 1rem; } .health > div { padding: .4rem 0; border-bottom: 1px solid var(--line); }
.look, .fine { font-size: .75rem; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .45rem;
  display: inline-block; } .look { color: var(--new); font-weight: 600; } .health dd { max-width: 46rem; }
.plot { position: relative; height: 15rem; border-bottom: 1px solid var(--soft); touch-action: pan-y; }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.chart { margin: 1rem 0; } .chart path, .course path { vector-effect: non-scaling-stroke; fill: none; }
.chart path.band { fill: var(--line); opacity: .7; } .chart .median { stroke: var(--soft); stroke-width: 2; }
.chart .most { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; } .chart .warm { fill: var(--shade); }
.chart .dots { stroke: var(--new); stroke-width: 6; stroke-linecap: round; }
.levels span { position: absolute; left: 0; z-index: 1; font-size: .75rem; color: var(--soft); background: var(--back);
  padding-right: .3rem; transform: translateY(-50%); pointer-events: none; }
.levels span:first-child { transform: none; } .levels span:last-child { transform: translateY(-110%); }
.axis { position: relative; height: 1.4rem; } .axis span { position: absolute; transform: translateX(-50%);
  font-size: .75rem; color: var(--soft); white-space: nowrap; top: .2rem; }
.axis span:first-child { transform: none; left: 0 !important; }
.axis span:last-child:not(:first-child) { transform: translateX(-100%); left: 100% !important; }
.brush { position: absolute; top: 0; bottom: 0; background: var(--link); opacity: .2; border: solid var(--link);
  border-width: 0 2px; } .brush[hidden] { display: none; }
.keys { margin: .2rem 0; } .key { margin-right: 1.1rem; white-space: nowrap; }
.key::before { content: ""; width: 1.1rem;
  display: inline-block; margin-right: .35rem; vertical-align: middle; border-top: 2px solid var(--soft); }
.key.dots::before { width: .5rem; height: .5rem; border: 0; border-radius: 50%; background: var(--new); }
.key.most::before { border-top: 1px dashed var(--soft); }
.key.band::before { height: .7rem; border: 0; background: var(--line); }
fieldset { border: 1px solid var(--line); border-radius: 4px; margin: .6rem 0; display: flex; flex-wrap: wrap;
  gap: .4rem 1rem; align-items: center; } legend, output { font-size: .9rem; } legend { color: var(--soft); }
fieldset label { display: flex; align-items: center; gap: .4rem; }
input[type=range] { width: 11rem; min-height: 1.6rem; }
output { flex-basis: 100%; min-height: 1.4em; }
button, select, input[type=search] { font: inherit; font-size: .9rem; color: var(--ink); background: var(--back);
  border: 1px solid var(--soft); border-radius: 4px; padding: .2rem .55rem; min-height: 2rem; }
button { cursor: pointer; } button:disabled, button.disabled { opacity: .45; cursor: default; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 1px; }
.course { width: 16rem; height: 1.6rem; display: block; border-bottom: 1px solid var(--line); }
.course .plain { fill: var(--soft); } .course .growing { fill: var(--growing); }
.course .returning { fill: var(--returning); } .course .birth { stroke: var(--new); stroke-width: 2; }
.course .end { stroke: var(--ink); stroke-width: 2; } #topic-table th.text { white-space: normal; min-width: 10rem; }
#topic-table tr > :nth-child(2), #topic-table tr > :nth-child(6) { text-align: left; }
tr:target { background: var(--shade); } html:not(.js) .needs-script { display: none; }
.controls { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: center; margin: .5rem 0; }
#alerts { width: 100%; } #alerts td { white-space: normal; } #alerts td:nth-child(-n+4) { text-align: left; }
#alerts td:nth-child(1) { white-space: nowrap; } #alerts td:nth-child(2) { overflow-wrap: anywhere; min-width: 12rem; }
#alerts td:nth-child(3) { max-width: 14rem; overflow-wrap: anywhere; }
#alerts td:nth-child(n+5) { white-space: nowrap; }
.dt-layout-row { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; justify-content: space-between; margin: .5rem 0;
  align-items: center; font-size: .9rem; } .dt-layout-table { display: block; overflow-x: auto; }
#alerts-box { overflow: visible; } .dt-paging-button { margin: 0 .1rem; }
.dt-paging-button.current { background: var(--shade); font-weight: 600; } .dt-search input { margin-left: .4rem; }
.dt-column-header { display: inline-flex; gap: .3rem; align-items: baseline; }
th .dt-column-order::after { content: "\\2195"; color: var(--soft); } th.dt-ordering-asc .dt-column-order::after {
  content: "\\2191"; color: var(--ink); } th.dt-ordering-desc .dt-column-order::after { content: "\\2193";
  color: var(--ink); } th[class*=dt-orderable] { cursor: pointer; }
.dt-orderable-none .dt-column-order { display: none; } footer { margin-top: 3rem; border-top: 2px solid var(--line);
  padding-top: .6rem; } footer code { overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } h1 { font-size: 1.4rem; }
  .topic { padding: .4rem .6rem; }
  dl div { grid-template-columns: 1fr; margin-bottom: .3rem; } .axis span:nth-child(even) { display: none; }
  #alerts tr > :nth-child(n+4), #topic-table tr > :nth-child(3), #topic-table tr > :nth-child(4),
  #topic-table tr > :nth-child(5) { display: none; } #topic-table th.text { min-width: 0; }
  #alerts td:nth-child(2) { min-width: 0; }
  #alerts th, #alerts td { padding: .25rem .4rem; } .course { width: 6rem; } .plot { height: 11rem; }
  .topic ol { padding-left: 1.3rem; } button, select, input[type=search] { min-height: 2.6rem; }
  input[type=range] { width: 9rem; } .dt-layout-row { justify-content: flex-start; } }
@media print { .needs-script, .dt-layout-row:not(.dt-layout-table), .dt-column-order { display: none !important; }
  .topic { break-inside: avoid; } :root { --soft: #333; --line: #bbb; } #alerts tr > * { display: table-cell; } }
"""

# A browser that is too old for the module shows the plain table.
OLD = (
    "var box=document.getElementById('alerts-box'),text=document.getElementById('alerts-text');"
    "if(text)box.innerHTML=text.textContent"
)

SCRIPT = """
const $ = (id) => document.getElementById(id), root = document.documentElement;
const words = {search: "Search", lengthMenu: "_MENU_ a page", info: "_START_ to _END_ of _TOTAL_",
  infoFiltered: "(of _MAX_)", infoEmpty: "none",
  zeroRecords: "Nothing fits; widen the search, the state or the periods."};
const span = [-Infinity, Infinity];
let alerts, topics, DataTable;

// The rows of the table as text: a line each, cells without attributes but data-order, by which they sort.
function rowsOf(text) {
  const start = text.indexOf("<tbody>") + 7, end = text.lastIndexOf("</tbody>");
  $("alerts-box").innerHTML = text.slice(0, start) + text.slice(end);
  return text.slice(start, end).trim().split("\\n").map((line) => {
    const cells = line.slice(line.indexOf("<td"), -10).split("</td>").map((cell) => {
      const at = cell.indexOf(">"), order = cell.startsWith("<td d") ? +cell.slice(16, at - 1) : null;
      return {shown: cell.slice(at + 1), order: order ?? cell.slice(at + 1)};
    });
    cells.folded = line.startsWith("<tr class=f");
    return cells;
  });
}

function tables() {
  if ($("alerts-text")) {
    const rows = rowsOf($("alerts-text").textContent);
    const periods = rows.map((row) => row[0].order), folded = rows.map((row) => row.folded);
    alerts = new DataTable($("alerts"), {data: rows, order: [], pageLength: 25, lengthMenu: [10, 25, 100, 500],
      autoWidth: false, deferRender: true, orderClasses: false, language: words, layout: {topStart: "search",
      topEnd: "info", bottomStart: "pageLength", bottomEnd: "paging"},
      columns: ["html-num", "html", "html", "string", "num", "num"].map((type, data) =>
        ({type, data, render: {_: "shown", sort: "order", type: "order"}}))});
    alerts.search.fixed("shown", (text, data, at) => periods[at] >= span[0] && periods[at] <= span[1]
      && !(folded[at] && $("lead").checked));
    $("lead").addEventListener("change", () => alerts.draw());
    $("state").addEventListener("change", (event) => {
      const state = event.target.value;
      alerts.column(3).search(state ? `^${state}$` : "", {regex: true, smart: false}).draw();
    });
  }
  if ($("topic-table") && $("topic-table").tBodies[0].rows.length > 12)
    topics = new DataTable($("topic-table"), {order: [], pageLength: 12, lengthMenu: [12, 50, 300], autoWidth: false,
      orderClasses: false, language: {...words, zeroRecords: "Nothing fits."}, layout: {topStart: "search",
      topEnd: "info", bottomStart: "pageLength", bottomEnd: "paging"}, columnDefs: [{targets: 5, orderable: false}]});
  for (const box of document.querySelectorAll(".dt-info")) box.setAttribute("role", "status");
}

function unfoldTo(hash) {
  if (!topics || !/^#topic-\\d+$/.test(hash)) return;
  const at = () => topics.rows({order: "applied", search: "applied"}).nodes().toArray()
    .findIndex((row) => "#" + row.id === hash);
  if (at() < 0) topics.search("").draw();
  if (at() >= 0) topics.page(Math.floor(at() / topics.page.len())).draw(false);
  document.querySelector(hash)?.scrollIntoView({block: "center"});
}

function brushing() {
  const plot = $("plot"), box = plot.querySelector(".brush"), from = $("from"), to = $("to");
  const first = +plot.dataset.first, last = +plot.dataset.last, n = last - first + 1;
  const names = Object.fromEntries([...$("names").options].map((option) => [option.value, option.label]));
  const show = (a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a], whole = low === first && high === last;
    span.splice(0, 2, low, high);
    from.value = low; to.value = high;
    from.setAttribute("aria-valuetext", names[low]); to.setAttribute("aria-valuetext", names[high]);
    box.hidden = whole;
    box.style.left = `${100 * (low - first) / n}%`; box.style.width = `${100 * (high - low + 1) / n}%`;
  };
  const choose = (a, b) => {
    show(a, b);
    if (alerts) alerts.draw();
    const [low, high] = span, count = alerts ? alerts.rows({search: "applied"}).count() : 0;
    const text = low === high ? names[low] : `${names[low]} to ${names[high]}`;
    $("chosen").textContent = box.hidden ? "" : `Shown in the table of all alerts: ${text} (${count}).`;
  };
  const at = (event) => {
    const area = plot.getBoundingClientRect();
    return Math.min(last, Math.max(first, first + Math.floor((event.clientX - area.left) / area.width * n)));
  };
  let start = null;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = at(event); plot.setPointerCapture(event.pointerId); show(start, start); event.preventDefault();
  });
  plot.addEventListener("pointermove", (event) => { if (start !== null) show(start, at(event)); });
  plot.addEventListener("pointerup", (event) => { if (start !== null) choose(start, at(event)); start = null; });
  plot.addEventListener("pointercancel", () => { if (start !== null) choose(first, last); start = null; });
  for (const range of [from, to]) {
    range.addEventListener("input", () => show(+from.value, +to.value));
    range.addEventListener("change", () => choose(+from.value, +to.value));
  }
  $("all").addEventListener("click", () => choose(first, last));
  show(first, last);
}

try {
  try {
    DataTable = (await import("LIBRARY")).default;
    tables();
    root.classList.add("js");
  } catch (error) {
    if ($("alerts-text")) $("alerts-box").innerHTML = $("alerts-text").textContent;
    throw error;
  }
  if ($("plot")) brushing();
  addEventListener("hashchange", () => unfoldTo(location.hash));
  unfoldTo(location.hash);
  let length;
  addEventListener("beforeprint", () => { if (alerts) { length = alerts.page.len(); alerts.page.len(500).draw(); } });
  addEventListener("afterprint", () => { if (alerts) alerts.page.len(length).draw(); });
} finally {
  root.dataset.ready = "yes";
}
"""


def library():
    """Return the module of DataTables as an address that holds it.

    Raises
    ------
    DataError
        If itables is not installed.
    """
    found = importlib.util.find_spec("itables")  # not imported: it would load pandas' own extras
    path = os.path.join(found.submodule_search_locations[0], LIBRARY) if found else ""
    if not os.path.exists(path):
        given = "the package itables, which has the script of the tables, is not installed"
        raise DataError(given, "itables 2.9 or later", "install it (pip install itables)")
    with open(path, "rb") as file:
        return "data:text/javascript;base64," + base64.b64encode(file.read()).decode("ascii")


def scripts():
    """Return the scripts at the end of the page."""
    module = SCRIPT.replace("LIBRARY", library())
    return f'<script nomodule>{OLD}</script>\n<script type="module">{module}</script>'
