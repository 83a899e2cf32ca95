"use strict";

// A table of trials that sorts, filters and pages. Whatever it shows of a study is text.

const PAGE = 50;
const FEW_PARAMETERS = 6;

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function durationText(seconds) {
  if (seconds === null) return "";
  if (seconds < 0.1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

function numberText(value) {
  if (value === null || value === undefined) return "";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

class TrialTable {
  constructor(controls, table, pager) {
    this.controls = controls;
    this.table = table;
    this.pager = pager;
    this.sort = { key: "number", down: true };
    this.filter = { branch: "", state: "", words: "" };
    this.page = 0;
    this.open = new Set();
    this.withParameters = null;
    this.data = null;
  }

  show(data, bestNumber) {
    this.data = data;
    this.best = bestNumber;
    this.rows = data.rows.map((row) => ({
      number: row[0], state: row[1], value: row[2], branch: data.branches[row[3]], started: row[4],
      duration: row[5], reason: row[6], info: row[7], values: row[8],
    }));
    if (this.withParameters === null) this.withParameters = data.parameters.length <= FEW_PARAMETERS;
    this.renderControls();
    this.render();
  }

  columns(rows) {
    const found = [
      { key: "number", label: "trial", number: true, of: (r) => r.number, text: (r) => String(r.number) },
      { key: "value", label: "value", number: true, of: (r) => r.value, text: (r) => numberText(r.value) },
      { key: "state", label: "state", of: (r) => r.state, text: (r) => r.state, cell: (r) => r.state },
    ];
    if (this.data.branches.length > 1) {
      found.push({ key: "branch", label: "branch", of: (r) => r.branch, text: (r) => r.branch, cell: () => "text" });
    }
    found.push({ key: "duration", label: "took", number: true, of: (r) => r.duration, text: (r) => durationText(r.duration) });
    if (this.withParameters) {
      this.data.parameters.forEach((parameter, i) => {
        if (!rows.some((row) => row.values[i] !== null)) return; // of another branch
        found.push({
          key: `p${i}`, label: parameter.name, number: parameter.number, of: (r) => r.values[i],
          text: (r) => (parameter.number ? numberText(r.values[i]) : r.values[i] ?? ""), cell: () => "short",
        });
      });
    }
    const why = (r) => (r.state === "failed" ? r.reason || "" : r.info.why || "");
    found.push({ key: "why", label: "why proposed, or why it failed", of: why, text: why, cell: () => "text" });
    return found;
  }

  chosen() {
    const { branch, state, words } = this.filter;
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return this.rows.filter((row) => {
      if (branch && row.branch !== branch) return false;
      if (state && row.state !== state) return false;
      if (!wanted.length) return true;
      const text = [row.number, row.branch, row.reason || "", JSON.stringify(row.info), row.values.join(" ")].join(" ").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
  }

  sorted(rows, columns) {
    const column = columns.find((one) => one.key === this.sort.key) || columns[0];
    const missing = (value) => value === null || value === undefined || value === "";
    return rows.slice().sort((a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y) || a.number - b.number; // always last
      return (this.sort.down ? compare(y, x) : compare(x, y)) || a.number - b.number;
    });
  }

  render() {
    const rows = this.chosen();
    const columns = this.columns(rows);
    const sorted = this.sorted(rows, columns);
    const pages = Math.max(1, Math.ceil(sorted.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    const head = element("tr", null, ...columns.map((column) => this.header(column)));
    const body = element("tbody");
    for (const row of sorted.slice(this.page * PAGE, (this.page + 1) * PAGE)) {
      body.append(this.line(row, columns));
      if (this.open.has(row.number)) body.append(this.detail(row, columns.length));
    }
    this.table.replaceChildren(element("table", null, element("thead", null, head), body));
    this.renderPager(sorted.length, pages);
  }

  header(column) {
    const current = this.sort.key === column.key;
    const arrow = current ? (this.sort.down ? " \u2193" : " \u2191") : "";
    const press = () => {
      this.sort = { key: column.key, down: current ? !this.sort.down : column.key === "number" };
      this.page = 0;
      this.render();
    };
    const order = current ? (this.sort.down ? "descending" : "ascending") : "none";
    return element("th", { class: column.number ? "number" : "", "aria-sort": order, scope: "col" },
      element("button", { type: "button", onclick: press, "data-sort": column.key }, column.label + arrow));
  }

  line(row, columns) {
    const toggle = () => {
      if (!this.open.delete(row.number)) this.open.add(row.number);
      this.render();
    };
    const cells = columns.map((column) =>
      element("td", { class: column.number ? "number" : column.cell ? column.cell(row) : "" }, column.text(row)));
    const best = row.number === this.best ? " best" : "";
    const press = (event) => { if (event.key === "Enter") toggle(); };
    return element("tr", { class: `row${best}`, onclick: toggle, onkeydown: press, tabindex: 0, "data-trial": row.number,
      "aria-expanded": String(this.open.has(row.number)) }, ...cells);
  }

  detail(row, width) {
    const list = (pairs) => element("dl", { class: "config" }, ...pairs.map(([name, value]) =>
      element("div", null, element("dt", null, name), element("dd", null, value))));
    const config = this.data.parameters
      .map((parameter, i) => [parameter.name, row.values[i], parameter.number])
      .filter(([, value]) => value !== null)
      .map(([name, value, number]) => [name, number ? numberText(value) : String(value)]);
    const parts = [element("h3", null, "Configuration"), list(config)];
    if (Object.keys(row.info).length) parts.push(element("h3", null, "Why it was proposed"), list(Object.entries(row.info)));
    if (row.started) parts.push(element("h3", null, `Started ${new Date(row.started).toLocaleString()}`));
    if (row.reason) parts.push(element("h3", null, "Why it failed"), element("p", { class: "reason" }, row.reason));
    return element("tr", { class: "detail" }, element("td", { colspan: width }, ...parts));
  }

  renderControls() {
    const count = (test) => this.rows.filter(test).length;
    const option = (value, label) => element("option", { value }, label);
    const select = (name, label, choices) => {
      const made = element("select", { "aria-label": label, id: `filter-${name}` }, ...choices);
      made.value = this.filter[name];
      made.addEventListener("change", () => { this.filter[name] = made.value; this.page = 0; this.render(); });
      return made;
    };
    const states = ["complete", "failed", "pending"].filter((state) => count((row) => row.state === state));
    const search = element("input", { type: "search", id: "filter-words", placeholder: "Search", "aria-label": "Search in trials" });
    search.value = this.filter.words;
    search.addEventListener("input", () => { this.filter.words = search.value; this.page = 0; this.render(); });
    const parameters = element("input", { type: "checkbox", id: "with-parameters" });
    parameters.checked = this.withParameters;
    parameters.addEventListener("change", () => { this.withParameters = parameters.checked; this.render(); });
    const focused = document.activeElement && document.activeElement.id;
    this.controls.replaceChildren(
      this.data.branches.length > 1
        ? select("branch", "Branch", [option("", "all branches"), ...this.data.branches.map((branch) =>
          option(branch, `${branch} (${count((row) => row.branch === branch)})`))])
        : "",
      select("state", "State", [option("", "all states"), ...states.map((state) =>
        option(state, `${state} (${count((row) => row.state === state)})`))]),
      search,
      element("label", null, parameters, "parameters"),
    );
    if (focused && this.controls.querySelector(`#${focused}`)) document.getElementById(focused).focus();
  }

  renderPager(total, pages) {
    const go = (step) => () => { this.page += step; this.render(); };
    const counted = `${total} trial${total === 1 ? "" : "s"}`;
    const to = Math.min(total, (this.page + 1) * PAGE);
    const shown = pages > 1 ? `${this.page * PAGE + 1}\u2013${to} of ${counted}` : counted;
    this.pager.replaceChildren(
      element("span", { class: "muted", id: "shown" }, shown),
      pages > 1
        ? element("span", { class: "buttons" },
          element("button", { type: "button", onclick: go(-1), disabled: this.page === 0 }, "Earlier page"),
          element("button", { type: "button", onclick: go(1), disabled: this.page === pages - 1, id: "next-page" }, "Next page"))
        : "",
    );
  }
}
