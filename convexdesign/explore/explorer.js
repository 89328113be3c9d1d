// The explorer's page: controls on one side, what Python answers on the other. All mathematics is Python's; here
// are only the plane, in which points are dragged, and the exchange of settings for answers.

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 400; // of the plane's own coordinates, each way
const ANSWER_WITHIN = 5000; // milliseconds after which an answer is no longer waited for

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
      return make("section", { class: `part ${name}` }, make("h2", {}, title), this.parts[name]);
    };
    this.link = make("a", { class: "link" }, "Link to this view");
    this.link.hidden = !this.model.get("linked"); // a notebook's address is not the explorer's
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
        part("plan", "Whole numbers"),
        part("samples", "Samples to identify the answer"),
        make("div", { class: "take" }, this.programButton, " ", this.link),
        this.programBox,
      ),
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
    Object.assign(this.fields, changes);
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
    if (query) this.send({ query });
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
    }
    this.paint();
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
    if (!this.dragging) this.reach = this.wantedReach();
    this.problem.value = this.fields.problem;
    const choice = this.model.get("choices").find((c) => c.value === this.fields.problem);
    this.about.replaceChildren(`To ${choice.about}: `, make("code", {}, choice.program));
    this.itemBox.hidden = !this.uses("items");
    this.paintBackdrop();
    this.paintHandles();
    this.paintTables();
    this.paintSettings();
    this.paintKey();
  }

  wantedReach() {
    const sizes = this.points().flatMap((p) => p.at.map(Math.abs));
    return roundUp(1.2 * Math.max(...sizes, 1e-6));
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
    const spacing = roundUp(this.reach / 3.5);
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
    const plane = this.shown.plane || {};
    for (const kind of ["blind", "region"]) {
      if (!plane[kind]) continue;
      const d = plane[kind].map((p) => this.place(p).map((c) => c.toFixed(2)).join(" ")).join(" L");
      parts.push(make("path", { class: kind, d: `M${d}Z` }));
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
    const weights = this.shown.plane?.weights;
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

  show(input, value) {
    if (input !== this.focused() && input.value !== String(value)) input.value = String(value);
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

  paintKey() {
    const f = this.fields;
    const level = `${Number((100 * (1 - f.delta)).toPrecision(4))} %`;
    const mark = (kind, text) => [make("span", { class: `mark ${kind}`, "aria-hidden": "true" }), ` ${text} `];
    const plane = this.shown.plane || {};
    const parts = [...mark("informed", "arms (area: share)")];
    if (this.uses("items") && f.items.length) parts.push(...mark("item", "items"));
    if (plane.region) parts.push(...mark("region", `where the estimate of θ lies after ${f.pulls} measurements, ${level} of the time`));
    if (plane.blind) parts.push(...mark("blind-region", "the same, designed as if all noise were equal"));
    if (this.uses("threshold")) parts.push(...mark("threshold", "threshold"));
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
    if (event.button !== 0) return;
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
    this.set({}); // at rest: now with everything
  }

  press(event, point) {
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
