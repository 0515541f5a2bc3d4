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
  heading(at("by-stage"), [{ title: "stage", word: true }, { title: "steps" }, { title: "cached" }, { title: "median" }, { title: "total" }, { title: "" }]);
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

/* ---- initialization ---- */
setUpControls();
drawTiles();
drawGone();
drawKernels();
followLink();
showFirst();
if (spans.length) {
  at("build").hidden = false;
  setUpStages();
  setUpTimeline();
  drawByStage();
  drawSlowest();
  onTheme.push(drawTimeline);
}
