// A click is a message to the kernel, which answers with a file, or with code to show.

function button(kind, onclick) {
  const made = document.createElement("button");
  made.className = `jupyter-button widget-button fk-${kind}`;
  made.addEventListener("click", onclick);
  return made;
}

function render({ model, el }) {
  const [row, code] = [document.createElement("div"), document.createElement("pre")];
  const status = document.createElement("small");
  const copy = button("copy", () => {
    getSelection().selectAllChildren(code);
    document.execCommand("copy"); // navigator.clipboard needs a secure page
  });
  const kinds = model.get("kinds").map((kind) => [kind, button(kind, () => model.send({ kind }))]);
  code.tabIndex = 0;
  status.setAttribute("role", "status");
  row.append(...kinds.map(([, made]) => made), copy, status);
  el.append(row, code);

  function draw() {
    const { hints, ...texts } = model.get("texts");
    for (const [kind, made] of [...kinds, ["copy", copy]]) {
      made.textContent = texts[kind] ?? kind;
      made.title = hints[kind] ?? made.textContent;
    }
    code.textContent = model.get("code");
    code.hidden = copy.hidden = !code.textContent;
    row.querySelector(".fk-code")?.setAttribute("aria-expanded", String(!code.hidden));
    status.textContent = model.get("note");
  }
  function save({ name }, [data]) {
    const link = document.createElement("a");
    Object.assign(link, { href: URL.createObjectURL(new Blob([data])), download: name });
    el.append(link); // where a host that handles links itself sees the click
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  model.on("change", draw);
  model.on("msg:custom", save);
  draw();
  return () => {
    model.off("change", draw);
    model.off("msg:custom", save);
  };
}

export default { render };
