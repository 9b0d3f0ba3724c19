// Figures, drawn when they come into view and zoomed together; links to an operation (#op-123)
// show it on the timeline. What the page carries compressed is unpacked here.
const plots = {};
const options = {
  responsive: true, displayModeBar: false, doubleClick: "reset",
};
let following = false;

async function text(name) {
  const packed = document.getElementById(`packed-${name}`).textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function once(make) {
  const made = {};
  return (name) => (made[name] ??= make(name));
}
const data = once(async (name) => JSON.parse(await text(name)));
const library = once(async () => {
  const script = document.createElement("script");
  script.textContent = await text("plotly");
  document.head.append(script);
});

function follow(source, change) {
  if (following) return;
  let range = change["xaxis.range"];
  if (!range && "xaxis.range[0]" in change) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (!range) return;
  zoom(range, source);
}

let shown = null;
function zoom(range, source) {
  shown = [...range];
  following = true;
  const others = Object.values(plots).filter((plot) => plot !== source);
  return Promise.all(others.map((plot) => Plotly.relayout(plot, {"xaxis.range": [...range]})))
    .finally(() => { following = false; });
}

const drawn = once(async (name) => {
  const [figure] = await Promise.all([data(name), library("plotly")]);
  const place = document.getElementById(name);
  if (shown) figure.layout.xaxis.range = [...shown];
  await Plotly.newPlot(place, figure.data, figure.layout, options);
  plots[name] = place;
  place.on("plotly_relayout", (change) => follow(place, change));
});

const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    nearby.unobserve(entry.target);
    drawn(entry.target.id);
  }
}, {rootMargin: "300px"});
for (const place of document.querySelectorAll(".plot")) nearby.observe(place);

async function showOperation() {
  const match = /^#op-(\d+)$/.exec(location.hash);
  const plot = document.getElementById("timeline");
  if (!match || !plot) return;
  const places = await data("places");
  if (!places[match[1]]) return;
  const [from, to] = places[match[1]];
  const room = Math.max(0.25, (to - from) * 2);
  await drawn("timeline");
  plot.scrollIntoView({block: "center", behavior: "instant"});
  await zoom([from - room, to + room]);
  const marks = plot.data.length - 1;
  const point = plot.data[marks].customdata.indexOf(Number(match[1]));
  if (point >= 0) Plotly.Fx.hover(plot, [{curveNumber: marks, pointNumber: point}]);
}
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#op-"]');
  if (!link) return;
  event.preventDefault();
  history.replaceState(null, "", link.getAttribute("href"));
  showOperation();
});
window.addEventListener("hashchange", showOperation);
window.addEventListener("load", showOperation);
