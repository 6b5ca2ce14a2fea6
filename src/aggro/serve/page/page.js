"use strict";
// The page: follows the server's events, and lets users predict, explain and send labels.

const el = (id) => document.getElementById(id);
const put = (id, text) => { if (el(id).textContent !== text) el(id).textContent = text; };
const SECONDS = 600;
let samples = [];
let regression = false;
let field = "features";
let lastId = null;

// -- the server -------------------------------------------------------------------------------

function headers(extra = {}) {
  const token = sessionStorage.getItem("token");
  return token ? { ...extra, Authorization: "Bearer " + token } : extra;
}

async function call(path, body) {
  const options = body === undefined ? { headers: headers() } : {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (answer.ok) return found;
  if (answer.status === 401 || answer.status === 403) el("token-form").hidden = false;
  throw new Error(found.error ? found.error.message : "The server answered " + answer.status + ".");
}

// Events by fetch rather than EventSource, which cannot send a token.
async function follow() {
  for (;;) {
    try {
      const answer = await fetch("/events", { headers: headers() });
      if (answer.status === 401) {
        el("token-form").hidden = false;
        link("lost", "token required");
        return;
      }
      if (!answer.ok) throw new Error("status " + answer.status);
      link("live", "live");
      await read(answer.body.getReader());
    } catch (error) {
      link("lost", "reconnecting");
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}

async function read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the stream ended");
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\ndata: ");
      take(name.replace("event: ", ""), JSON.parse(data));
    }
  }
}

function link(kind, text) {
  el("link").className = "pill " + kind;
  put("link", text);
}

function take(name, data) {
  if (name === "history") samples = data;
  else samples.push(data);
  samples = samples.slice(-SECONDS);
  if (name === "sample") show(data);
  for (const chart of charts) chart.draw(samples);
}

// -- what is shown ----------------------------------------------------------------------------

const charts = [
  new LineChart("chart-error", (v) => (regression ? short(v) : +(100 * v).toFixed(1) + " %")),
  new LineChart("chart-rates", short),
  new LineChart("chart-latency", short),
  new LineChart("chart-pending", short),
];

function seconds(s) {
  if (s === null || s === undefined) return "–";
  return s < 1 ? (1000 * s).toFixed(0) + " ms" : s < 120 ? s.toFixed(1) + " s" : s < 7200 ? (s / 60).toFixed(0) + " min" : (s / 3600).toFixed(1) + " h";
}

function show(s) {
  const model = s.model;
  regression = model.task === "regression";
  setField(model.input);
  const error = regression ? short : percent;
  put("model", `${model.algorithm} · ${model.task} · ${short(model.features)} features · ${regression ? "" : model.classes.length + " classes · "}${s.version.toLocaleString("en")} examples`);
  put("recent", error(s.recent));
  put("error", error(s.error));
  put("error-note", "constant " + error(s.constant));
  put("predictions", short(s.predictions));
  put("updates", short(s.updates));
  put("updates-note", `per second · ${short(s.counts.rejected)} rejected`);
  put("p99", milliseconds(s.p99));
  put("p50", "median " + milliseconds(s.p50));
  put("pending", short(s.pending));
  put("delay", "delay " + seconds(s.delay));
  put("bytes", short(s.bytes).replace(/([A-Z])$/, " $1") + "B");
  put("snapshot", "snapshot at " + model.snapshot.toLocaleString("en"));
  const better = s.recent !== null && s.constant_recent !== null && s.recent < s.constant_recent;
  el("recent").className = "big " + (s.recent === null ? "" : better ? "good" : "bad");
  showDrift(s.drift);
  showCandidates(model.candidates);
  showCalibration(s.calibration);
  showStrongest(s.strongest);
}

function showDrift(z) {
  const state = z === null ? ["–", ""] : z > 4 ? ["changed", "bad"] : z > 2.5 ? ["perhaps", ""] : z < -4 ? ["better", "good"] : ["steady", "good"];
  put("drift", state[0]);
  el("drift").className = "big " + state[1];
  put("drift-note", z === null ? "recent against earlier" : `${z.toFixed(1).replace("-", "−")} standard errors`);
}

function showCandidates(candidates) {
  if (!candidates || !candidates.length) return;
  const shown = kinds(candidates);
  candidateBars(el("candidates"), shown, regression);
  const best = shown.find((candidate) => candidate.chosen) || shown[0];
  put("candidates-note", `Best: ${best.name}. Bars show the recent error of ${shown.length < candidates.length ? `the best C of each kind; ${candidates.length} candidates` : "each candidate"}.`);
  el("candidates").setAttribute("aria-label", el("candidates-note").textContent);
}

function showCalibration(bins) {
  if (!bins.length) return;
  reliability(el("calibration"), bins);
  const all = bins.reduce((sum, b) => sum + b.count, 0);
  const gap = bins.reduce((sum, b) => sum + b.count * Math.abs(b.confidence - b.accuracy), 0) / all;
  put("calibration-note", `Mean distance to the diagonal: ${percent(gap)}. Large dots: many predictions.`);
  el("calibration").setAttribute("aria-label", "Reliability: " + el("calibration-note").textContent);
}

function showStrongest(rows) {
  if (!rows.length) return;
  const one = new Set(rows.map((row) => row[1])).size === 1;
  signedBars(el("strongest"), rows.map(([feature, owner, weight]) => ({ name: one ? feature : `${feature} → ${owner}`, value: weight })));
  const owner = rows[0][1];
  put("strongest-note", one && owner ? `Weights furthest from zero: for “${owner}” to the right, against it to the left.` : "Weights furthest from zero.");
}

// -- the form ---------------------------------------------------------------------------------

function setField(name) {
  if (name === field) return;
  field = name;
  put("input-label", "Text");
  put("input-help", "Any text. Ctrl+Enter predicts.");
  el("input").value = "";
}

function readInput() {
  const text = el("input").value;
  if (field === "text") return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('This is not JSON. Write names in quotes: {"a": 1.0, "colour": "red"}');
  }
}

async function predict(event) {
  event.preventDefault();
  el("problem").hidden = true;
  try {
    const answer = await call("/predict", { [field]: readInput() });
    lastId = answer.stored === false ? null : answer.id;
    showAnswer(answer);
    if (lastId) showExplanation(await call("/explain?id=" + encodeURIComponent(lastId)));
  } catch (error) {
    problem(error);
  }
}

function showAnswer(answer) {
  el("answer").hidden = false;
  put("learned", "");
  put("prediction", answer.prediction === null ? "nothing learned yet" : String(answer.prediction));
  if (answer.probabilities) {
    const rows = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 8);
    el("scores").replaceChildren(...rows.map(([name, p]) => bar({ name, left: 0, width: p, value: percent(p) })));
  } else {
    const rows = Object.entries(answer.scores || {}).sort((a, b) => b[1] - a[1]).slice(0, 8);
    signedBars(el("scores"), rows.map(([name, value]) => ({ name: "score of " + name, value })));
  }
}

function showExplanation(explanation) {
  put("contributions", explanation.label === null ? "Contribution of each feature" : `Contribution of each feature to “${explanation.label}”`);
  const rows = explanation.contributions.slice(0, 15).map((p) => ({ name: typeof p.value === "number" ? `${p.feature} = ${short(p.value)}` : `${p.feature} = ${p.value}`, value: p.contribution || 0 }));
  signedBars(el("parts"), [...rows, { name: "(intercept)", value: explanation.intercept || 0 }]);
  put("parts-note", `Score ${short(explanation.score)}, by the model after ${explanation.version.toLocaleString("en")} examples.`);
}

function problem(error) {
  el("problem").hidden = false;
  put("problem", error.message);
}

// A label has the type of the class it names: "1", 1 and true are three classes. A new class has
// the type of the others, and is a text where there are none.
// Labels of a set are separated by commas.
function labelOf(text, model) {
  if (model.task === "multilabel") {
    const words = text.split(",").map((word) => word.trim()).filter((word) => word);
    return words.map((word) => labelOf(word, { ...model, task: "classification" }));
  }
  const word = text.trim();
  const number = word === "" ? NaN : Number(word);
  if (model.task === "regression") {
    if (!Number.isFinite(number)) throw new Error("Give a number; the model predicts numbers.");
    return number;
  }
  const known = model.classes;
  for (const wanted of [text, word]) {
    if (known.includes(wanted)) return wanted;
  }
  const same = known.find((label) => typeof label === "number" ? label === number : String(label) === word);
  if (same !== undefined) return same;
  if (known.length === 0 || known.some((label) => typeof label === "string")) return text;
  if (known.every((label) => typeof label === "boolean")) {
    throw new Error("Give true or false, like the classes of the model.");
  }
  if (!Number.isFinite(number)) throw new Error("Give a number, like the classes of the model.");
  return number;
}

async function sendLabel(event) {
  event.preventDefault();
  const text = el("truth").value;
  try {
    const receipt = await call("/label", { id: lastId, label: labelOf(text, await call("/model")) });
    put("learned", receipt.duplicate ? "Already learned." : "Learned and stored on disk.");
  } catch (error) {
    put("learned", error.message);
  }
}

// -- light and dark ---------------------------------------------------------------------------

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  el("theme").setAttribute("aria-pressed", String(name === "dark"));
  for (const chart of charts) chart.rebuild();
}

setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
el("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
window.addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
el("predict-form").addEventListener("submit", predict);
el("label-form").addEventListener("submit", sendLabel);
el("input").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) predict(event);
});
el("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", el("token").value);
  el("token-form").hidden = true;
  follow();
});
follow();
