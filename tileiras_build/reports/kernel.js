/* ---- one kernel's section: two panes with its source, stages and SASS, with linked lines ---- */

/* A text: its lines, for each line the keys of its source lines and, for SASS, the PTX line. */
function readText(node) {
  const lines = node.textContent.split("\n"), { name, title, file, places = "", ptx } = node.dataset;
  if (file !== undefined && lines.at(-1) === "") lines.pop();
  const prefix = file === undefined || file === "0" ? "" : `${file}:`;
  const rows = places.split(","), keys = lines.map((_, i) => (file !== undefined ? [`${prefix}${i + 1}`] : rows[i] ? rows[i].split("|") : []));
  const language = file === undefined ? name : title.split(".").at(-1);
  const text = { name, title, language, isSource: file !== undefined, lines, keys, ptx: ptx ? ptx.split(",").map(Number) : null, byKey: new Map(), byPtx: new Map() };
  const note = (map, key, i) => { if (!map.has(key)) map.set(key, []); map.get(key).push(i); };
  keys.forEach((list, i) => list.forEach((key) => note(text.byKey, key, i)));
  text.ptx?.forEach((line, i) => { if (line) note(text.byPtx, line, i); });
  return text;
}

/* The lines of one text that correspond to a line of another: PTX and SASS by PTX lines, all others by source lines. */
function related(from, i, to) {
  if (from === to) return [i];
  if (from.name === "ptx" && to.ptx) return to.byPtx.get(i + 1) ?? [];
  if (from.ptx && to.name === "ptx") return from.ptx[i] ? [from.ptx[i] - 1] : [];
  return [...new Set(from.keys[i].flatMap((key) => to.byKey.get(key) ?? []))];
}

class Pane {
  constructor(view, label, chosen) {
    this.view = view;
    this.choice = make("select", { ariaLabel: label }, ...view.texts.map((text) => make("option", { value: text.name, textContent: text.title })));
    this.code = make("div", { className: "code", tabIndex: 0, role: "region", ariaLabel: label });
    this.root = make("div", { className: "pane" }, this.choice, this.code);
    this.choice.value = chosen.name;
    this.choice.addEventListener("change", () => { this.draw(); view.mark(); });
    this.code.addEventListener("click", (event) => { const i = this.lineOf(event); if (i !== null && !getSelection().toString()) view.choose(this, i); });
    this.code.addEventListener("mouseover", (event) => view.hover(this, this.lineOf(event)));
    this.code.addEventListener("mouseleave", () => view.hover(this, null));
    this.code.addEventListener("keydown", (event) => this.move(event));
    this.draw();
  }
  get text() { return this.view.texts.find((text) => text.name === this.choice.value); }
  lineOf(event) {
    const line = event.target.closest(".line");
    return line ? [...this.code.children].indexOf(line) : null;
  }
  draw() {
    const { text } = this;
    this.code.replaceChildren(...text.lines.map((line, i) => {
      const of = text.isSource ? "" : text.keys[i].join("←");
      const isLinked = text.isSource ? this.view.used.has(text.keys[i][0]) : text.keys[i].length > 0;
      const missed = text.isSource ? this.view.missed.get(text.keys[i][0]) : undefined;
      return make("div", { className: `line${isLinked ? " linked" : ""}${missed ? " missed" : ""}`, title: missed ?? "" }, make("span", { className: "no", textContent: i + 1 }), ...(text.isSource ? [] : [make("span", { className: "of", textContent: of })]), make("code", {}, ...coloured(text.language, line)));
    }));
    this.code.classList.toggle("is-source", text.isSource);
    this.code.scrollTop = 0;
  }
  mark(className, lines) {
    for (const node of this.code.querySelectorAll(`.${className}`)) node.classList.remove(className);
    for (const i of lines) this.code.children[i]?.classList.add(className);
  }
  show(i) {
    const line = this.code.children[i];
    if (!line) return;
    const top = line.offsetTop;
    if (top < this.code.scrollTop || top > this.code.scrollTop + this.code.clientHeight - 40) this.code.scrollTop = Math.max(top - this.code.clientHeight / 3, 0);
  }
  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], { chosen } = this.view;
    if (!step || chosen?.text !== this.text) return;
    event.preventDefault();
    const next = Math.min(Math.max(chosen.i + step, 0), this.text.lines.length - 1);
    this.view.choose(this, next);
    this.show(next);
  }
}

class CodeView {
  constructor(article, section) {
    this.gpu = section.dataset.gpu;
    this.kernel = article.dataset.kernel;
    this.texts = [...article.querySelectorAll(":scope > pre.text"), ...section.querySelectorAll("pre.text")].map(readText);
    this.root = section.querySelector(".panes");
    this.chosen = null;
    this.missed = new Map();
    for (const { dataset } of section.querySelectorAll(".advice .place")) this.missed.set(dataset.place, [this.missed.get(dataset.place), dataset.what].filter(Boolean).join("\n"));
    if (!this.texts.length) return;
    this.used = new Set(this.texts.filter((text) => !text.isSource).flatMap((text) => [...text.byKey.keys()]));
    const named = (name) => this.texts.find((text) => text.name === name);
    const left = this.texts[0].isSource ? this.texts[0] : named("ptx") ?? this.texts[0];
    this.panes = [new Pane(this, "Left pane", left), new Pane(this, "Right pane", named("sass") ?? this.texts.at(-1))];
    this.note = make("p", { className: "note", role: "status", textContent: "Click a line to highlight the corresponding code." });
    this.root.replaceChildren(...this.panes.map((pane) => pane.root), this.note);
  }
  choose(pane, i) {
    this.chosen = { text: pane.text, i };
    this.mark();
    for (const other of this.panes) if (other !== pane && other.text !== pane.text) other.show(related(pane.text, i, other.text)[0]);
    this.note.textContent = this.sentence(pane);
    const key = pane.text.keys[i].at(-1);
    keepAddress(this.kernel, this.gpu, key);
  }
  sentence(pane) {
    const { text, i } = this.chosen, counts = this.panes.filter((other) => other !== pane && other.text !== text).map((other) => `${several(related(text, i, other.text).length, "line")} of ${other.text.title}`);
    return `Line ${i + 1} of ${text.title}: ${counts.join(", ") || "choose another view in the other pane"}.`;
  }
  mark() {
    for (const pane of this.panes) pane.mark("chosen", this.chosen ? related(this.chosen.text, this.chosen.i, pane.text) : []);
  }
  hover(from, i) {
    for (const pane of this.panes) pane.mark("near", i === null ? [] : related(from.text, i, pane.text));
  }
  /* Select a source line by its key. */
  chooseKey(key) {
    const text = this.texts.find((one) => one.isSource && one.byKey.has(key));
    if (!text) return;
    const [pane] = this.panes;
    if (pane.text !== text) { pane.choice.value = text.name; pane.draw(); }
    const i = text.byKey.get(key)[0];
    this.choose(pane, i);
    pane.show(i);
  }
}

function keepAddress(kernel, gpu, line) {
  const own = document.getElementById("data") ? { kernel } : {};
  history.replaceState(null, "", written({ ...own, gpu, ...(line ? { line } : {}) }));
}

function setUpKernel(article, asked) {
  const sections = [...article.querySelectorAll(":scope > .of-gpu")], chips = [...article.querySelectorAll(".gpus .chip")], views = new Map();
  const show = (gpu) => {
    for (const section of sections) section.hidden = section.dataset.gpu !== gpu;
    for (const chip of chips) pressed(chip, chip.dataset.gpu === gpu);
    const section = sections.find((one) => one.dataset.gpu === gpu);
    if (!views.has(gpu)) views.set(gpu, new CodeView(article, section));
    return views.get(gpu);
  };
  for (const chip of chips) chip.addEventListener("click", () => { show(chip.dataset.gpu); keepAddress(article.dataset.kernel, chip.dataset.gpu); });
  for (const button of article.querySelectorAll(".place")) {
    button.addEventListener("click", () => {
      const view = views.get(button.closest(".of-gpu").dataset.gpu);
      view.chooseKey(button.dataset.place);
      view.root.scrollIntoView({ block: "nearest" });
    });
  }
  const first = sections.find((one) => one.dataset.gpu === asked.gpu) ?? sections[0], view = show(first.dataset.gpu);
  if (asked.line) view.chooseKey(asked.line);
}
function setUpKernels(root) {
  const asked = address();
  for (const article of root.querySelectorAll("article.kernel")) setUpKernel(article, asked);
}
setUpKernels(document);
