// The explorer's page: controls on one side, what Python answers on the other. All mathematics is Python's; here
// are only the plane, in which points are dragged, and the exchange of settings for answers. Of a page that stands alone
// (its model says `still`) nothing can be changed: it is looked at, and its pictures are saved.

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 400; // of the plane's own coordinates, each way
const ANSWER_WITHIN = 5000; // milliseconds after which an answer is no longer waited for
const MOST_UNDONE = 200; // settings that can be gone back to
const PICTURE_WIDTH = 1600; // pixels of a saved PNG
// What a picture looks like without the page's style sheet.
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size",
  "font-family", "font-weight", "text-anchor"];

function make(tag, attributes = {}, ...children) {
  const inSvg = ["svg", "g", "path", "circle", "rect", "line", "text", "polygon", "title", "defs", "marker"].includes(tag);
  const node = inSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// The least round number, of 1, 1.5, 2, 3, 5, 7 times a power of ten, that is not below x.
function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 1.5, 2, 3, 5, 7, 10].map((m) => m * power).find((v) => v >= x * (1 - 1e-12));
}

// A picture as PNG.
async function raster(svg, width, height) {
  const image = new Image();
  const address = URL.createObjectURL(svg);
  try {
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("the picture cannot be drawn"));
      image.src = address;
    });
  } finally {
    URL.revokeObjectURL(address);
  }
  const canvas = make("canvas", { width: PICTURE_WIDTH, height: Math.round((PICTURE_WIDTH * height) / width) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// The least of 1, 2, 2.5 and 5 times a power of ten that is at least x: at x = reach / 4.5 two to four lines on either side.
function gridStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 2.5, 5, 10].find((step) => step * power >= x);
}

function tidy(x, step) {
  return Number((Math.round(x / step) * step).toPrecision(12));
}

class Explorer {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.fields = null; // what is set
    this.shown = {}; // the last answer that had a view
    this.serial = 0; // of the last message sent
    this.waiting = 0; // the serial whose answer is awaited; 0: none
    this.unsent = null; // what to send when the answer comes
    this.dragging = null;
    this.reach = 1; // the plane shows coordinates up to this
    this.zoomed = false; // whether the reader has chosen the reach
    this.past = []; // settings that were, as text, oldest first
    this.future = []; // settings that were undone
    this.still = Boolean(model.get("still"));
    this.build();
    this.listener = () => this.receive(model.get("shown"));
    model.on("change:shown", this.listener);
    this.receive(model.get("shown"));
  }

  // ---------------------------------------------------------------- building

  build() {
    const option = (value, text) => make("option", { value }, text);
    this.problem = make("select", { name: "problem", onchange: () => this.set({ problem: this.problem.value }) });
    for (const c of this.model.get("choices")) this.problem.append(option(c.value, c.value));
    this.example = make("select", { name: "example", onchange: () => this.startFrom(this.example.value) });
    this.example.append(option("", "choose an example …"));
    for (const e of this.model.get("examples")) this.example.append(option(e.query, e.title));
    this.about = make("p", { class: "about" });
    this.plane = make("svg", {
      class: "plane",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "group",
      "aria-label": "The plane: arms, items and theta. Move a point with the mouse, a finger or the arrow keys.",
    });
    this.backdrop = make("g", { class: "backdrop", "aria-hidden": "true" });
    this.handles = make("g", { class: "handles" });
    this.plane.append(
      make("defs", {}, this.arrowhead("theta"), this.arrowhead("direction")),
      this.backdrop,
      this.handles,
    );
    this.key = make("p", { class: "legend" });
    this.plane.addEventListener("wheel", (e) => this.turn(e), { passive: false });
    this.plane.addEventListener("touchstart", (e) => this.pinch(e), { passive: false });
    this.plane.addEventListener("touchmove", (e) => this.pinch(e), { passive: false });
    const button = (name, text, onclick, title = text) => make("button", { type: "button", class: name, onclick, title }, text);
    this.undoButton = button("undo", "Undo", () => this.undo(), "Undo (Ctrl-Z)");
    this.redoButton = button("redo", "Redo", () => this.redo(), "Redo (Ctrl-Shift-Z)");
    this.fitButton = button("fit", "Fit", () => this.fit(), "Show everything, as large as it fits");
    this.tools = make(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "The plane" },
      ...(this.still ? [] : [this.undoButton, this.redoButton]),
      button("closer", "+", () => this.zoom(1 / 1.25), "Closer"),
      button("farther", "−", () => this.zoom(1.25), "Farther"),
      this.fitButton,
      this.saving("plane", () => this.plane),
    );
    if (!this.still) this.root.addEventListener("keydown", (e) => this.shortcut(e));
    this.arms = make("tbody");
    this.items = make("tbody");
    this.itemTable = this.table("Items: what you want to know about", ["item", "x", "y", ""], this.items);
    this.noItems = make("p", { class: "about" }, "The items that you want to know about are the arms themselves.");
    const add = (what, text) => make("button", { type: "button", class: `add-${what}`, onclick: () => this.add(what) }, text);
    this.itemBox = make("div", { class: "items" }, this.noItems, this.itemTable, add("item", "Add an item"));
    this.settings = make("div", { class: "settings" });
    this.message = make("div", { class: "messages", role: "status", "aria-live": "polite" });
    this.parts = {};
    const part = (name, title) => {
      this.parts[name] = make("div");
      const picture = () => this.parts[name].querySelector("svg");
      const tools = ["equivalence", "steps"].includes(name) ? [make("div", { class: "tools" }, this.saving(name, picture))] : [];
      return make("section", { class: `part ${name}` }, make("h2", {}, title), this.parts[name], ...tools);
    };
    this.link = make("a", { class: "link" }, "Link to this view");
    this.link.hidden = !this.model.get("linked") || this.still; // a notebook's address is not the explorer's
    this.program = make("pre", { tabindex: "0", "aria-label": "Python code of this view" });
    this.programBox = make(
      "div",
      { class: "program", hidden: true },
      make("button", { type: "button", class: "copy", onclick: (e) => this.copy(e.target) }, "Copy the code"),
      this.program,
    );
    this.programButton = make(
      "button",
      { type: "button", class: "show-program", "aria-expanded": "false", onclick: () => this.toggleProgram() },
      "Python code",
    );
    const label = (text, control) => make("label", {}, make("span", {}, text), control);
    this.root.append(
      make(
        "div",
        { class: "set" },
        make("div", { class: "choose" }, label("Problem", this.problem), label("Start from", this.example)),
        this.about,
        this.plane,
        this.tools,
        this.key,
        this.table("Arms: what you can measure", ["arm", "x", "y", "noise variance", ""], this.arms),
        add("arm", "Add an arm"),
        this.itemBox,
        this.settings,
      ),
      make(
        "div",
        { class: "seen" },
        this.message,
        part("design", "The design"),
        part("equivalence", "Why it is optimal"),
        this.stepsSection(),
        part("plan", "Whole numbers"),
        part("samples", "Samples to identify the answer"),
        make("div", { class: "take" }, this.programButton, " ", this.link),
        this.programBox,
      ),
    );
  }

  // Two buttons that save a picture as it looks now.
  saving(name, picture) {
    const save = (kind) => ({
      type: "button",
      class: `save-${kind}`,
      title: `Save the picture as ${kind.toUpperCase()}`,
      onclick: () => this.savePicture(picture(), name, kind),
    });
    return make(
      "span",
      { class: "saving" },
      "Save picture: ",
      make("button", save("svg"), "SVG"),
      make("button", save("png"), "PNG"),
    );
  }

  // The way of a method to the design, step by step: computed when it is asked for.
  stepsSection() {
    this.walked = make("div");
    const methods = this.model.get("methods") ?? [];
    this.method = make("select", { name: "method", onchange: () => this.askSteps() });
    for (const m of methods) this.method.append(make("option", { value: m.value }, m.title));
    this.slider = make("input", { type: "range", min: 0, max: 0, value: 0, step: 1, oninput: () => this.paintStep() });
    const label = (text, control) => make("label", {}, make("span", {}, text), control);
    this.stepBox = make("div", { class: "walk", hidden: true }, label("Step", this.slider), this.walked);
    this.stepsButton = make(
      "button",
      { type: "button", class: "show-steps", "aria-expanded": "false", onclick: () => this.toggleSteps() },
      "Walk there step by step",
    );
    const choose = this.still ? [] : [this.stepsButton];
    this.stepsTools = make("div", { class: "tools", hidden: true }, this.saving("steps", () => this.walked.querySelector("svg")));
    const chosen = make("div", { class: "choose", hidden: true }, label("Method", this.method));
    this.methodBox = chosen;
    return make(
      "section",
      { class: "part walk-part" },
      make("h2", {}, "The way there"),
      ...choose,
      chosen,
      this.stepBox,
      this.stepsTools,
    );
  }

  table(caption, heads, body) {
    const head = make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)));
    return make("table", { class: "points" }, make("caption", {}, caption), make("thead", {}, head), body);
  }

  arrowhead(kind) {
    const shape = make("path", { d: "M0 0 L8 4 L0 8 z", class: kind });
    const place = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" };
    return make("marker", { id: `head-${kind}`, markerUnits: "userSpaceOnUse", ...place, markerWidth: 12, markerHeight: 12 }, shape);
  }

  // ---------------------------------------------------------------- settings

  uses(name) {
    const choice = this.model.get("choices").find((c) => c.value === this.fields.problem);
    return choice.uses.includes(name);
  }

  // Every point that can be moved: its kind, index, place, and what it is called.
  points() {
    const { arms, items, theta, direction } = this.fields;
    const found = items.map((at, i) => ({ kind: "item", index: i, at, name: `item ${i}` }));
    if (!this.uses("items")) found.length = 0;
    found.push({ kind: "theta", index: 0, at: theta, name: "theta" });
    if (this.uses("direction")) found.push({ kind: "direction", index: 0, at: direction, name: "direction c" });
    return found.concat(arms.map((at, i) => ({ kind: "arm", index: i, at, name: `arm ${i}` })));
  }

  set(changes) {
    if (this.still) return;
    this.remember();
    Object.assign(this.fields, changes);
    this.forgetSteps();
    this.paint();
    this.send({ fields: this.fields, moving: Boolean(this.dragging) });
  }

  move(point, at) {
    const f = this.fields;
    if (point.kind === "arm") this.set({ arms: f.arms.map((p, i) => (i === point.index ? at : p)) });
    else if (point.kind === "item") this.set({ items: f.items.map((p, i) => (i === point.index ? at : p)) });
    else this.set({ [point.kind]: at });
  }

  add(what) {
    const f = this.fields;
    const turn = 0.7 + 2.4 * (what === "arm" ? f.arms.length : f.items.length); // a new place each time
    const at = [tidy(Math.cos(turn), 0.01), tidy(Math.sin(turn), 0.01)];
    if (what === "item") this.set({ items: [...f.items, at] });
    else this.set({ arms: [...f.arms, at], noise_variance: [...f.noise_variance, 1] });
  }

  remove(kind, index) {
    const f = this.fields;
    const without = (list) => list.filter((_, i) => i !== index);
    if (kind === "item") this.set({ items: without(f.items) });
    else if (f.arms.length > 1) this.set({ arms: without(f.arms), noise_variance: without(f.noise_variance) });
  }

  startFrom(query) {
    if (!query) return;
    this.remember();
    this.forgetSteps();
    this.zoomed = false;
    this.send({ query });
    this.example.value = "";
  }

  // ---------------------------------------------------------------- going back

  // Keep what is set before it changes; of a point on its way only where it came from.
  remember() {
    const now = this.held ?? JSON.stringify(this.fields);
    if (this.dragging) {
      this.held = now;
      return;
    }
    this.held = null;
    if (now !== this.past.at(-1)) this.past.push(now);
    if (this.past.length > MOST_UNDONE) this.past.shift();
    this.future = [];
  }

  undo() {
    this.travel(this.past, this.future);
  }

  redo() {
    this.travel(this.future, this.past);
  }

  travel(from, to) {
    const now = JSON.stringify(this.fields);
    let found = from.pop();
    while (found === now) found = from.pop(); // a point that came back to its place
    if (found !== undefined) {
      to.push(now);
      this.fields = JSON.parse(found);
      this.forgetSteps();
      this.send({ fields: this.fields });
    }
    this.renewed = true;
    this.paint();
    this.renewed = false;
  }

  shortcut(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) this.redo();
    else this.undo();
  }

  // ---------------------------------------------------------------- closer and farther

  zoom(factor) {
    const reach = this.reach * factor;
    if (!(reach > 1e-6 && reach < 1e9)) return;
    this.reach = reach;
    this.zoomed = true;
    this.paint();
  }

  fit() {
    this.zoomed = false;
    this.paint();
  }

  turn(event) {
    event.preventDefault();
    this.zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 100) * 0.002));
  }

  // Two fingers zoom; one moves a point, or the page.
  pinch(event) {
    if (event.touches.length !== 2) {
      this.spread = null;
      return;
    }
    event.preventDefault();
    const [a, b] = event.touches;
    const spread = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    if (this.spread && spread > 0) this.zoom(this.spread / spread);
    this.spread = spread;
  }

  // ---------------------------------------------------------------- step by step

  toggleSteps() {
    const show = this.stepBox.hidden;
    for (const box of [this.stepBox, this.methodBox, this.stepsTools]) box.hidden = !show;
    this.stepsButton.setAttribute("aria-expanded", String(show));
    if (show) this.askSteps();
    else this.forgetSteps();
  }

  askSteps() {
    this.send({ fields: this.fields, steps: this.method.value });
  }

  // Steps belong to the settings they were made for.
  forgetSteps() {
    if (!this.steps) return;
    this.steps = null;
    for (const box of [this.stepBox, this.methodBox, this.stepsTools]) box.hidden = true;
    this.stepsButton.setAttribute("aria-expanded", "false");
  }

  paintSteps(steps) {
    this.steps = steps;
    this.stepBox.hidden = false;
    const last = Math.max(0, (steps.points ?? []).length - 1);
    this.slider.max = last;
    this.slider.value = last ? 1 : 0;
    this.slider.parentElement.hidden = last === 0;
    this.stepsTools.hidden = last === 0;
    this.paintStep();
  }

  paintStep() {
    if (!this.steps) return;
    const k = Number(this.slider.value);
    const point = this.steps.points?.[k];
    this.walked.innerHTML = this.steps.picture + (point ? point.words : "");
    const mark = this.walked.querySelector(".here");
    const at = this.walked.querySelectorAll(".step-at")[k];
    if (mark && at) for (const name of ["cx", "cy"]) mark.setAttribute(name, at.getAttribute(name));
    this.slider.setAttribute("aria-valuetext", point ? `step ${k}` : "");
    this.paintBackdrop();
    this.paintHandles();
  }

  // The weights and the region to draw: those of the step that is looked at, else the design's.
  get drawn() {
    const point = this.steps?.points?.[Number(this.slider.value)];
    return point ? { ...this.shown.plane, weights: point.weights, region: point.region } : (this.shown.plane ?? {});
  }

  // ---------------------------------------------------------------- pictures to take along

  async savePicture(picture, name, kind) {
    if (!picture) return;
    const { text, width, height } = this.alone(picture);
    const svg = new Blob([text], { type: "image/svg+xml" });
    this.download(kind === "svg" ? svg : await raster(svg, width, height), `convexdesign-${name}.${kind}`);
  }

  // A picture as text that needs no page around it: every colour and font stands in its elements.
  alone(picture) {
    const copy = picture.cloneNode(true);
    const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    const theirs = [picture, ...picture.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
      const look = getComputedStyle(theirs[i]);
      for (const property of LOOKS) node.style.setProperty(property, look.getPropertyValue(property));
    });
    copy.querySelectorAll(".target, title").forEach((node) => node.remove());
    for (const attribute of ["tabindex", "role", "aria-label", "style"]) copy.removeAttribute(attribute);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const ground = make("rect", { x: 0, y: 0, width, height, fill: getComputedStyle(this.root).backgroundColor });
    copy.prepend(ground);
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }

  download(blob, name) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // ---------------------------------------------------------------- exchange

  send(what) {
    if (this.waiting) {
      this.unsent = what;
      return;
    }
    this.unsent = null;
    this.serial += 1;
    this.waiting = this.serial;
    this.root.dataset.state = "working";
    this.sentAt = performance.now();
    this.model.set("sent", JSON.parse(JSON.stringify({ serial: this.serial, ...what })));
    this.model.save_changes();
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.resume(), ANSWER_WITHIN);
  }

  resume() {
    clearTimeout(this.patience);
    this.waiting = 0;
    if (this.unsent) this.send(this.unsent);
    else this.root.dataset.state = "settled";
  }

  receive(shown) {
    if (!shown || shown.serial === undefined) return;
    if (shown.fields) {
      this.shown = shown;
      // What was set since the question was sent is newer than the answer's settings.
      const isNews = shown.loaded && !this.unsent;
      if (isNews || !this.fields) this.fields = JSON.parse(JSON.stringify(shown.fields));
      this.renewed = isNews;
    }
    this.paint();
    this.renewed = false;
    this.paintAnswer(shown);
    if (this.waiting && shown.serial >= this.waiting) {
      this.root.dataset.response = (performance.now() - this.sentAt).toFixed(1);
      this.resume();
    } else if (!this.waiting) {
      this.root.dataset.state = "settled";
    }
    this.root.dataset.serial = shown.serial;
  }

  paintAnswer(shown) {
    if (this.message.innerHTML !== shown.messages) this.message.innerHTML = shown.messages;
    this.root.classList.toggle("stale", !shown.fields);
    if (!shown.fields) return;
    if (shown.steps) this.paintSteps(shown.steps);
    for (const [name, box] of Object.entries(this.parts)) {
      const waits = name === "plan" && shown.moving;
      box.classList.toggle("waits", waits);
      if (waits) continue;
      box.innerHTML = shown.parts[name];
      box.parentElement.hidden = !shown.parts[name];
    }
    this.program.textContent = shown.program;
    this.link.href = `?${shown.query}`;
    if (this.model.get("linked")) {
      // Browsers refuse addresses that change many times a second.
      clearTimeout(this.addressing);
      this.addressing = setTimeout(() => history.replaceState(history.state, "", `?${shown.query}`), 300);
    }
  }

  toggleProgram() {
    this.programBox.hidden = !this.programBox.hidden;
    this.programButton.setAttribute("aria-expanded", String(!this.programBox.hidden));
  }

  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.program.textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(this.program);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: press Ctrl-C";
    }
    setTimeout(() => (button.textContent = "Copy the code"), 2000);
  }

  // ---------------------------------------------------------------- painting

  paint() {
    if (!this.fields) return;
    if (!this.dragging && !this.zoomed) this.reach = this.wantedReach();
    this.root.dataset.reach = this.reach;
    this.undoButton.disabled = !this.past.length;
    this.redoButton.disabled = !this.future.length;
    this.fitButton.disabled = !this.zoomed;
    this.problem.value = this.fields.problem;
    const choice = this.model.get("choices").find((c) => c.value === this.fields.problem);
    this.about.replaceChildren(`To ${choice.about}: `, make("code", {}, choice.program));
    this.itemBox.hidden = !this.uses("items");
    this.paintBackdrop();
    this.paintHandles();
    this.paintTables();
    this.paintSettings();
    this.paintKey();
    if (this.still) this.quieten();
  }

  wantedReach() {
    const sizes = this.points().flatMap((p) => p.at.map(Math.abs));
    const plane = this.shown.plane ?? {};
    const drawn = ["region", "blind", "hull"].flatMap((kind) => (plane[kind] ?? []).flat().map(Math.abs));
    return roundUp(Math.max(1.2 * Math.max(...sizes, 1e-6), 1.04 * Math.max(...drawn, 0)));
  }

  get step() {
    return 10 ** Math.floor(Math.log10(this.reach / 40));
  }

  place([x, y]) {
    const half = SIZE / 2;
    return [half + (x / this.reach) * half, half - (y / this.reach) * half];
  }

  paintBackdrop() {
    const parts = [];
    const spacing = gridStep(this.reach / 4.5);
    for (let k = -4; k <= 4; k += 1) {
      const [x, y] = this.place([k * spacing, k * spacing]);
      if (x < 0 || x > SIZE) continue;
      const kind = k === 0 ? "axis" : "grid";
      parts.push(make("line", { class: kind, x1: x, x2: x, y1: 0, y2: SIZE }));
      parts.push(make("line", { class: kind, x1: 0, x2: SIZE, y1: y, y2: y }));
      if (k === 0 || x < 20 || x > SIZE - 20) continue;
      const text = String(tidy(k * spacing, spacing / 10)).replace("-", "−");
      parts.push(make("text", { x, y: SIZE - 5, "text-anchor": "middle" }, text));
      parts.push(make("text", { x: 5, y: y + 4 }, text));
    }
    const plane = this.drawn;
    for (const kind of ["hull", "blind", "region"]) {
      if (!plane[kind]) continue;
      const d = plane[kind].map((p) => this.place(p).map((c) => c.toFixed(2)).join(" ")).join(" L");
      parts.push(make("path", { class: kind, d: `M${d}Z` }));
    }
    if (plane.touch && this.uses("direction")) {
      const [x1, y1] = this.place([0, 0]);
      const [x2, y2] = this.place(plane.touch);
      parts.push(make("line", { class: "ray", x1, y1, x2, y2 }), make("circle", { class: "touch", cx: x2, cy: y2, r: 5 }));
    }
    if (this.uses("threshold")) parts.push(...this.thresholdLine());
    for (const kind of ["theta", "direction"]) {
      if (kind === "direction" && !this.uses("direction")) continue;
      const [x, y] = this.place(this.fields[kind]);
      const ends = { x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y };
      parts.push(make("line", { class: `arrow ${kind}`, "marker-end": `url(#head-${kind})`, ...ends }));
    }
    this.backdrop.replaceChildren(...parts);
  }

  // The line of all z with z'theta = threshold.
  thresholdLine() {
    const [a, b] = this.fields.theta;
    const size = a * a + b * b;
    if (size === 0) return [];
    const t = this.fields.threshold / size;
    const far = (4 * this.reach) / Math.sqrt(size);
    const [x1, y1] = this.place([a * t - b * far, b * t + a * far]);
    const [x2, y2] = this.place([a * t + b * far, b * t - a * far]);
    return [make("line", { class: "threshold", x1, y1, x2, y2 })];
  }

  paintHandles() {
    const points = this.points();
    const names = points.map((p) => p.kind + p.index).join();
    if (this.handles.dataset.names !== names) {
      const focused = this.focused()?.dataset?.point;
      this.handles.dataset.names = names;
      this.handles.replaceChildren(...points.map((p) => this.handle(p)));
      if (focused) this.handles.querySelector(`[data-point="${focused}"]`)?.focus();
    }
    const { weights } = this.drawn;
    points.forEach((p, k) => {
      const node = this.handles.children[k];
      const [x, y] = this.place(p.at);
      node.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      node.setAttribute("aria-valuenow", p.at[0]);
      const share = p.kind === "arm" && weights && weights.length === this.fields.arms.length ? weights[p.index] : null;
      const words = share === null ? "" : `, share ${(100 * share).toFixed(1)} %`;
      node.setAttribute("aria-valuetext", `${p.at[0]}, ${p.at[1]}${words}`);
      if (p.kind === "theta" || p.kind === "direction") {
        node.querySelector("text").setAttribute("y", p.at[1] < 0 ? 20 : -9); // beside the arrow's tip, never on it
      }
      if (p.kind !== "arm") return;
      node.classList.toggle("unmeasured", share === 0);
      node.querySelector(".disc").setAttribute("r", (7 + 15 * Math.sqrt(share ?? 0)).toFixed(2));
    });
  }

  handle(point) {
    const node = make("g", {
      class: `handle ${point.kind}`,
      tabindex: "0",
      role: "slider",
      "data-point": `${point.kind}${point.index}`,
      "aria-label": point.name,
      "aria-readonly": String(this.still),
      "aria-roledescription": "point in the plane",
      onpointerdown: (e) => this.grab(e, node, point),
      onpointermove: (e) => this.drag(e, point),
      onpointerup: () => this.drop(),
      onpointercancel: () => this.drop(),
      onkeydown: (e) => this.press(e, point),
    });
    node.append(make("circle", { class: "target", r: 22 }), make("title", {}, `${point.name}: drag, or use the arrow keys`));
    if (point.kind === "arm") node.append(make("circle", { class: "disc", r: 8 }));
    else if (point.kind === "item") node.append(make("rect", { class: "square", x: -7, y: -7, width: 14, height: 14 }));
    else node.append(make("circle", { class: "tip", r: 6 }));
    const text = { theta: "θ", direction: "c" }[point.kind] ?? String(point.index);
    const inside = point.kind === "arm";
    node.append(make("text", { x: inside ? 0 : 12, y: inside ? 4 : -9, "text-anchor": inside ? "middle" : "start" }, text));
    return node;
  }

  paintTables() {
    const f = this.fields;
    this.fill(this.arms, "arm", f.arms, (i) => [f.arms[i][0], f.arms[i][1], f.noise_variance[i]]);
    this.fill(this.items, "item", f.items, (i) => [f.items[i][0], f.items[i][1]]);
    this.itemTable.hidden = f.items.length === 0;
    this.noItems.hidden = f.items.length > 0;
    for (const button of this.arms.querySelectorAll("button")) button.disabled = f.arms.length === 1;
  }

  fill(body, kind, list, values) {
    while (body.children.length > list.length) body.lastChild.remove();
    while (body.children.length < list.length) body.append(this.row(kind, body.children.length));
    [...body.children].forEach((row, i) => {
      row.querySelectorAll("input").forEach((input, k) => this.show(input, values(i)[k]));
    });
  }

  row(kind, index) {
    const names = kind === "arm" ? ["x", "y", "noise variance"] : ["x", "y"];
    const cells = names.map((name, k) =>
      make("td", {}, this.input(`${name} of ${kind} ${index}`, (value) => this.type(kind, index, k, value), 0.05)),
    );
    const title = `Remove ${kind} ${index}`;
    const remove = { type: "button", class: "remove", "aria-label": title, title, onclick: () => this.remove(kind, index) };
    return make("tr", {}, make("th", { scope: "row" }, String(index)), ...cells, make("td", {}, make("button", remove, "×")));
  }

  type(kind, index, k, value) {
    const f = this.fields;
    if (kind === "arm" && k === 2) {
      this.set({ noise_variance: f.noise_variance.map((v, i) => (i === index ? value : v)) });
      return;
    }
    const at = [...(kind === "arm" ? f.arms : f.items)[index]];
    at[k] = value;
    this.move({ kind, index }, at);
  }

  input(label, change, step) {
    const node = make("input", { type: "number", step: "any", "aria-label": label, inputmode: "decimal" });
    node.addEventListener("input", () => {
      const value = node.valueAsNumber;
      const good = Number.isFinite(value);
      node.toggleAttribute("aria-invalid", !good);
      if (good) change(value);
    });
    node.addEventListener("keydown", (e) => {
      const turn = { ArrowUp: 1, ArrowDown: -1 }[e.key];
      if (!turn || !Number.isFinite(node.valueAsNumber)) return;
      e.preventDefault();
      node.value = String(tidy(node.valueAsNumber + turn * step * (e.shiftKey ? 10 : 1), step / 100));
      change(node.valueAsNumber);
    });
    // An unfinished number gives way to the one that counts.
    node.addEventListener("blur", () => {
      node.removeAttribute("aria-invalid");
      this.paint();
    });
    return node;
  }

  // What the reader is typing stays, unless everything is set anew.
  show(input, value) {
    if ((this.renewed || input !== this.focused()) && input.value !== String(value)) input.value = String(value);
  }

  focused() {
    return this.root.getRootNode().activeElement;
  }

  paintSettings() {
    const f = this.fields;
    const wanted = [
      ["theta", 0, "theta, first"],
      ["theta", 1, "theta, second"],
      ...(this.uses("direction") ? [["direction", 0, "direction c, first"], ["direction", 1, "direction c, second"]] : []),
      ...(f.problem.startsWith("level-set") ? [["threshold", null, "threshold"]] : []),
      ["pulls", null, "measurements"],
      ["delta", null, "failure probability δ"],
    ];
    const names = wanted.map((w) => w.join()).join(";");
    if (this.settings.dataset.names !== names) {
      this.settings.dataset.names = names;
      const steps = { pulls: 1, delta: 0.01, threshold: 0.05 };
      this.settings.replaceChildren(
        ...wanted.map(([name, k, text]) => {
          const change = (value) => {
            const now = this.fields[name];
            this.set({ [name]: k === null ? value : now.map((v, i) => (i === k ? value : v)) });
          };
          const node = this.input(text, change, steps[name] ?? 0.05);
          return make("label", {}, make("span", {}, text), node);
        }),
      );
    }
    this.settings.querySelectorAll("input").forEach((input, i) => {
      const [name, k] = wanted[i];
      this.show(input, k === null ? f[name] : f[name][k]);
    });
  }

  // Of a page that stands alone nothing can be changed.
  quieten() {
    for (const control of this.root.querySelectorAll(".set input, .set select")) control.disabled = true;
    for (const button of this.root.querySelectorAll(".remove, .add-arm, .add-item")) button.hidden = true;
    this.example.parentElement.hidden = true;
  }

  paintKey() {
    const f = this.fields;
    const level = `${Number((100 * (1 - f.delta)).toPrecision(4))} %`;
    const mark = (kind, text) => [make("span", { class: `mark ${kind}`, "aria-hidden": "true" }), ` ${text} `];
    const plane = this.drawn;
    const parts = [...mark("informed", "arms (area: share)")];
    if (this.uses("items") && f.items.length) parts.push(...mark("item", "items"));
    if (plane.region) parts.push(...mark("region", `where the estimate of θ lies after ${f.pulls} measurements, ${level} of the time`));
    if (plane.blind) parts.push(...mark("blind-region", "the same, designed as if all noise were equal"));
    if (this.uses("threshold")) parts.push(...mark("threshold", "threshold"));
    if (plane.hull) parts.push(...mark("hull", "Elfving’s polygon of the arms over their noise, and where c leaves it"));
    this.key.replaceChildren(...parts);
  }

  // ---------------------------------------------------------------- moving

  at(event) {
    const box = this.plane.getBoundingClientRect();
    const half = box.width / 2;
    const coordinate = (value) => {
      const kept = Math.min(Math.max(value, -0.98), 0.98) * this.reach;
      return tidy(kept, this.step);
    };
    const x = (event.clientX - this.dragging.dx - box.left - half) / half;
    const y = (half - (event.clientY - this.dragging.dy - box.top)) / half;
    return [coordinate(x), coordinate(y)];
  }

  grab(event, node, point) {
    if (event.button !== 0 || this.still) return;
    const box = node.querySelector(".disc, .square, .tip").getBoundingClientRect();
    this.dragging = { dx: event.clientX - box.left - box.width / 2, dy: event.clientY - box.top - box.height / 2, point };
    node.setPointerCapture(event.pointerId);
    node.focus();
    event.preventDefault();
  }

  drag(event, point) {
    if (!this.dragging) return;
    const at = this.at(event);
    const now = this.points().find((p) => p.kind === point.kind && p.index === point.index).at;
    if (at[0] !== now[0] || at[1] !== now[1]) this.move(point, at);
  }

  drop() {
    if (!this.dragging) return;
    this.dragging = null;
    if (this.held === null || this.held === undefined) return; // it was touched, and not moved
    this.set({}); // at rest: now with everything
  }

  press(event, point) {
    if (this.still || event.ctrlKey || event.metaKey) return;
    const turn = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if ((event.key === "Delete" || event.key === "Backspace") && ["arm", "item"].includes(point.kind)) {
      event.preventDefault();
      this.remove(point.kind, point.index);
      return;
    }
    if (!turn) return;
    event.preventDefault();
    event.stopPropagation();
    const step = this.step * (event.shiftKey ? 10 : 1);
    const now = this.points().find((p) => p.kind === point.kind && p.index === point.index).at;
    this.move(point, [tidy(now[0] + turn[0] * step, this.step / 100), tidy(now[1] + turn[1] * step, this.step / 100)]);
  }

  close() {
    this.model.off("change:shown", this.listener);
    clearTimeout(this.patience);
    clearTimeout(this.addressing);
  }
}

export default {
  render({ model, el }) {
    const root = make("div", { class: "convexdesign-explorer" });
    el.append(root);
    const explorer = new Explorer(model, root);
    return () => explorer.close();
  },
};

// For the page of curves.
export { MOST_UNDONE, make, raster, roundUp };
