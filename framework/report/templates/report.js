// Figures, drawn when they come into view and zoomed together. What the page carries compressed is
// unpacked here, when it is needed. Where few enough operations are in view, each of them is drawn.
const IN_DETAIL = 3000;
const NARROW_PX = 700;
const plots = {};
const options = {responsive: true, displayModeBar: false, doubleClick: "reset"};
let shown = null;
let following = 0;
const inView = new Set();

const operations = once(async (name) => {
  const all = await data(name);
  const summed = (steps, sum = 0) => steps.map((step) => (sum += step));
  all.index = summed(all.index);
  all.start = summed(all.start).map((us) => us / 1e6);
  all.end = all.start.map((start, i) => start + all.took[i] / 1e6);
  return all;
});

function hover(all, i, about) {
  const until = all.completed[i] ? `${all.end[i].toFixed(4)} s` : "never completed";
  return `${about}<br>index ${all.index[i]}, ${all.start[i].toFixed(4)} s to ${until}`;
}

const drawn = once(async (name) => {
  const place = document.getElementById(name);
  try {
    const [figure] = await Promise.all([data(name), library("plotly")]);
    place.whole = [...figure.layout.xaxis.range];
    place.overview = figure.data.map((trace) => ({...trace}));
    if (place.clientWidth < NARROW_PX) figure.layout.annotations = [];
    await Plotly.newPlot(place, figure.data, figure.layout, options);
  } catch (error) {
    place.textContent = `This figure cannot be drawn here: ${error}`;
    return;
  }
  plots[name] = place;
  place.on("plotly_relayout", (change) => follow(place, change));
  if (shown) await quietly(() => show(place));
});

// --- zoom -------------------------------------------------------------------------------------

function follow(source, change) {
  if (following) return;
  let range = change["xaxis.range"];
  if (!range && "xaxis.range[0]" in change) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (range) zoom(range, source);
}

async function zoom(range, source) {
  shown = [...range];
  if (source) source.shows = shown;
  await quietly(() => Promise.all(Object.values(plots).filter((plot) => inView.has(plot)).map(show)));
}

// What figures do while this goes on is our own doing, which nothing follows.
async function quietly(change) {
  following++;
  try {
    await change();
  } finally {
    following--;
  }
}

// What is out of view follows when it comes into view.
async function show(plot) {
  if (!shown || plot.shows === shown && plot.details === shown) return;
  const range = shown;
  if (plot.shows !== range) await Plotly.relayout(plot, {"xaxis.range": [...range]});
  plot.shows = plot.details = range;
  await detail(plot);
}

// Each operation in view instead of what was put together for the whole run, or back again.
async function detail(plot) {
  if (plot.id !== "timeline" && plot.id !== "latency") return;
  const all = await operations("operations");
  const [from, to] = shown;
  const seen = [];
  if (from > plot.whole[0] || to < plot.whole[1]) {
    for (let i = 0; i < all.start.length && seen.length <= IN_DETAIL; i++) {
      if (all.start[i] <= to && all.end[i] >= from) seen.push(i);
    }
  }
  const each = seen.length > 0 && seen.length <= IN_DETAIL;
  if (!each && !plot.detailed) return;
  plot.detailed = each;
  const draw = plot.id === "timeline" ? bars : points;
  await draw(plot, each ? seen : null, all);
}

async function bars(plot, seen, all) {
  const hovers = seen && await data("hovers");
  await redraw(plot, [1, 2, 3], ["base", "x", "y", "customdata", "hovertext"], (trace, number) => {
    if (!seen) return trace;
    const own = seen.filter((i) => all.outcome[i] === number - 1);
    return {
      base: own.map((i) => all.start[i]),
      x: own.map((i) => all.end[i] - all.start[i]),
      y: own.map((i) => all.row[i]),
      customdata: own.map((i) => all.index[i]),
      hovertext: own.map((i) => hover(all, i, hovers[i])),
    };
  });
}

async function points(plot, seen, all) {
  const traces = plot.overview.map((_, number) => number);
  await redraw(plot, traces, ["x", "y", "customdata"], (trace) => {
    if (!seen) return trace;
    const own = seen.filter((i) => all.completed[i]
      && all.f[i] === trace.meta.f && all.outcome[i] === trace.meta.outcome);
    return {
      x: own.map((i) => all.start[i]),
      y: own.map((i) => Math.max((all.end[i] - all.start[i]) * 1000, 0.001)),
      customdata: own.map((i) => all.index[i]),
    };
  });
}

async function redraw(plot, numbers, fields, make) {
  if (!numbers.length) return;
  const made = numbers.map((number) => make(plot.overview[number], number));
  const change = {};
  for (const field of fields) change[field] = made.map((trace) => trace[field]);
  await Plotly.restyle(plot, change, numbers);
}

// --- what is in view is drawn first -----------------------------------------------------------

const nearby = new IntersectionObserver(async (entries) => {
  for (const {isIntersecting, target} of entries) {
    if (!isIntersecting) {
      inView.delete(target);
      continue;
    }
    inView.add(target);
    await drawn(target.id);
    if (plots[target.id]) await quietly(() => show(target));
  }
}, {rootMargin: "300px"});
for (const place of document.querySelectorAll(".plot")) nearby.observe(place);

// The others when there is nothing else to do: a page is printed as it is.
window.addEventListener("load", () => setTimeout(async () => {
  for (const place of document.querySelectorAll(".plot")) {
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
    await drawn(place.id);
  }
}, 2000));

// --- from a finding to its moment -------------------------------------------------------------

async function go(from, to) {
  const plot = document.getElementById("timeline") ?? document.getElementById("lanes");
  if (!plot) return;
  const room = Math.max(0.25, (to - from) / 2);
  await drawn(plot.id);
  document.getElementById("timeline-part").scrollIntoView({block: "start", behavior: "instant"});
  inView.add(plot);
  await zoom([from - room, to + room]);
}

function element(tag, content, attributes = {}) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...[content].flat());
  return made;
}

async function showFinding(button) {
  const {finding, from, to} = button.dataset;
  const moments = (await data("around"))[finding] ?? [];
  const article = document.getElementById(finding);
  const panel = document.getElementById("around");
  const rows = moments.map((moment) => element("tr", [
    element("td", moment.time.toFixed(3), {className: "n"}), element("td", moment.who),
    element("td", moment.what, {className: `prose ${moment.kind}`}),
  ]));
  const diagram = element("div", [], {className: "scroll", tabIndex: 0});
  diagram.innerHTML = (await data("spacetime"))[finding] ?? "";
  const proof = [...article.querySelectorAll(".scroll.tall")].map((table) => table.cloneNode(true));
  panel.replaceChildren(
    element("h3", article.querySelector(".message").textContent),
    element("p", element("a", "back to the finding", {href: `#${finding}`})),
    ...(diagram.firstChild ? [element("h3", "Between nodes, as far as they wrote it down"), diagram] : []),
    ...(proof.length ? [element("h3", "What proves it")] : []),
    ...proof,
    element("h3", rows.length ? "Around it: faults, what nodes became, what they logged"
      : "Nothing is known of what nodes did or logged around it"),
    element("div", element("table", element("tbody", rows)), {className: "scroll tall", tabIndex: 0}),
  );
  panel.hidden = false;
  await go(Number(from), Number(to));
  panel.focus({preventScroll: true});
}

async function showOperation() {
  const match = /^#op-(\d+)$/.exec(location.hash);
  if (!match) return;
  const all = await operations("operations");
  const i = all.index.indexOf(Number(match[1]));
  if (i < 0) return;
  await go(all.start[i], all.end[i]);
  const plot = plots.timeline;
  if (!plot) return;
  const marks = plot.data.length - 1;
  const point = plot.data[marks].customdata.indexOf(all.index[i]);
  if (point >= 0) Plotly.Fx.hover(plot, [{curveNumber: marks, pointNumber: point}]);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.show");
  if (button) showFinding(button);
  const link = event.target.closest('a[href^="#op-"]');
  if (!link) return;
  event.preventDefault();
  history.replaceState(null, "", link.getAttribute("href"));
  showOperation();
});
window.addEventListener("hashchange", showOperation);
window.addEventListener("load", showOperation);

// --- keyboard and print -----------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const plot = plots[event.target.id];
  if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
  const [from, to] = shown ?? plot.whole;
  const width = to - from;
  const ranges = {
    "+": [from + width / 4, to - width / 4], "=": [from + width / 4, to - width / 4],
    "-": [from - width / 2, to + width / 2],
    "ArrowLeft": [from - width / 4, to - width / 4], "ArrowRight": [from + width / 4, to + width / 4],
    "0": plot.whole,
  };
  if (!(event.key in ranges)) return;
  event.preventDefault();
  const range = ranges[event.key];
  zoom(range[1] - range[0] > plot.whole[1] - plot.whole[0] ? plot.whole : range);
});

// All of it: what is folded opens, and is folded again.
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("#checkers details:not([open])")) {
    part.open = part.dataset.printed = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details[data-printed]")) {
    part.open = false;
    delete part.dataset.printed;
  }
});
