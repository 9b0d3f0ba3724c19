// Figures, zoomed together; links to an operation (#op-123) show it on the timeline.
const plots = {};
const options = {
  responsive: true, displayModeBar: false, doubleClick: "reset",
};
let following = false;

function follow(source, change) {
  if (following) return;
  let range = change["xaxis.range"];
  if (!range && "xaxis.range[0]" in change) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (!range) return;
  following = true;
  const others = Object.values(plots).filter((plot) => plot !== source);
  Promise.all(others.map((plot) => Plotly.relayout(plot, {"xaxis.range": [...range]})))
    .finally(() => { following = false; });
}

for (const [name, figure] of Object.entries(figures)) {
  const place = document.getElementById(name);
  if (!place) continue;
  Plotly.newPlot(place, figure.data, figure.layout, options).then(() => {
    plots[name] = place;
    place.on("plotly_relayout", (change) => follow(place, change));
  });
}

function showOperation() {
  const match = /^#op-(\d+)$/.exec(location.hash);
  const plot = document.getElementById("timeline");
  if (!match || !plot || !places[match[1]]) return;
  const [from, to] = places[match[1]];
  const room = Math.max(0.25, (to - from) * 2);
  plot.scrollIntoView({block: "center", behavior: "instant"});
  Plotly.relayout(plot, {"xaxis.range": [from - room, to + room]}).then(() => {
    const marks = plot.data.length - 1;
    const point = plot.data[marks].customdata.indexOf(Number(match[1]));
    if (point >= 0) Plotly.Fx.hover(plot, [{curveNumber: marks, pointNumber: point}]);
  });
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
