const $ = (id) => document.getElementById(id), root = document.documentElement;
const words = {search: "Search", lengthMenu: "_MENU_ a page", info: "_START_ to _END_ of _TOTAL_",
  infoFiltered: "(of _MAX_)", infoEmpty: "none", zeroRecords: "Nothing fits."};
const LENGTH = 12;
let events;

// Long tables are sorted and searched; without the script they are whole.
function sorted(DataTable, id, options) {
  if (!$(id) || $(id).tBodies[0].rows.length <= LENGTH) return null;
  return new DataTable($(id), {order: [], pageLength: LENGTH, lengthMenu: [LENGTH, 50, 500], autoWidth: false,
    orderClasses: false, language: words, layout: {topStart: "search", topEnd: "info", bottomStart: "pageLength",
    bottomEnd: "paging"}, ...options});
}

function tables(DataTable) {
  sorted(DataTable, "earlier", {columnDefs: [{targets: 5, orderable: false}]});
  events = sorted(DataTable, "event-table", {columnDefs: [{targets: 4, orderable: false}]});
  for (const box of document.querySelectorAll(".dt-info")) box.setAttribute("role", "status");
}

function unfoldTo(hash) {
  if (!events || !/^#event-\d+$/.test(hash)) return;
  const at = () => events.rows({order: "applied", search: "applied"}).nodes().toArray()
    .findIndex((row) => row.querySelector(hash));
  if (at() < 0) events.search("").draw();
  if (at() >= 0) events.page(Math.floor(at() / events.page.len())).draw(false);
  const shown = document.querySelector(hash);
  if (!shown) return;
  shown.closest("details").open = true;
  shown.scrollIntoView({block: "center"});
}

// The headlines that came since the last visit of this reader are marked; the mark of a visit is in this browser only.
function sinceLastVisit() {
  const main = $("main"), key = `${main.dataset.mark} ${location.pathname}`, last = +main.dataset.last;
  let mark = null;
  try { mark = localStorage.getItem(key); localStorage.setItem(key, last); } catch { return; }
  if (mark === null) return;
  const came = [...document.querySelectorAll("#earlier [data-t]")].filter((row) => +row.dataset.t > +mark);
  for (const row of came) {
    const text = document.createElement("span");
    text.className = "mark"; text.textContent = " since your last visit";
    row.querySelector("th").append(text);
  }
  const count = Math.max(last - mark, 0), periods = count === 1 ? "1 period" : `${count} periods`;
  $("visited").textContent = count
    ? `Since your last visit: ${periods}; ${came.length} of the headlines before the latest period are new to you.`
    : "Nothing came since your last visit; the latest period once more.";
  $("visited").hidden = false;
}

function copying() {
  for (const button of document.querySelectorAll("button.copy"))
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(button.previousElementSibling.textContent); } catch { return; }
      button.textContent = "copied";
    });
}

// Whether the server has written a line of feedback. While it is busy (503), the line is sent again.
async function feedback(line) {
  for (let tries = 0; tries < 5; tries++) {
    const answer = await fetch("feedback", {method: "POST", headers: {"Content-Type": "application/json"},
      body: JSON.stringify(line)}).catch(() => null);
    if (answer?.status !== 503) return answer?.ok;
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
  }
  return false;
}

// Where `odl watch --http` serves the page, a headline has buttons for verdicts; the pressed one is taken back by
// pressing it again.
function judging() {
  if (!$("main").dataset.live) return;
  for (const box of document.querySelectorAll(".judge")) {
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Do you want headlines like this one?");
    const buttons = ["yes", "no", "known"].map((answer) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = answer; button.setAttribute("aria-pressed", false);
      button.addEventListener("click", async () => {
        const judged = button.getAttribute("aria-pressed") === "true" ? "" : answer;
        if (!await feedback({what: box.dataset.what, judged})) {
          button.textContent = `${answer}: that did not work; try again`;
          return;
        }
        for (const each of buttons) each.setAttribute("aria-pressed", judged !== "" && each === button);
        button.textContent = answer;
      });
      return button;
    });
    box.append(...buttons);
  }
}

// Where `odl watch --http` serves the page, the commands of an event are buttons; the last one pressed holds.
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
        if (!await feedback({what, verdict})) { button.textContent = `${name}: that did not work; try again`; return; }
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
  judging();
  saying();
  copying();
  tables((await import("{{ library }}")).default);
  root.classList.add("js");
  addEventListener("hashchange", () => unfoldTo(location.hash));
  unfoldTo(location.hash);
} finally {
  root.dataset.ready = "yes";
}
