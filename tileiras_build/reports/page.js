const data = JSON.parse(document.getElementById("data").textContent);
const bytes = (n) => (n === 0 ? "0" : n < 1024 ? `${n} B` : n < 1048576 ? `${+(n / 1024).toFixed(1)} KiB` : `${+(n / 1048576).toFixed(1)} MiB`);
const seconds = (s) => (s < 0.9995 ? `${Math.round(s * 1000)} ms` : s < 100 ? `${s.toFixed(s < 10 ? 2 : 1)} s` : `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`);
const gpuNumber = (name) => parseInt(name.replace(/\D/g, ""), 10);
const unique = (list) => [...new Set(list)];

/* ---- metrics: title, format, and which direction is worse ---- */
const METRICS = [
  { key: "registers", title: "registers", show: String, worse: 1 },
  { key: "spill_stores", title: "spill stores", show: bytes, worse: 1, spill: true },
  { key: "spill_loads", title: "spill loads", show: bytes, worse: 1, spill: true },
  { key: "shared", title: "shared memory", show: bytes, worse: 1 },
  { key: "stack", title: "stack", show: bytes, worse: 1 },
  { key: "occupancy", title: "occupancy", show: (n) => `${n.toFixed(1)} %`, worse: -1 },
  { key: "instructions", title: "instructions", show: String, worse: 1, minor: true },
  { key: "size", title: "cubin size", show: bytes, worse: 1, minor: true },
  { key: "microseconds", title: "estimate", show: (n) => `${n.toFixed(2)} us`, worse: 1, optional: true },
].filter((metric) => !metric.optional || data.rows.some((row) => row[metric.key] !== null));
for (const row of data.rows) {
  row.isNew = data.compared && !row.before;
  row.deltas = {};
  for (const metric of METRICS) {
    const now = row[metric.key], then = row.before ? row.before[metric.key] : null;
    if (now !== null && then !== null && then !== undefined && now !== then) row.deltas[metric.key] = now - then;
  }
  row.changed = row.isNew || Object.keys(row.deltas).length > 0;
  row.spills = (row.spill_stores || 0) + (row.spill_loads || 0) > 0;
  row.worse = METRICS.some((m) => !m.minor && (row.deltas[m.key] || 0) * m.worse > 0);
  row.better = !row.worse && METRICS.some((m) => !m.minor && (row.deltas[m.key] || 0) * m.worse < 0);
}
const signed = (metric, n) => `${n > 0 ? "+" : "−"}${metric.show(+Math.abs(n).toFixed(2))}`;
/* A column with changes reserves space for them in every row and its heading, so that its values stay aligned. */
const deltaWidths = Object.fromEntries(METRICS.map((metric) => [metric.key, Math.max(0, ...data.rows.filter((row) => row.deltas[metric.key]).map((row) => signed(metric, row.deltas[metric.key]).length))]));
const makeSlot = (key) => (deltaWidths[key] ? [make("span", { className: "slot", style: `width:${18 + 7 * deltaWidths[key]}px` })] : []);
const gpus = unique(data.rows.map((row) => row.target)).sort((a, b) => gpuNumber(a) - gpuNumber(b));
const inLibrary = (row) => JSON.stringify([row.kernel, row.library]);
const names = unique(data.rows.map(inLibrary));
const libraries = unique(data.rows.map((row) => row.library)).filter((name) => name !== null);

/* ---- state and its controls ---- */
const PAGE = 200;
const state = { text: "", gpus: new Set(gpus), libraries: new Set(libraries), spills: false, changed: false, kernel: null, view: "list", metric: "registers", sort: "kernel", down: false, limit: PAGE };
const update = (change) => { Object.assign(state, { limit: PAGE }, change); drawKernels(); };

function setUpControls() {
  at("filter").addEventListener("input", (event) => update({ text: event.target.value.toLowerCase() }));
  setUpChips("gpus", gpus, "gpu");
  setUpChips("libraries", libraries, "library");
  at("libraries").hidden = libraries.length === 0;
  for (const key of ["spills", "changed"]) at(`only-${key}`).addEventListener("click", () => setOnly(key, !state[key]));
  for (const view of ["list", "matrix"]) at(`view-${view}`).addEventListener("click", () => setView(view));
  for (const metric of METRICS) at("metric").append(make("option", { value: metric.key, textContent: metric.title }));
  at("metric").addEventListener("change", (event) => update({ metric: event.target.value }));
  at("more").addEventListener("click", () => { state.limit += 10 * PAGE; drawKernels(); });
  at("save-csv").addEventListener("click", () => save("kernels.csv", "text/csv", csvText()));
  at("save-json").addEventListener("click", () => save("kernels.json", "application/json", jsonText()));
  at("only-kernel").addEventListener("click", leaveKernel);
  window.addEventListener("hashchange", followLink);
}
function setUpChips(group, words, kind) {
  for (const word of words) {
    const chip = make("button", { type: "button", className: "chip", textContent: word || "(no name)", dataset: { [kind]: word } });
    pressed(chip, true);
    chip.addEventListener("click", () => {
      const chosen = state[group];
      chosen.has(word) ? chosen.delete(word) : chosen.add(word);
      pressed(chip, chosen.has(word));
      update({});
    });
    at(group).append(chip);
  }
}
function setOnly(key, on) {
  pressed(at(`only-${key}`), on);
  update({ [key]: on });
}
function setView(view) {
  for (const other of ["list", "matrix"]) pressed(at(`view-${other}`), other === view);
  at("metric").hidden = view !== "matrix";
  update({ view, sort: "kernel", down: false });
}
function filterBy(text) {
  leaveKernel();
  at("filter").value = text;
  update({ text: text.toLowerCase() });
}

/* ---- links to one kernel: a page of its own, or this page's address with #kernel= and its name ---- */
const linkTo = (kernel) => data.pages?.[kernel] ?? written({ kernel });
function linked(kernel) {
  return make("a", { href: linkTo(kernel), textContent: kernel, title: "A link to this kernel" });
}
function followLink() {
  const kernel = address().kernel ?? null;
  at("only-kernel").hidden = kernel === null;
  at("only-kernel").textContent = `${kernel} ×`;
  if (kernel === state.kernel) return;
  update({ kernel });
  showKernel(kernel);
  if (kernel !== null) at("kernels-title").scrollIntoView({ block: "nearest" });
}
/* A kernel's section is a gzip stream in base64. */
let shown = null;
async function showKernel(kernel) {
  shown = kernel;
  const packed = [...document.querySelectorAll("script.packed")].find((node) => node.dataset.kernel === kernel);
  at("kernel").hidden = !packed;
  at("kernel").replaceChildren();
  if (!packed) return;
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  if (shown !== kernel) return;
  at("kernel").innerHTML = text;
  setUpKernels(at("kernel"));
}
/* Of a few kernels, the first is open. */
const FEW = 12;
function showFirst() {
  if (state.kernel === null && names.length && names.length <= FEW) showKernel(data.rows[0].kernel);
}
function leaveKernel() {
  if (state.kernel === null) return;
  location.hash = "kernels-title";
  followLink(); // The event comes later.
}

/* ---- CSV and JSON export, in the formats of `tileiras-build report` ---- */
const cellText = (value) => (value === null ? "" : /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : String(value));
const csvText = () => [data.columns, ...data.rows.map((row) => data.columns.map((name) => row[name]))].map((cells) => `${cells.map(cellText).join(",")}\n`).join("");
const jsonText = () => `${JSON.stringify({ version: data.version, rows: data.rows.map((row) => Object.fromEntries(data.columns.map((name) => [name, row[name]]))) }, null, 2)}\n`;
function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* ---- summary ---- */
function drawTiles() {
  const spilling = data.rows.filter((row) => row.spills).length;
  const changed = data.rows.filter((row) => row.changed), worse = changed.filter((row) => row.worse).length;
  const better = changed.filter((row) => row.better).length, added = changed.filter((row) => row.isNew).length;
  const summary = [[worse, "worse"], [better, "better"], [added, "new"], [data.gone.length, "removed"]].filter(([n]) => n).map(([n, word]) => `${n} ${word}`);
  const tiles = [
    { value: several(names.length, "kernel"), label: `for ${several(gpus.length, "GPU")}: ${several(data.rows.length, "row")} below` },
    { value: spilling, label: spilling ? `of ${several(data.rows.length, "row")} spill registers` : "no kernel spills registers", look: spilling ? "bad" : "good", click: () => setOnly("spills", !state.spills) },
  ];
  if (data.compared) tiles.push({ value: changed.length, label: `changed${summary.length ? `: ${summary.join(", ")}` : ""} since ${data.since}`, look: worse ? "bad" : better ? "good" : "", click: () => setOnly("changed", !state.changed) });
  if (data.build) {
    const spans = data.build.spans, cached = spans.filter((s) => s[6] === "cached").length, failed = spans.filter((s) => s[6] === "failed").length;
    const busy = spans.reduce((sum, s) => sum + s[5] - s[4], 0);
    tiles.push({ value: seconds(data.build.seconds), label: `last build: ${several(spans.length, "step")}, ${seconds(busy)} of work, -j${data.build.jobs}` });
    tiles.push({ value: `${spans.length ? Math.round((100 * cached) / spans.length) : 0} %`, label: `from the cache: ${cached} of ${several(spans.length, "step")}` });
    if (failed) tiles.push({ value: failed, label: failed === 1 ? "step failed" : "steps failed", look: "bad" });
  }
  for (const tile of tiles) {
    const node = make(tile.click ? "button" : "div", { className: `tile ${tile.look || ""}` }, make("b", { textContent: tile.value }), make("span", { textContent: tile.label }));
    if (tile.click) node.addEventListener("click", () => { tile.click(); at("kernels-title").scrollIntoView({ block: "nearest" }); });
    at("tiles").append(node);
  }
  const when = data.build ? [`built ${data.build.started}`] : [];
  at("subtitle").textContent = [data.name, ...when, ...data.about].join(" · ");
  at("title").textContent = data.project ? `${data.project}: kernel report` : "Kernel report";
  document.title = `Kernel report: ${data.project || data.name}`;
}

function drawGone() {
  at("gone").hidden = data.gone.length === 0;
  at("gone").replaceChildren(make("summary", { textContent: `${several(data.gone.length, "row")} of ${data.since} removed` }), make("ul", {}, ...data.gone.map((key) => make("li", { textContent: key }))));
}

/* ---- tables ---- */
function heading(table, columns, sort, down, onSort) {
  const cells = columns.map(({ key, title, word, slot = key }) => {
    const button = make("button", { type: "button", textContent: title });
    const cell = make("th", { className: word ? "word" : "", scope: "col" }, onSort ? button : title, ...makeSlot(slot));
    if (key === sort) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    if (onSort) button.addEventListener("click", () => onSort(key));
    return cell;
  });
  table.tHead.replaceChildren(make("tr", {}, ...cells));
}
function compare(key, down) {
  const value = key === "target" ? (row) => gpuNumber(row.target) : (row) => row[key];
  return (a, b) => {
    const x = value(a), y = value(b);
    if (x === null || y === null || x === undefined || y === undefined) return (x ?? null) === (y ?? null) ? 0 : (x ?? null) === null ? 1 : -1;
    const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
    return (down ? -order : order) || a.kernel.localeCompare(b.kernel, "en", { numeric: true }) || gpuNumber(a.target) - gpuNumber(b.target);
  };
}
const sortBy = (key) => update({ sort: key, down: state.sort === key ? !state.down : !["kernel", "target"].includes(key) });
const chosen = () => data.rows.filter((row) => (state.kernel === null || row.kernel === state.kernel) && state.gpus.has(row.target) && (row.library === null || state.libraries.has(row.library)) && row.kernel.toLowerCase().includes(state.text) && (!state.spills || row.spills) && (!state.changed || row.changed));

function number(row, metric) {
  const value = row[metric.key];
  const cell = make("td", { className: value === 0 ? "zero" : metric.spill ? "spill" : "" });
  if (value === null || value === undefined) return Object.assign(cell, { textContent: "–", className: "zero" });
  if (metric.key === "occupancy") cell.append(make("span", { className: "meter" }, make("i", { style: `width:${value}%` })));
  cell.append(metric.key === "occupancy" ? make("span", { className: "share", textContent: metric.show(value) }) : metric.show(value));
  const delta = row.deltas[metric.key], slots = makeSlot(metric.key);
  cell.append(...slots);
  if (delta) {
    const text = signed(metric, delta);
    slots[0].append(make("span", { className: `delta ${delta * metric.worse > 0 ? "worse" : "better"}`, textContent: text, title: `was ${metric.show(row.before[metric.key])}` }));
  }
  if (metric.key === "occupancy") cell.title = `${several(row.ctas, "block")} of ${row.threads} threads; limited by ${row.limit}`;
  return cell;
}
function drawList(rows) {
  const columns = [{ key: "kernel", title: "kernel", word: true }, { key: "target", title: "GPU", word: true }, ...METRICS, { key: "limit", title: "limited by", word: true }];
  const compared = data.rows.some((row) => row.reference);
  const estimated = METRICS.some((metric) => metric.key === "microseconds");
  if (libraries.length) columns.splice(1, 0, { key: "library", title: "library", word: true });
  if (estimated) columns.push({ key: "estimate_limit", title: "estimate limited by", word: true });
  if (compared) columns.push({ key: "reference", title: "reference", word: true });
  heading(at("kernels"), columns, state.sort, state.down, sortBy);
  rows.sort(compare(state.sort, state.down));
  return rows.slice(0, state.limit).map((row) => {
    const name = make("td", { className: "name" }, linked(row.kernel));
    if (row.isNew) name.append(make("span", { className: "delta new", textContent: "new" }));
    return make("tr", {}, name, ...(libraries.length ? [make("td", { className: "word", textContent: row.library })] : []), make("td", { className: "word", textContent: row.target }), ...METRICS.map((metric) => number(row, metric)), make("td", { className: "word limit", textContent: row.limit }), ...(estimated ? [make("td", { className: "word limit", textContent: row.estimate_limit ?? "–" })] : []), ...(compared ? [make("td", { className: "word", textContent: row.reference ?? "–" })] : []));
  });
}
function drawMatrix(rows) {
  const shown = gpus.filter((gpu) => state.gpus.has(gpu)), metric = METRICS.find((m) => m.key === state.metric);
  const lines = new Map();
  for (const row of rows) lines.set(inLibrary(row), Object.assign(lines.get(inLibrary(row)) || { kernel: row.kernel, library: row.library, cells: {} }, { [row.target]: row[metric.key] }));
  for (const row of rows) lines.get(inLibrary(row)).cells[row.target] = row;
  const values = rows.map((row) => row[metric.key]).filter((n) => n !== null), low = Math.min(...values, Infinity), high = Math.max(...values, -Infinity);
  heading(at("kernels"), [{ key: "kernel", title: "kernel", word: true }, ...shown.map((gpu) => ({ key: gpu, title: gpu, slot: metric.key }))], state.sort, state.down, sortBy);
  const sort = state.sort;
  const order = (a, b) => (sort === "kernel" ? (state.down ? -1 : 1) * a.kernel.localeCompare(b.kernel, "en", { numeric: true }) : (state.down ? -1 : 1) * ((a[sort] ?? -1) - (b[sort] ?? -1)));
  return [...lines.values()].sort(order).slice(0, state.limit).map((line) => {
    const cells = shown.map((gpu) => {
      const row = line.cells[gpu];
      if (!row) return make("td", { className: "zero", textContent: "" });
      const cell = number(row, { ...metric, spill: false });
      cell.querySelector(".meter")?.remove();
      const share = high > low ? (row[metric.key] - low) / (high - low) : 0;
      cell.style.background = `rgba(var(--heat), ${(0.38 * share).toFixed(3)})`;
      return cell;
    });
    const library = line.library === null ? [] : [make("span", { className: "limit", textContent: ` ${line.library}` })];
    return make("tr", {}, make("td", { className: "name" }, linked(line.kernel), ...library), ...cells);
  });
}
function drawKernels() {
  const rows = chosen(), lines = state.view === "list" ? drawList(rows) : drawMatrix(rows);
  const none = make("tr", {}, make("td", { className: "none", colSpan: 20, textContent: "No kernels match." }));
  at("kernels").tBodies[0].replaceChildren(...(lines.length ? lines : [none]));
  const total = state.view === "list" ? rows.length : unique(rows.map(inLibrary)).length;
  const all = state.view === "list" ? data.rows.length : names.length;
  at("count").textContent = `${lines.length} of ${total === all ? all : `${total} selected, ${all} total`}`;
  at("more").hidden = lines.length >= total;
}
