// What the page carries compressed, unpacked when it is needed.
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
