// The picture is the kernel's; here its tiles become buttons.

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function beside(tiles, from, [dx, dy]) {
  const far = (tile) => {
    const [x, y] = [tile.dataset.x - from.dataset.x, tile.dataset.y - from.dataset.y];
    const along = x * dx + y * dy;
    return along > 0 ? along + 2 * Math.abs(x * dy + y * dx) : Infinity;
  };
  return tiles.reduce((best, tile) => (far(tile) < far(best) ? tile : best), from);
}

function render({ model, el }) {
  const box = document.createElement("div");
  const hint = Object.assign(document.createElement("p"), { className: "fk-hint" });
  el.append(box, hint);
  const tileOf = (event) => event.target.closest?.("[data-code]");
  const said = (tile) => tile.querySelector("title").textContent;
  const tiles = () => [...box.querySelectorAll("[data-code]")];

  function point(tile) {
    for (const one of tiles()) one.setAttribute("tabindex", one === tile ? "0" : "-1");
  }
  function rest() {
    const focused = box.querySelector("[data-code]:focus");
    hint.textContent = focused ? said(focused) : model.get("hint");
  }
  function choose(code) {
    model.set("value", code);
    model.save_changes();
  }

  function draw() {
    const before = box.querySelector("[data-code]:focus")?.dataset.code ?? "";
    // Parsed outside the page, where no script runs; the names in it were escaped.
    const parsed = new DOMParser().parseFromString(model.get("picture"), "text/html");
    box.replaceChildren(...parsed.body.childNodes);
    box.querySelector("svg")?.setAttribute("role", "group");
    for (const tile of tiles()) {
      tile.setAttribute("role", "button");
      tile.setAttribute("aria-label", said(tile));
      tile.setAttribute("aria-pressed", String(tile.hasAttribute("aria-current")));
    }
    // The keyboard focus stays on the same tile, or on that of the region around it.
    const same = tiles().find(({ dataset }) => before.startsWith(dataset.code));
    const first = box.querySelector("[aria-current]") ?? same ?? tiles()[0];
    point(first);
    if (before) first?.focus();
    rest();
  }

  box.addEventListener("click", (event) => {
    const tile = tileOf(event);
    if (tile) choose(tile.dataset.code);
  });
  box.addEventListener("keydown", (event) => {
    const tile = tileOf(event);
    if (!tile) return;
    if (event.key in STEPS) {
      const next = beside(tiles(), tile, STEPS[event.key]);
      point(next);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") choose(tile.dataset.code);
    else if (event.key === "Escape") choose(model.get("up"));
    else return;
    event.preventDefault();
  });
  box.addEventListener("focusin", (event) => {
    const tile = tileOf(event);
    if (tile) point(tile);
    rest();
  });
  box.addEventListener("focusout", () => (hint.textContent = model.get("hint")));
  box.addEventListener("pointerover", (event) => {
    const tile = tileOf(event);
    if (tile) hint.textContent = said(tile);
    else rest();
  });
  box.addEventListener("pointerleave", rest);

  model.on("change:picture", draw);
  model.on("change:hint", rest);
  draw();
  return () => {
    model.off("change:picture", draw);
    model.off("change:hint", rest);
  };
}

export default { render };
