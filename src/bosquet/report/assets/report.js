"use strict";

// The report: shows what is in the page, or on a dashboard what the server has, again and again.

const POLL = 2000; // milliseconds
const byId = (id) => document.getElementById(id);
const embedded = (id) => JSON.parse(byId(id).textContent);
const table = new TrialTable(byId("controls"), byId("table"), byId("pager"));
const drawings = new Map(); // by element, what is drawn there once it is seen
const picked = new Map(); // by section, the tab that was picked
const FEW_BRANCHES = 10;
let allBranches = false;
let plotly = null;

// -- text ---------------------------------------------------------------------------------------

function showSummary(content) {
  document.title = content.title;
  byId("title").textContent = content.title;
  const { complete, failed, pending } = content.counts;
  const counts = [`${complete + failed} trial${complete + failed === 1 ? "" : "s"}`, failed ? `${failed} failed` : "", pending ? `${pending} running or waiting` : ""];
  byId("facts").textContent = [...counts, content.direction, ...content.facts].filter(Boolean).join(" \u00b7 ");
  byId("made").textContent = `Made by bosquet on ${new Date(content.made).toLocaleString()}. This page loads nothing from elsewhere.`;
  showBest(content);
  showBranches(content);
  showFailures(content);
  byId("space").replaceChildren(element("details", null, element("summary", null, "The space"), element("pre", { class: "tree" }, content.space)));
  table.show(content.trials, content.best ? content.best.number : -1);
}

function showBest({ best, direction }) {
  const side = direction === "minimize" ? "Lowest value" : "Highest value";
  if (!best) {
    byId("best").replaceChildren(element("p", { class: "eyebrow" }, side), element("p", { class: "headline" }, "none yet"));
    return;
  }
  const config = best.config.map(({ name, value, at_bound: bound }) => element("div", null,
    element("dt", null, name), element("dd", null, value, bound ? element("span", { class: "tag" }, "at its bound") : "")));
  const copies = Object.entries(best.copies).map(([name, text]) =>
    element("button", { type: "button", "data-copy": name, onclick: (event) => copy(event.currentTarget, text) }, `Copy as ${name}`));
  byId("best").replaceChildren(
    element("p", { class: "eyebrow" }, side),
    element("p", { class: "headline", title: String(best.value) }, best.shown),
    element("p", { class: "muted" }, `trial ${best.number}${best.branch ? ` \u00b7 ${best.branch}` : ""}`),
    element("dl", { class: "config", tabindex: 0, "aria-label": "Best configuration" }, ...config),
    element("div", { class: "buttons" }, ...copies),
  );
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch (refused) { // not allowed for files in some browsers: the old way
    const area = element("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

function rowsOf(columns, rows) {
  const cell = (tag, [label, number], text) => element(tag, { class: number ? "number" : "text" }, text);
  return element("div", { class: "scroll" }, element("table", null,
    element("thead", null, element("tr", null, ...columns.map((column) => cell("th", column, column[0])))),
    element("tbody", null, ...rows.map((row) => element("tr", null, ...row.map((text, i) => cell("td", columns[i], text)))))));
}

function showBranches({ branches }) {
  if (branches.length < 2) { byId("branches").replaceChildren(); return; }
  const columns = [["branch", false], ["trials", true], ["failed", true], ["best value", true], ["median time of a trial", true]];
  const few = allBranches || branches.length <= FEW_BRANCHES + 2 ? branches : branches.slice(0, FEW_BRANCHES);
  const more = element("button", { type: "button", onclick: () => { allBranches = true; showBranches({ branches }); } },
    `Show all ${branches.length} branches`);
  byId("branches").replaceChildren(element("h2", null, "Branches"),
    rowsOf(columns, few.map((b) => [b.branch, String(b.trials), String(b.failed), b.best, b.time])),
    few.length < branches.length ? element("div", { class: "buttons more" }, more) : "");
}

function showFailures({ failures }) {
  if (!failures.length) { byId("failures").replaceChildren(); return; }
  const where = (some) => some.map(({ branch, count }) => `${branch}: ${count}`).join("\n");
  const numbers = (one) => (one.count > one.trials.length ? "\u2026 " : "") + one.trials.join(", ");
  const lines = failures.map((one) => [String(one.count), element("p", { class: "reason" }, one.reason),
    element("p", { class: "reason" }, where(one.branches)), numbers(one)]);
  byId("failures").replaceChildren(element("h2", null, "Failures"),
    element("p", { class: "muted" }, "Those of one cause together; the reason is that of the last one."),
    rowsOf([["count", true], ["cause", false], ["branches", false], ["trials", false]], lines));
}

// -- pictures -----------------------------------------------------------------------------------

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function loadPlotly() {
  const code = await unpack(byId("packed-plotly").textContent);
  const script = document.createElement("script");
  script.textContent = code;
  document.head.append(script);
  return window.Plotly;
}

function showPictures({ advice, sections }) {
  byId("next").replaceChildren(element("p", { class: "eyebrow" }, "What to do next"), element("p", { class: "said" }, advice));
  const place = byId("pictures");
  for (const old of drawings.keys()) { seen.unobserve(old); plotly && plotly.purge(old); }
  drawings.clear();
  place.replaceChildren(...sections.map(pictureSection));
}

function pictureSection(section) {
  const target = element("div");
  const finding = element("p", { class: "finding" });
  const note = element("p", { class: "muted" });
  const names = section.views.map((view) => view.name);
  const pick = (index) => {
    picked.set(section.id, names[index]);
    drawings.set(target, section.views[index].figure);
    finding.textContent = section.views[index].finding;
    note.textContent = section.views[index].note;
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === index)));
    if (target.dataset.drawn) draw(target);
  };
  const tabs = section.views.length > 1
    ? section.views.map((view, i) => element("button", { type: "button", onclick: () => pick(i) }, view.name)) : [];
  pick(Math.max(0, names.indexOf(picked.get(section.id))));
  target.style.minHeight = `${heightOf(drawings.get(target))}px`; // so that nothing jumps when it is drawn
  seen.observe(target);
  return element("section", { class: `figure-section${section.wide ? " wide" : ""}${section.scrolls ? " scrolls" : ""}`, id: `picture-${section.id}` },
    element("h2", null, section.title), element("p", { class: "muted" }, section.about),
    tabs.length ? element("div", { class: "tabs" }, ...tabs) : "", finding, note, element("div", { class: "figure" }, target));
}

const HEADROOM = 60; // pixels that a title had
const heightOf = (figure) => (figure.layout.height || 420) - HEADROOM;

// A legend below the plot, as high as its entries need at this width.
function withLegend(layout, data, width) {
  const names = data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name);
  if (layout.showlegend === false || names.length < 2) return;
  const longest = Math.max(...names.map((name) => name.length));
  const columns = Math.max(1, Math.floor((width - 60) / (longest * 7.2 + 50)));
  const below = Math.ceil(names.length / columns) * 22;
  layout.legend = { ...layout.legend, orientation: "h", x: 0, xanchor: "left", y: 0, yanchor: "bottom", yref: "container" };
  layout.height += Math.max(0, below - 22);
  layout.margin = { ...layout.margin, b: 56 + below };
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting && !target.dataset.drawn) draw(target);
  }
}, { rootMargin: "300px" });

const colours = () => ({
  "font.color": getComputedStyle(document.documentElement).getPropertyValue("--text").trim(),
  "hoverlabel.bgcolor": getComputedStyle(document.documentElement).getPropertyValue("--card").trim(),
});

async function draw(target) {
  const figure = drawings.get(target);
  if (!figure) return;
  target.dataset.drawn = "yes";
  plotly = plotly || loadPlotly();
  plotly = await plotly;
  const colour = colours();
  const layout = structuredClone(figure.layout);
  layout.font = { ...layout.font, color: colour["font.color"] };
  layout.hoverlabel = { ...layout.hoverlabel, bgcolor: colour["hoverlabel.bgcolor"] };
  layout.autosize = true;
  layout.height = heightOf(figure);
  layout.margin = { ...layout.margin, t: 16 };
  withLegend(layout, figure.data, target.clientWidth);
  target.style.minHeight = `${layout.height}px`;
  const options = { responsive: true, displaylogo: false, displayModeBar: false };
  await plotly.react(target, structuredClone(figure.data), layout, options);
}

const drawn = () => [...drawings.keys()].filter((target) => target.data); // which plotly has set
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const target of drawn()) plotly.relayout(target, colours());
});

// On paper every picture has the width of the page, and its texts are black whatever the screen is.
const PAPER = 680;
addEventListener("beforeprint", () => { for (const target of drawn()) plotly.relayout(target, { "font.color": "#000", autosize: false, width: PAPER }); });
addEventListener("afterprint", () => { for (const target of drawn()) plotly.relayout(target, { ...colours(), autosize: true, width: null }); });

// Pictures that nobody has scrolled to are drawn when there is time, so that they are printed too.
function drawTheRest() {
  const target = [...drawings.keys()].find((one) => !one.dataset.drawn);
  if (target) draw(target).then(() => setTimeout(drawTheRest, 50));
}

function notice(text) {
  byId("notice").hidden = false;
  byId("notice").textContent = text;
}

// -- a dashboard --------------------------------------------------------------------------------

async function fetched(address, tags) {
  const answer = await fetch(address, { headers: tags[address] ? { "If-None-Match": tags[address] } : {}, cache: "no-store" });
  if (answer.status === 304 || answer.status === 204) return null; // the same, or not made yet
  if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
  tags[address] = answer.headers.get("ETag");
  return answer.json();
}

async function follow({ home }) {
  byId("home").hidden = !home;
  byId("home").href = home;
  const tags = {};
  for (;;) {
    try {
      const content = await fetched("summary.json", tags);
      if (content) showSummary(content);
      const pictures = await fetched("pictures.json", tags);
      if (pictures) showPictures(pictures);
      else if (!byId("next").childElementCount) showWaiting();
      status("live", true);
    } catch (problem) {
      status(`no answer: ${problem.message}`, false);
    }
    await new Promise((go) => setTimeout(go, POLL));
  }
}

function showWaiting() {
  byId("next").replaceChildren(element("p", { class: "eyebrow" }, "What to do next"),
    element("p", { class: "said" }, "A model is being fitted to the trials; its advice and the pictures follow."));
}

function status(text, good) {
  byId("status").replaceChildren(element("span", { class: good ? "dot" : "dot off" }), text);
}

// -- begin --------------------------------------------------------------------------------------

async function begin() {
  const live = embedded("live");
  const able = typeof DecompressionStream !== "undefined";
  if (!able) notice("This browser is too old to unpack the pictures (it lacks DecompressionStream); everything else is here.");
  if (live) { follow(live); return; }
  showSummary(embedded("content"));
  document.documentElement.dataset.ready = "text";
  if (able) {
    showPictures(JSON.parse(await unpack(byId("packed-pictures").textContent)));
    document.documentElement.dataset.ready = "all";
    setTimeout(drawTheRest, 1000);
  }
}

begin();
