// The page: draws the charts, hides a method in all of them, sorts tables.

const data = JSON.parse(document.getElementById("data").textContent);

const withLook = (series) => (series.method ? { ...data.looks[series.method], ...series } : series);
const withLooks = (spec) => ({
  ...spec,
  series: spec.series.map(withLook),
  references: spec.references || [],
  paper: (spec.paper || []).map((point) => ({ ...withLook(point), hollow: true })),
});

const KINDS = { line: LineChart, dots: DotChart };

function place(box) {
  const spec = data.charts[box.dataset.chart];
  if (spec.kind in KINDS) {
    new KINDS[spec.kind](box, withLooks(spec)).draw();
    return;
  }
  const options = spec.options.map(withLooks);
  const chart = new ScatterChart(box, { ...options[0], showPaper: true });
  const controls = html("div", { class: "controls" });
  const choose = html("select", {}, ...options.map((option, i) => html("option", { value: i }, option.xTitle)));
  choose.addEventListener("change", () => {
    Object.assign(chart.spec, options[choose.value]);
    chart.canvas.setAttribute("aria-label", chart.spec.label);
    chart.leave();
    chart.draw();
  });
  const paper = html("input", { type: "checkbox", checked: "" });
  paper.addEventListener("change", () => {
    chart.spec.showPaper = paper.checked;
    chart.draw();
  });
  if (options.length > 1) controls.append(html("label", {}, "Fairness as ", choose));
  if (options.some((option) => option.paper.length)) controls.append(html("label", {}, paper, " the paper's points (hollow)"));
  box.before(controls);
  chart.draw();
}

function toggle(method) {
  if (hidden.has(method)) hidden.delete(method);
  else hidden.add(method);
  const names = [...hidden].map(encodeURIComponent).join(",");
  history.replaceState(null, "", names ? `#hide=${names}` : location.pathname + location.search);
  update();
}

function update() {
  for (const button of document.querySelectorAll("[data-toggle]")) {
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.toggle)));
  }
  for (const row of document.querySelectorAll("tr[data-method]")) {
    row.classList.toggle("off", hidden.has(row.dataset.method));
  }
  for (const button of document.querySelectorAll("[data-show-all]")) button.hidden = hidden.size === 0;
  for (const chart of charts) chart.draw();
}

// #hide=ppo,dqn: the address stores the selection
function readAddress() {
  const match = location.hash.match(/^#hide=(.*)$/);
  if (!match) return;
  hidden.clear();
  for (const name of match[1].split(",").map(decoded)) if (Object.hasOwn(data.looks, name)) hidden.add(name);
  update();
}

// An address may be cut off in the middle of a character.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function sortBy(table, column, button) {
  const head = button.closest("th");
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : parseFloat(cell.dataset.value);
  };
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // unknown numbers last
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(compare));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = html("button", { type: "button", class: "sort", title: "Sort by this column" }, ...head.childNodes);
    button.addEventListener("click", () => sortBy(table, column, button));
    head.replaceChildren(button);
  });
}

for (const button of document.querySelectorAll("[data-toggle]")) {
  button.prepend(key(data.looks[button.dataset.toggle]));
  button.addEventListener("click", () => toggle(button.dataset.toggle));
}
for (const button of document.querySelectorAll("[data-show-all]")) {
  button.addEventListener("click", () => {
    hidden.clear();
    history.replaceState(null, "", location.pathname + location.search);
    update();
  });
}
for (const box of document.querySelectorAll("[data-chart]")) place(box);
window.addEventListener("hashchange", readAddress);
readAddress();
document.documentElement.classList.add("ready");
