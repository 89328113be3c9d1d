// The page of curves: a model and an interval on one side; the sensitivity over the interval, its bound, and the settings to
// measure at on the other. All mathematics is Python's. Of a page that stands alone nothing can be changed.

import { STOPPED, ask } from "./asking.js";
import { MOST_UNDONE, make, raster, roundUp } from "./explorer.js";

const WIDTH = 640, HEIGHT = 380, LEFT = 56, RIGHT = 16, TOP = 20, BOTTOM = 46;
const LARGEST = 13; // radius of a disc with all the weight
const WAIT = 250; // milliseconds after the last letter
const FIELDS = ["problem", "model", "parameters", "low", "high", "noise", "wanted"];
const MOVE = 200; // an arrow key moves a setting by this part of the interval, ten such with Shift

const place = document.getElementById("curve");
const still = place.dataset.still !== undefined;
const inputs = {};
const past = []; // what was shown, oldest first
const future = []; // what was undone
let current; // what is shown
let latest = 0;
let timer = 0;
let shown = {};
let held; // the setting that is dragged: its number and all settings as they are now
let waiting; // what a drag asks next

function field(name, label, attributes = {}) {
  inputs[name] = make("input", { name, autocomplete: "off", spellcheck: "false", readonly: still, ...attributes });
  inputs[name].addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => show(query()), WAIT);
  });
  return make("label", {}, make("span", {}, label), inputs[name]);
}

function query(own = "") {
  return new URLSearchParams([...FIELDS.map((name) => [name, inputs[name].value]), ["own", own]]).toString();
}

// ------------------------------------------------------------------- settings of one's own

function asText(points) {
  return points.map((p) => `${p.x}:${p.weight}`).join(";");
}

function put(points, k, x) {
  const step = 10 ** Math.floor(Math.log10((shown.high - shown.low) / 1000));
  const rounded = Number((Math.round(x / step) * step).toPrecision(12));
  return points.map((p, j) => (j === k ? { ...p, x: Math.min(Math.max(rounded, shown.low), shown.high) } : p));
}

// Which are moved: one's own, or the best ones as long as there are none.
function movable() {
  return (shown.mine ?? shown).points.map((p) => ({
    x: Math.min(Math.max(Number(p.x.toPrecision(8)), shown.low), shown.high),
    weight: Number(p.weight.toPrecision(6)),
  }));
}

function grab(event, k) {
  event.preventDefault();
  event.target.focus();
  held = { k, points: movable() };
  addEventListener("pointermove", drag);
  addEventListener("pointerup", drop);
  addEventListener("pointercancel", drop);
}

function drag(event) {
  const box = place.querySelector("svg.sensitivity-curve").getBoundingClientRect();
  const across = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
  held.points = put(held.points, held.k, shown.low + across * (shown.high - shown.low));
  askNext(asText(held.points));
}

// One question at a time while a setting is dragged; of those that come meanwhile the last.
async function askNext(own) {
  const busy = waiting !== undefined;
  waiting = own;
  if (busy) return;
  while (waiting !== undefined) {
    const next = waiting;
    await show(query(next), false, true);
    if (waiting === next) waiting = undefined;
  }
}

function drop() {
  for (const name of ["pointermove"]) removeEventListener(name, drag);
  for (const name of ["pointerup", "pointercancel"]) removeEventListener(name, drop);
  const { points } = held;
  held = undefined;
  waiting = undefined;
  show(query(asText(points)));
}

function nudge(event, k) {
  const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  if (way === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const points = movable();
  const by = (way * (event.shiftKey ? 10 : 1) * (shown.high - shown.low)) / MOVE;
  show(query(asText(put(points, k, points[k].x + by))));
}

function number(x, digits = 6) {
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

function marks(low, high, count = 6) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function picture(s) {
  const known = s.sensitivity.filter((v) => v !== null);
  // One's own curve may be high: of what is far above the bound only the beginning is seen.
  const own = (s.mine?.sensitivity ?? []).filter((v) => v !== null).map((v) => Math.min(v, 4 * s.most));
  const top = roundUp(1.08 * Math.max(s.most, ...known, ...own, ...s.points.map((p) => p.height)));
  const at = (x) => LEFT + ((x - s.low) / (s.high - s.low)) * (WIDTH - LEFT - RIGHT);
  const up = (v) => HEIGHT - BOTTOM - (v / top) * (HEIGHT - BOTTOM - TOP);
  const text = (x, y, words, anchor, more = {}) => make("text", { x, y, class: "tick", "text-anchor": anchor, ...more }, words);
  const words = `The sensitivity over the interval, nowhere above its bound ${number(s.most)}, and equal to it at `
    + `${s.points.map((p) => `x = ${number(p.x, 4)} (${(100 * p.weight).toFixed(1)} %)`).join(", ")}.`
    + (s.mine ? ` Beside it that of the settings ${s.mine.points.map((p) => `x = ${number(p.x, 4)}`).join(", ")}.` : "");
  const role = still ? "img" : "group"; // with settings that can be moved
  const svg = make("svg", { class: "sensitivity-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role, "aria-label": words });
  for (const x of marks(s.low, s.high)) {
    svg.append(make("line", { x1: at(x), x2: at(x), y1: TOP, y2: HEIGHT - BOTTOM, class: "thin" }));
    svg.append(text(at(x), HEIGHT - BOTTOM + 18, number(x), "middle"));
  }
  for (const v of marks(0, top, 4)) {
    svg.append(make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: up(v), y2: up(v), class: "thin" }));
    svg.append(text(LEFT - 8, up(v) + 5, number(v), "end"));
  }
  svg.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "setting x", "middle"));
  const path = (values) => {
    let d = "";
    s.x.forEach((x, k) => {
      const v = values[k];
      if (v !== null) d += `${d && values[k - 1] !== null ? "L" : "M"}${at(x).toFixed(2)},${up(Math.min(v, top)).toFixed(2)}`;
    });
    return d;
  };
  if (s.mine?.sensitivity) svg.append(make("path", { d: path(s.mine.sensitivity), class: "curve own" }));
  svg.append(make("path", { d: path(s.sensitivity), class: "curve" }));
  svg.append(make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: up(s.most), y2: up(s.most), class: "bound" }));
  const discs = (points, kind, movesThem) => points.forEach((p, k) => {
    const y = up(Math.min(p.height ?? s.most, top));
    const disc = make("circle", { cx: at(p.x), cy: y, r: 3 + LARGEST * Math.sqrt(p.weight), class: `setting ${kind}`,
      ...(movesThem ? { "data-setting": k, tabindex: 0, role: "slider", "aria-label": `setting ${k}`, "aria-valuemin": s.low,
        "aria-valuemax": s.high, "aria-valuenow": p.x, "aria-valuetext": `${number(p.x)}, share ${(100 * p.weight).toFixed(1)} %`,
        onpointerdown: (e) => grab(e, k), onkeydown: (e) => nudge(e, k) } : {}) });
    disc.append(make("title", {}, `x = ${number(p.x)}: ${(100 * p.weight).toFixed(2)} %`));
    svg.append(disc);
  });
  discs(s.points, s.mine ? "best" : "", !s.mine && !still);
  if (s.mine) discs(s.mine.points, "own", !still);
  return svg;
}

function save(kind) {
  const svg = place.querySelector("svg.sensitivity-curve");
  const copy = svg.cloneNode(true);
  const looks = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "text-anchor", "fill-opacity"];
  const [from, to] = [svg, copy].map((node) => [node, ...node.querySelectorAll("*")]);
  from.forEach((node, k) => {
    const style = getComputedStyle(node);
    for (const look of looks) to[k].setAttribute(look, style.getPropertyValue(look));
  });
  const ground = getComputedStyle(place).backgroundColor;
  copy.insertBefore(make("rect", { width: WIDTH, height: HEIGHT, fill: ground }), copy.firstChild);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", WIDTH);
  copy.setAttribute("height", HEIGHT);
  const blob = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  (kind === "svg" ? Promise.resolve(blob) : raster(blob, WIDTH, HEIGHT)).then((data) => {
    const address = URL.createObjectURL(data);
    make("a", { href: address, download: `curve.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
}

function tableOf(points) {
  const rows = points.map((p) =>
    make("tr", {}, make("td", {}, number(p.x)), make("td", {}, `${(100 * p.weight).toFixed(2)} %`),
      make("td", {}, p.height === undefined ? "" : number(p.height))));
  const head = make("thead", {}, make("tr", {}, ...["x", "share", "sensitivity"].map((t) => make("th", { scope: "col" }, t))));
  return make("table", {}, head, make("tbody", {}, ...rows));
}

function mine(s) {
  if (!s.mine) {
    return still ? [] : [make("p", { class: "about" }, "Drag a disc, or move it with the arrow keys, to see what other settings are worth.")];
  }
  const words = s.mine.value === null
    ? "These settings do not measure all that is asked for."
    : `${s.about}: ${number(s.mine.value, 9)}. 100 measurements there are worth at least ${Math.floor(1e4 * s.mine.efficiency) / 100} at the best `
      + `settings (proven). Dotted: ${s.problem === "g-optimal"
        ? "the variance of their predictions, above the dashed line where it is larger than the best design's anywhere."
        : "their own sensitivity; where it is above the dashed line, a measurement does more than those that they make."}`;
  return [make("section", { class: "part own-settings" }, make("h2", {}, "Your settings"), make("p", { "data-efficiency": s.mine.efficiency }, words),
    tableOf(s.mine.points),
    ...(still ? [] : [make("div", { class: "tools" }, make("button", { type: "button", onclick: () => show(query()) }, "Back to the best settings"))]))];
}

function results(s) {
  return [
    make("section", { class: "part sensitivity" }, make("h2", {}, "Sensitivity over the interval"), picture(s),
      make("p", { class: "about" }, "Solid: what one more measurement at x would do. Dashed: the proven bound, which the curve exceeds "
        + "nowhere, so that no design at any settings of the interval is better. Discs: where to measure, by share."),
      make("div", { class: "tools" }, ...["svg", "png"].map((kind) =>
        make("button", { type: "button", onclick: () => save(kind) }, `Save ${kind.toUpperCase()}`)))),
    ...mine(s),
    make("section", { class: "part settings-found" }, make("h2", {}, s.mine ? "The best settings" : "Where to measure"), tableOf(s.points)),
    make("section", { class: "part proof" }, make("h2", {}, "The proof"),
      make("p", {}, `${s.about}: ${number(s.value, 9)}; no design is better than ${number(s.bound, 9)} (gap ${s.gap.toExponential(1)}, ${s.status}).`)),
  ];
}

// Back to what was shown before, or forward again; what is being typed is given up.
function travel(from, to) {
  clearTimeout(timer);
  const found = from.pop();
  if (found === undefined) return;
  to.push(current);
  current = found;
  show(found, true);
}

function shortcut(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  if (key === "y" || event.shiftKey) travel(future, past);
  else travel(past, future);
}

// Keep what was shown before it is replaced.
function remember(next) {
  if (current !== undefined && next !== current) {
    past.push(current);
    if (past.length > MOST_UNDONE) past.shift();
    future.length = 0;
  }
  current = next;
}

async function show(asked, travelling = false, dragging = false) {
  latest += 1;
  const mine = latest;
  let answer;
  try {
    answer = await ask("curve", { query: asked });
  } catch {
    message.innerHTML = STOPPED;
    return;
  }
  if (mine !== latest) return; // a later question is under way
  place.dataset.settled = asked;
  message.replaceChildren();
  if (answer.message) message.append(make("p", { class: "message trouble" }, make("strong", {}, "Not possible: "), answer.message));
  if (answer.query === undefined) return;
  if (!travelling && !dragging) remember(answer.query);
  if (!still) history.replaceState(null, "", `?${answer.query}`);
  undo.disabled = past.length === 0;
  redo.disabled = future.length === 0;
  for (const [name, input] of Object.entries(inputs)) {
    if (travelling || document.activeElement !== input) input.value = String(answer[name]);
  }
  inputs.wanted.parentElement.hidden = answer.problem !== "c-optimal";
  program.textContent = answer.code;
  if (answer.points) {
    shown = answer;
    const focused = document.activeElement?.dataset?.setting;
    right.replaceChildren(...results(shown));
    if (focused !== undefined) right.querySelector(`[data-setting="${focused}"]`)?.focus();
  } else right.replaceChildren();
}

const message = make("div", { class: "messages", role: "status", "aria-live": "polite" });
const right = make("div", { class: "results" });
const button = (text, onclick, title) => make("button", { type: "button", class: text.toLowerCase(), onclick, title, disabled: true }, text);
const undo = button("Undo", () => travel(past, future), "Undo (Ctrl-Z)");
const redo = button("Redo", () => travel(future, past), "Redo (Ctrl-Shift-Z)");
const program = make("pre", { tabindex: "0", "aria-label": "Python code of this view" });

ask("curve", { query: location.search.slice(1) }).then(
  (first) => {
    const example = make("select", { name: "example", onchange: () => example.value && show(example.value) },
      make("option", { value: "" }, "choose an example …"),
      ...first.examples.map((e) => make("option", { value: e.query }, e.title)));
    inputs.problem = make("select", { name: "problem", disabled: still, onchange: () => show(query()) },
      ...first.criteria.map((c) => make("option", { value: c }, c)));
    const left = make("div", { class: "controls" },
      make("div", { class: "choose" }, make("label", {}, make("span", {}, "problem"), inputs.problem),
        ...(still ? [] : [make("label", {}, make("span", {}, "example"), example)])),
      field("model", "the mean: terms in x, or a formula with parameters"),
      field("parameters", "parameters, where the formula has any: V=200, K=0.06"),
      field("wanted", "wanted: a term, such as x**2, or a setting, such as x = 2"),
      field("noise", "noise variance, where it is not 1 everywhere: 1 + x**2"),
      make("div", { class: "choose" }, field("low", "x from", { inputmode: "decimal" }), field("high", "to", { inputmode: "decimal" })),
      ...(still ? [] : [make("div", { class: "tools", role: "toolbar", "aria-label": "What was changed" }, undo, redo)]),
      message, make("details", {}, make("summary", {}, "Python code"), program));
    place.replaceChildren(left, right);
    if (!still) place.addEventListener("keydown", shortcut);
    for (const name of FIELDS) inputs[name].value = String(first[name] ?? "");
    show(first.query === undefined ? location.search.slice(1) : first.query);
  },
  () => (place.innerHTML = STOPPED),
);
