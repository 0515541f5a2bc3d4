"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const make = (tag, options = {}, ...children) => {
  const { dataset = {}, ...rest } = options;
  const node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.dataset, dataset);
  node.append(...children);
  return node;
};
const bytes = (n) => (n === 0 ? "0" : n < 1024 ? `${n} B` : n < 1048576 ? `${+(n / 1024).toFixed(1)} KiB` : `${+(n / 1048576).toFixed(1)} MiB`);
const seconds = (s) => (s < 0.9995 ? `${Math.round(s * 1000)} ms` : s < 100 ? `${s.toFixed(s < 10 ? 2 : 1)} s` : `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`);
const several = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const gpuNumber = (name) => parseInt(name.replace(/\D/g, ""), 10);
const unique = (list) => [...new Set(list)];

/* ---- numbers: what they are called, how they read, and which way is better ---- */
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
/* A column with changes keeps room for them in every row and its heading, so that its numbers stay in line. */
const room = Object.fromEntries(METRICS.map((metric) => [metric.key, Math.max(0, ...data.rows.filter((row) => row.deltas[metric.key]).map((row) => signed(metric, row.deltas[metric.key]).length))]));
const makeSlot = (key) => (room[key] ? [make("span", { className: "slot", style: `width:${18 + 7 * room[key]}px` })] : []);
const gpus = unique(data.rows.map((row) => row.target)).sort((a, b) => gpuNumber(a) - gpuNumber(b));
const names = unique(data.rows.map((row) => row.kernel));

/* ---- state and its controls ---- */
const PAGE = 200;
const state = { text: "", gpus: new Set(gpus), spills: false, changed: false, kernel: null, view: "list", metric: "registers", sort: "kernel", down: false, limit: PAGE };
const pressed = (button, on) => button.setAttribute("aria-pressed", String(on));
const update = (change) => { Object.assign(state, { limit: PAGE }, change); drawKernels(); };

function setUpControls() {
  at("filter").addEventListener("input", (event) => update({ text: event.target.value.toLowerCase() }));
  for (const gpu of gpus) {
    const chip = make("button", { type: "button", className: "chip", textContent: gpu, dataset: { gpu } });
    pressed(chip, true);
    chip.addEventListener("click", () => {
      state.gpus.has(gpu) ? state.gpus.delete(gpu) : state.gpus.add(gpu);
      pressed(chip, state.gpus.has(gpu));
      update({});
    });
    at("gpus").append(chip);
  }
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

/* ---- links to one kernel: the page's address ends in #kernel= and its name ---- */
const LINK = "#kernel=";
const linkTo = (kernel) => LINK + encodeURIComponent(kernel);
function linked(kernel) {
  return make("a", { href: linkTo(kernel), textContent: kernel, title: "A link to this kernel" });
}
function kernelOfAddress() {
  if (!location.hash.startsWith(LINK)) return null;
  try {
    return decodeURIComponent(location.hash.slice(LINK.length));
  } catch {
    return location.hash.slice(LINK.length);
  }
}
function followLink() {
  const kernel = kernelOfAddress();
  at("only-kernel").hidden = kernel === null;
  at("only-kernel").textContent = `${kernel} ×`;
  if (kernel !== state.kernel) update({ kernel });
  if (kernel !== null) at("kernels-title").scrollIntoView({ block: "nearest" });
}
function leaveKernel() {
  if (state.kernel === null) return;
  location.hash = "kernels-title";
  followLink(); // The event comes later.
}

/* ---- the rows as files: those of `tileiras-build report`, which reads the JSON as a baseline ---- */
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
  const said = [[worse, "worse"], [better, "better"], [added, "new"], [data.gone.length, "gone"]].filter(([n]) => n).map(([n, word]) => `${n} ${word}`);
  const tiles = [
    { value: several(names.length, "kernel"), label: `for ${several(gpus.length, "GPU")}: ${several(data.rows.length, "row")} below` },
    { value: spilling, label: spilling ? `of ${several(data.rows.length, "row")} spill registers` : "no kernel spills registers", look: spilling ? "bad" : "good", click: () => setOnly("spills", !state.spills) },
    { value: data.compared ? changed.length : "–", label: data.compared ? `changed${said.length ? `: ${said.join(", ")}` : ""} since ${data.since}` : "first report: nothing to compare with", look: worse ? "bad" : better ? "good" : "", click: data.compared ? () => setOnly("changed", !state.changed) : null },
  ];
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
  const when = data.build ? ` · built ${data.build.started}` : "";
  at("subtitle").textContent = `${data.name}${when}`;
  document.title = `Kernel report: ${data.name}`;
}

function drawGone() {
  at("gone").hidden = data.gone.length === 0;
  at("gone").replaceChildren(make("summary", { textContent: `${several(data.gone.length, "row")} of ${data.since} ${data.gone.length === 1 ? "is" : "are"} gone` }), make("ul", {}, ...data.gone.map((key) => make("li", { textContent: key }))));
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
const chosen = () => data.rows.filter((row) => (state.kernel === null || row.kernel === state.kernel) && state.gpus.has(row.target) && row.kernel.toLowerCase().includes(state.text) && (!state.spills || row.spills) && (!state.changed || row.changed));

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
  if (estimated) columns.push({ key: "estimate_limit", title: "estimate limited by", word: true });
  if (compared) columns.push({ key: "reference", title: "reference", word: true });
  heading(at("kernels"), columns, state.sort, state.down, sortBy);
  rows.sort(compare(state.sort, state.down));
  return rows.slice(0, state.limit).map((row) => {
    const name = make("td", { className: "name" }, linked(row.kernel));
    if (row.isNew) name.append(make("span", { className: "delta new", textContent: "new" }));
    return make("tr", {}, name, make("td", { className: "word", textContent: row.target }), ...METRICS.map((metric) => number(row, metric)), make("td", { className: "word limit", textContent: row.limit }), ...(estimated ? [make("td", { className: "word limit", textContent: row.estimate_limit ?? "–" })] : []), ...(compared ? [make("td", { className: "word", textContent: row.reference ?? "–" })] : []));
  });
}
function drawMatrix(rows) {
  const shown = gpus.filter((gpu) => state.gpus.has(gpu)), metric = METRICS.find((m) => m.key === state.metric);
  const lines = new Map();
  for (const row of rows) lines.set(row.kernel, Object.assign(lines.get(row.kernel) || { kernel: row.kernel, cells: {} }, { [row.target]: row[metric.key] }));
  for (const row of rows) lines.get(row.kernel).cells[row.target] = row;
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
    return make("tr", {}, make("td", { className: "name" }, linked(line.kernel)), ...cells);
  });
}
function drawKernels() {
  const rows = chosen(), lines = state.view === "list" ? drawList(rows) : drawMatrix(rows);
  const none = make("tr", {}, make("td", { className: "none", colSpan: 20, textContent: "No kernel is chosen by these filters." }));
  at("kernels").tBodies[0].replaceChildren(...(lines.length ? lines : [none]));
  const total = state.view === "list" ? rows.length : unique(rows.map((row) => row.kernel)).length;
  const all = state.view === "list" ? data.rows.length : names.length;
  at("count").textContent = `${lines.length} of ${total === all ? all : `${total} chosen, ${all} in all`}`;
  at("more").hidden = lines.length >= total;
}

/* ---- build: timeline, stages, slowest steps ---- */
const LANE = 22, AXIS = 26, LABEL = 64;
const spans = data.build ? data.build.spans.map(([stage, target, kernel, lane, start, end, outcome]) => ({ stage, target, kernel, lane, start, end, outcome })) : [];
const stages = unique(spans.map((span) => span.stage));
const ORDER = ["tilebc", "tileaa", "tileas", "ll", "ptx", "cubin"];
stages.sort((a, b) => (ORDER.indexOf(a) + 1 || 99) - (ORDER.indexOf(b) + 1 || 99));
const stageColor = (stage) => `var(--stage-${Math.min(ORDER.indexOf(stage) < 0 ? 6 + (stages.indexOf(stage) % 2) : ORDER.indexOf(stage), 7)})`;
const lanes = spans.reduce((most, span) => Math.max(most, span.lane + 1), 0);
const total = data.build ? Math.max(data.build.seconds, 0.001) : 1;
const view = { from: 0, to: total, hidden: new Set(), hover: null };

function drawTimeline() {
  const canvas = document.querySelector("canvas"), width = canvas.clientWidth, height = lanes * LANE + AXIS, ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * ratio; canvas.height = height * ratio;
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui, sans-serif";
  const x = (time) => LABEL + ((time - view.from) / (view.to - view.from)) * (width - LABEL);
  drawAxis(pen, x, width, height, color);
  const colors = Object.fromEntries(stages.map((stage) => [stage, color(stageColor(stage).slice(4, -1))]));
  pen.save(); pen.beginPath(); pen.rect(LABEL, 0, width - LABEL, height); pen.clip();
  for (const span of spans) {
    if (view.hidden.has(span.stage) || span.end < view.from || span.start > view.to) continue;
    const left = x(span.start), wide = Math.max(x(span.end) - left - 0.5, 0.8), top = AXIS + span.lane * LANE + 3;
    pen.globalAlpha = span.outcome === "cached" ? 0.45 : 1;
    pen.fillStyle = span.outcome === "failed" ? color("--worse") : colors[span.stage];
    pen.fillRect(left, top, wide, LANE - 6);
    pen.globalAlpha = 1;
    if (span.outcome === "failed" || span === view.hover) {
      pen.strokeStyle = color("--ink");
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, top + 1, Math.max(wide - 2, 1), LANE - 8);
    }
    if (wide > 60) {
      pen.save(); pen.beginPath(); pen.rect(left, top, wide, LANE); pen.clip();
      pen.fillStyle = span.outcome === "failed" ? color("--card") : "#10141a";
      pen.fillText(span.kernel, Math.max(left, LABEL) + 4, top + 12);
      pen.restore();
    }
  }
  pen.restore();
}
function drawAxis(pen, x, width, height, color) {
  const span = view.to - view.from, raw = span / Math.max((width - LABEL) / 110, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  pen.fillStyle = color("--soft"); pen.strokeStyle = color("--line"); pen.lineWidth = 1;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to + step / 1e3; time += step) {
    const place = Math.round(x(time)) + 0.5;
    pen.beginPath(); pen.moveTo(place, AXIS - 6); pen.lineTo(place, height); pen.stroke();
    const text = step < 1 && view.to < 1 ? `${+(time * 1000).toFixed(3)} ms` : `${+time.toFixed(4)} s`;
    if (place + pen.measureText(text).width < width) pen.fillText(text, place + 3, 14);
  }
  pen.fillStyle = color("--soft");
  for (let lane = 0; lane < lanes; lane++) pen.fillText(`worker ${lane + 1}`, 8, AXIS + lane * LANE + 15);
}
function spanAt(event) {
  const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect(), slack = ((view.to - view.from) / (box.width - LABEL)) * 2;
  const lane = Math.floor((event.clientY - box.top - AXIS) / LANE), time = timeAt(event);
  const near = spans.filter((s) => s.lane === lane && !view.hidden.has(s.stage) && s.start - slack <= time && time <= s.end + slack);
  return near.sort((a, b) => Math.abs((a.start + a.end) / 2 - time) - Math.abs((b.start + b.end) / 2 - time))[0] || null;
}
function timeAt(event) {
  const box = document.querySelector("canvas").getBoundingClientRect();
  return view.from + ((event.clientX - box.left - LABEL) / (box.width - LABEL)) * (view.to - view.from);
}
function show(from, to) {
  const wide = Math.min(Math.max(to - from, 1e-4), total);
  view.from = Math.min(Math.max(from, 0), total - wide);
  view.to = view.from + wide;
  drawTimeline();
}
function setUpTimeline() {
  const canvas = document.querySelector("canvas"), tip = at("tip");
  let grip = null, moved = false;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const center = timeAt(event), factor = event.deltaY > 0 ? 1.25 : 0.8;
    show(center - (center - view.from) * factor, center + (view.to - center) * factor);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { grip = { x: event.clientX, from: view.from, to: view.to }; moved = false; canvas.setPointerCapture(event.pointerId); canvas.classList.add("moving"); });
  canvas.addEventListener("pointerup", (event) => {
    const span = spanAt(event);
    if (!moved && span) filterBy(span.kernel);
    grip = null; canvas.classList.remove("moving");
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; view.hover = null; drawTimeline(); });
  canvas.addEventListener("pointermove", (event) => {
    if (grip) {
      const by = ((grip.x - event.clientX) / (canvas.clientWidth - LABEL)) * (grip.to - grip.from);
      if (Math.abs(grip.x - event.clientX) > 3) moved = true;
      if (moved) show(grip.from + by, grip.to + by);
      return;
    }
    const span = spanAt(event);
    if (span !== view.hover) { view.hover = span; drawTimeline(); }
    tip.hidden = !span;
    if (!span) return;
    tip.textContent = `${span.stage} · ${span.kernel}${span.target ? ` · ${span.target}` : ""} · ${seconds(span.end - span.start)}${span.outcome === "built" ? "" : ` · ${span.outcome}`}`;
    const box = canvas.getBoundingClientRect(), left = event.clientX - box.left + 12;
    tip.style.left = `${Math.max(Math.min(left, box.width - tip.offsetWidth - 6), 0)}px`;
    tip.style.top = `${Math.min(event.clientY - box.top + 14, box.height - tip.offsetHeight - 4)}px`;
  });
  at("reset").addEventListener("click", () => show(0, total));
  at("trace").addEventListener("click", saveTrace);
  new ResizeObserver(drawTimeline).observe(at("timeline"));
}
function setUpStages() {
  for (const stage of stages) {
    const chip = make("button", { type: "button", className: "chip stage", dataset: { stage } }, make("i", { className: "dot", style: `background:${stageColor(stage)}` }), stage);
    pressed(chip, true);
    chip.addEventListener("click", () => {
      view.hidden.has(stage) ? view.hidden.delete(stage) : view.hidden.add(stage);
      pressed(chip, !view.hidden.has(stage));
      drawTimeline(); drawSlowest();
    });
    at("stages").append(chip);
  }
}
function drawByStage() {
  const busy = spans.reduce((sum, span) => sum + span.end - span.start, 0) || 1;
  heading(at("by-stage"), [{ title: "stage", word: true }, { title: "steps" }, { title: "cached" }, { title: "median" }, { title: "in all" }, { title: "" }]);
  at("by-stage").tBodies[0].replaceChildren(...stages.map((stage) => {
    const mine = spans.filter((span) => span.stage === stage), times = mine.map((span) => span.end - span.start).sort((a, b) => a - b);
    const sum = times.reduce((a, b) => a + b, 0), share = (100 * sum) / busy, cached = mine.filter((span) => span.outcome === "cached").length;
    const meter = make("span", { className: "meter", style: "width:90px" }, make("i", { style: `width:${share}%;background:${stageColor(stage)}` }));
    const cells = [mine.length, cached, seconds(times[times.length >> 1]), seconds(sum)].map((text) => make("td", { textContent: text }));
    return make("tr", {}, make("td", {}, make("i", { className: "dot", style: `background:${stageColor(stage)}` }), stage), ...cells, make("td", {}, meter, `${Math.round(share)} %`));
  }));
}
function drawSlowest() {
  heading(at("slowest"), [{ title: "kernel", word: true }, { title: "stage", word: true }, { title: "GPU", word: true }, { title: "time" }]);
  const slow = spans.filter((span) => !view.hidden.has(span.stage)).sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, 10);
  at("slowest").tBodies[0].replaceChildren(...slow.map((span) => make("tr", {},
    make("td", { className: "name", textContent: span.kernel }),
    make("td", { className: "word" }, make("i", { className: "dot", style: `background:${stageColor(span.stage)}` }), span.stage),
    make("td", { className: "word", textContent: span.target || "–" }), make("td", { textContent: seconds(span.end - span.start) }))));
}
function saveTrace() {
  const events = spans.map((span) => ({ name: `${span.stage} ${span.kernel}`, cat: span.stage, ph: "X", pid: 0, tid: span.lane, ts: Math.round(span.start * 1e6), dur: Math.round((span.end - span.start) * 1e6), args: { kernel: span.kernel, target: span.target, outcome: span.outcome } }));
  save("trace.json", "application/json", JSON.stringify({ traceEvents: events, displayTimeUnit: "ms" }));
}

/* ---- theme ---- */
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  at("theme").textContent = dark ? "Light" : "Dark";
  if (spans.length) drawTimeline();
}
at("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
prefersDark.addEventListener("change", (event) => setTheme(event.matches));

setUpControls();
drawTiles();
drawGone();
drawKernels();
followLink();
if (spans.length) {
  at("build").hidden = false;
  setUpStages();
  setUpTimeline();
  drawByStage();
  drawSlowest();
}
setTheme(prefersDark.matches);
