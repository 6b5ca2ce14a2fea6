"use strict";
// The pictures: lines with uPlot, bars as plain elements, the reliability picture as SVG.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const short = (v) => (v === null || v === undefined ? "–" : compact.format(v));
const logarithmic = (v) => (v >= 0.001 && v < 1e4 ? short(v) : v.toExponential(1));
const clock = (t) => new Date(1000 * t).toTimeString().slice(0, 8);
const milliseconds = (v) => (v === null ? "–" : v.toFixed(v < 10 ? 1 : 0) + " ms");
const percent = (v) => (v === null || v === undefined ? "–" : (100 * v).toFixed(1) + "\u00a0%");

// Each line: key of the sample, name, colour, and how its values are shown.
const LINES = {
  "chart-error": [["recent", "recent", "--one", 2.5], ["error", "so far", "--two", 1.5], ["constant_recent", "constant", "--three", 1.5]],
  "chart-rates": [["predictions", "predictions", "--one", 2], ["updates", "updates", "--two", 2]],
  "chart-latency": [["p99", "p99", "--two", 2], ["p50", "median", "--one", 2]],
  "chart-pending": [["pending", "pending", "--one", 2], ["delay", "delay, s", "--two", 2, "s"]],
};

class LineChart {
  constructor(id, show) {
    this.box = document.getElementById(id);
    this.lines = LINES[id];
    this.show = show;
    this.plot = null;
    this.data = null;
  }

  size() {
    const legend = 30;
    return { width: Math.max(this.box.clientWidth, 160), height: Math.max(this.box.clientHeight - legend, 120) };
  }

  options() {
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const second = this.lines.some((line) => line[4]);
    const series = this.lines.map(([, label, tone, width, scale]) => ({
      label, stroke: colour(tone), width, scale: scale || "y", points: { show: false }, spanGaps: true,
      value: (_, v) => this.show(v),
    }));
    const axes = [{ ...axis, size: 30, values: (_, ticks) => ticks.map(clock), space: 90 }, { ...axis, size: 52, values: (_, ticks) => ticks.map(this.show) }];
    if (second) axes.push({ ...axis, scale: "s", side: 1, size: 44, grid: { show: false }, values: (_, ticks) => ticks.map(short) });
    const range = (_, low, high) => [0, high > 0 ? high * 1.08 : 1];
    return {
      ...this.size(), series: [{}, ...series], axes,
      scales: { y: { range }, s: { range } }, cursor: { y: false, points: { size: 6 } }, legend: { live: false },
    };
  }

  draw(samples) {
    this.data = [samples.map((s) => s.at), ...this.lines.map(([key]) => samples.map((s) => s[key] ?? null))];
    if (this.plot) this.plot.setData(this.data);
    else this.rebuild();
  }

  rebuild() {
    if (!this.data) return;
    if (this.plot) this.plot.destroy();
    this.plot = new uPlot(this.options(), this.data, this.box);
  }

  resize() {
    if (this.plot) this.plot.setSize(this.size());
  }
}

// One bar: a name, a fill from `left` for `width` (shares of the track), a value.
function bar({ name, left, width, value, kind = "", row = "" }) {
  const make = (tag, cls, text) => {
    const el = document.createElement(tag);
    el.className = cls;
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const line = make("div", "bar " + row);
  const title = make("span", "name", name);
  title.title = name;
  const track = make("span", "track");
  const fill = make("span", "fill " + kind);
  fill.style.left = 100 * left + "%";
  fill.style.width = 100 * width + "%";
  track.append(fill);
  line.append(title, track, make("span", "value", value));
  return line;
}

// Bars to both sides of the middle, for numbers of both signs.
function signedBars(box, rows) {
  const most = Math.max(...rows.map((r) => Math.abs(r.value)), 1e-300);
  box.replaceChildren(...rows.map((r) => {
    const half = Math.abs(r.value) / most / 2;
    const plus = r.value >= 0;
    return bar({ name: r.name, left: plus ? 0.5 : 0.5 - half, width: half, value: (r.value === 0 ? "" : plus ? "+" : "−") + short(Math.abs(r.value)), kind: plus ? "plus" : "minus" });
  }));
}

// The best candidate of each kind; a kind has the same settings except C. All, if only C differs.
const MEASURED = ["mistakes", "recent_error", "recent_loss", "chosen", "average", "C"];

function kinds(candidates) {
  const names = [...new Set(candidates.flatMap(Object.keys))].filter((name) => !MEASURED.includes(name));
  const selected = names.filter((name) => new Set(candidates.map((c) => String(c[name]))).size > 1);
  const kind = (c) => selected.filter((name) => name in c).map((name) => `${name} ${c[name]}`).join(", ");
  const named = candidates.map((c) => ({ ...c, kind: kind(c), name: [kind(c), "C = " + logarithmic(c.C)].filter(Boolean).join(", ") }));
  if (!selected.length) return named;
  const ahead = (a, b) => b.chosen - a.chosen || a.recent_error - b.recent_error;
  const best = new Map();
  for (const c of named.sort(ahead)) if (!best.has(c.kind)) best.set(c.kind, c);
  return [...best.values()];
}

function candidateBars(box, candidates, regression) {
  const most = Math.max(...candidates.map((c) => c.recent_error), 1e-300);
  box.replaceChildren(...candidates.map((candidate) => bar({
    name: candidate.name, left: 0, width: candidate.recent_error / most,
    value: regression ? short(candidate.recent_error) : percent(candidate.recent_error), row: candidate.chosen ? "best" : "other",
  })));
}

function reliability(box, bins) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 150 130");
  const add = (tag, attributes, text) => {
    const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v);
    if (text) el.textContent = text;
    svg.append(el);
  };
  const x = (p) => 26 + 112 * p, y = (p) => 106 - 98 * p;
  add("rect", { class: "axis", x: x(0), y: y(1), width: 112, height: 98 });
  add("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
  for (const p of [0, 0.5, 1]) {
    add("text", { x: x(p), y: 117, "text-anchor": "middle" }, String(p));
    add("text", { x: 22, y: y(p) + 3, "text-anchor": "end" }, String(p));
  }
  add("text", { x: x(0.5), y: 127, "text-anchor": "middle" }, "mean probability");
  const all = bins.reduce((sum, b) => sum + b.count, 0) || 1;
  for (const b of bins) add("circle", { class: "dot", cx: x(b.confidence), cy: y(b.accuracy), r: 2.5 + 7 * Math.sqrt(b.count / all) });
  box.replaceChildren(svg);
}
