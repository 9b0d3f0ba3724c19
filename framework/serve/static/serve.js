// The parts of a page that change while it is looked at, fetched again; without this all else works.
const EVERY_MS = 1000;
const connection = document.getElementById("connection");

async function refresh(part, address) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.status);
    if (answer.headers.get("X-Ended")) return location.reload();
    const text = await answer.text();
    connection.textContent = "";
    connection.className = "";
    if (text !== part.shown) replaced(part, text);
  } catch {
    connection.textContent = "no answer: has serve ended?";
    connection.className = "lost";
  }
}

function replaced(part, text) {
  const ticked = new Set([...part.querySelectorAll("input:checked")].map((box) => box.value));
  const focused = part.contains(document.activeElement) && document.activeElement.value;
  part.innerHTML = text;
  part.shown = text;
  for (const box of part.querySelectorAll("input")) {
    box.checked = ticked.has(box.value);
    if (focused && box.value === focused) box.focus();
  }
  allow();
}

// One after the other, and only while somebody looks.
for (const part of document.querySelectorAll("[data-address]")) {
  (async () => {
    for (;;) {
      await new Promise((later) => setTimeout(later, EVERY_MS));
      if (!document.hidden) await refresh(part, part.dataset.address);
    }
  })();
}

function allow() {
  const button = document.getElementById("compare");
  if (button) button.disabled = document.querySelectorAll("#rows input:checked").length !== 2;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("#rows input")) return allow();
  if (event.target.matches(".filter select")) event.target.form.requestSubmit();
});
allow();
