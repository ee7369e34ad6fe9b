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
  return text.slice(start, end).trim().split("\n").map((line) => {
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
  if (!topics || !/^#topic-\d+$/.test(hash)) return;
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

// The periods before that ended on a day or later, their items unfolded; the address may name it: new.html#since=DAY.
function since() {
  const box = $("since"), show = () => {
    for (const part of document.querySelectorAll("[data-day]")) {
      part.hidden = part.dataset.day < box.value;
      for (const items of part.querySelectorAll("details")) items.open = box.value && !part.hidden;
    }
  };
  const named = /^#since=(\d{4}-\d\d-\d\d)$/.exec(location.hash);
  box.addEventListener("change", show);
  if (named) { box.value = named[1]; show(); $("before").scrollIntoView(); }
}

// What came since the last visit of this reader, whose mark is in this browser only; before the latest period.
function sinceLastVisit() {
  const main = $("main"), box = $("visited"), key = `${main.dataset.mark} ${location.pathname}`, last = +main.dataset.last;
  let mark = null;
  try { mark = localStorage.getItem(key); localStorage.setItem(key, last); } catch { return; }
  if (mark === null) return;
  const came = [...document.querySelectorAll("#before ~ [data-t]")].filter((part) => +part.dataset.t > +mark);
  const line = document.createElement("p");
  line.className = "note";
  const count = Math.max(last - mark, 0), periods = count === 1 ? "1 period" : `${count} periods`;
  line.textContent = count ? `Since your last visit: ${periods}; the latest first, those before it below.`
    : "Nothing came since your last visit; the latest period once more.";
  box.append(line);
  box.hidden = false;
  if (!came.length) return;
  const below = document.createElement("section");
  below.append(...came);
  for (const part of below.querySelectorAll("details")) part.open = true;
  $("new").after(below);
}

function copying() {
  for (const button of document.querySelectorAll("button.copy"))
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(button.previousElementSibling.textContent); } catch { return; }
      button.textContent = "copied";
    });
}

// Where `odl watch --http` serves the page, the commands of a topic are buttons; the last one pressed holds.
function saying() {
  if (!$("main").dataset.live) return;
  for (const box of document.querySelectorAll(".commands")) {
    let said = "";
    const buttons = [...box.children].map((line) => {
      const [, verb, , what, known] = line.querySelector("code").textContent.split(" ");
      const button = document.createElement("button"), name = known ? "known" : verb;
      button.type = "button"; button.textContent = name;
      button.addEventListener("click", async () => {
        const next = said === name ? "" : name, verdict = next === "mute" ? "muted" : next;
        const answer = await fetch("feedback", {method: "POST", headers: {"Content-Type": "application/json"},
          body: JSON.stringify({what, verdict})}).catch(() => null);
        if (!answer?.ok) { button.textContent = `${name}: that did not work; try again`; return; }
        said = next;
        for (const [each, its] of buttons) each.textContent = its === said ? `${its}: done; take it back` : its;
      });
      line.replaceChildren(button);
      return [button, name];
    });
  }
}

try {
  sinceLastVisit();
  if ($("since")) since();
  saying();
  copying();
  try {
    DataTable = (await import("{{ library }}")).default;
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
