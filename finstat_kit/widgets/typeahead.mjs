// The list is here once: typing asks the kernel nothing, only a choice is told to it.

const SHOWN = 50;

const fold = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\s+/g, " ").trim();

function entry([code, name, detail, district, region]) {
  const folded = fold(name);
  const words = folded.split(/[ -]/);
  return { code, name, detail, district, region, folded, words };
}

// 0 for a name or code that begins so, 1 for a word that does, 2 for any other hit.
function rank(sought, { code, folded, words }) {
  if (folded.startsWith(sought) || code.toLowerCase().startsWith(sought)) return 0;
  if (words.some((word) => word.startsWith(sought))) return 1;
  return folded.includes(sought) ? 2 : 3;
}

function matching(entries, text, within) {
  const sought = fold(text);
  const inside = ({ district, region }) => !within || within === district || within === region;
  if (!sought) return { here: entries.filter(inside), elsewhere: [] };
  const ranked = [[], [], []];
  for (const one of entries) ranked[rank(sought, one)]?.push(one);
  const hits = ranked.flat();
  return { here: hits.filter(inside), elsewhere: hits.filter((one) => !inside(one)) };
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function render({ model, el }) {
  // Not counted: each field may load this file anew.
  const id = `fk-typeahead-${Math.random().toString(36).slice(2)}`;
  const gone = new AbortController();
  const label = make("label", { className: "widget-label", htmlFor: `${id}-input` });
  const input = make("input", {
    id: `${id}-input`, type: "text", role: "combobox", autocomplete: "off", spellcheck: false,
  });
  const clear = make("button", { type: "button", className: "fk-clear", textContent: "×" });
  const list = make("ul", { id: `${id}-list`, role: "listbox", popover: "manual" });
  const field = make("div", { className: "fk-field" }, input, clear, list);
  // The classes of ipywidgets' own fields, so that this one stands in line with them.
  el.classList.add("jupyter-widgets", "widget-inline-hbox", "widget-text", "fk-typeahead");
  el.append(label, field);
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);

  // In the browser's top layer: the boxes of a notebook would cut the list off.
  const isOpen = () => list.matches(":popover-open");
  function show() {
    if (!isOpen()) list.showPopover();
    const { left, top, bottom, width } = input.getBoundingClientRect();
    const below = innerHeight - bottom;
    const upwards = below < 200 && top > below;
    Object.assign(list.style, {
      left: `${left}px`,
      top: upwards ? "auto" : `${bottom}px`,
      bottom: upwards ? `${innerHeight - top}px` : "auto",
      minWidth: `${width}px`,
      maxHeight: `${Math.min(320, (upwards ? top : below) - 8)}px`,
    });
  }

  let entries = [];
  let offered = [];
  let active = -1;

  const chosen = () => entries.find(({ code }) => code === model.get("value"));
  const showChosen = () => {
    input.value = chosen()?.name ?? "";
    clear.hidden = !input.value;
  };
  const choose = (code) => {
    model.set("value", code);
    model.save_changes();
  };

  function close() {
    if (isOpen()) list.hidePopover();
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function option(one, place) {
    const item = make("li", { id: `${id}-${place}`, role: "option" }, one.name);
    item.append(make("small", { textContent: one.detail }));
    item.dataset.place = place;
    return item;
  }

  function open() {
    const text = input.value === chosen()?.name ? "" : input.value;
    const { here, elsewhere } = matching(entries, text, model.get("within"));
    const texts = model.get("texts");
    const note = (words) => make("li", { role: "presentation", className: "fk-note" }, words);
    offered = [...here, ...elsewhere].slice(0, SHOWN);
    const lines = offered.map(option);
    const left = here.length + elsewhere.length - offered.length;
    if (elsewhere.length && here.length < SHOWN) lines.splice(here.length, 0, note(texts.elsewhere));
    if (left) lines.push(note(texts.more.replace("{n}", left)));
    if (!offered.length) lines.push(note(texts.none));
    list.replaceChildren(...lines);
    show();
    list.scrollTop = 0;
    input.setAttribute("aria-expanded", "true");
    activate(text && offered.length ? 0 : -1);
  }

  function activate(place) {
    active = place;
    for (const item of list.querySelectorAll("[role=option]")) {
      item.setAttribute("aria-selected", String(Number(item.dataset.place) === place));
    }
    const item = list.querySelector("[aria-selected=true]");
    if (item) {
      input.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function take(place) {
    const { code } = offered[place];
    close();
    choose(code);
    showChosen();
  }

  const keys = {
    ArrowDown: () => (!isOpen() ? open() : activate(Math.min(active + 1, offered.length - 1))),
    ArrowUp: () => isOpen() && activate(Math.max(active - 1, 0)),
    Enter: () => isOpen() && active >= 0 && take(active),
    Escape: () => (close(), showChosen()),
  };

  input.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  input.addEventListener("input", () => {
    clear.hidden = !input.value;
    if (!input.value) choose("");
    open();
  });
  input.addEventListener("click", open);
  input.addEventListener("focus", () => input.select());
  // What was typed and not chosen is no choice: the field goes back to what is chosen.
  input.addEventListener("blur", () => (close(), showChosen()));
  clear.addEventListener("click", () => {
    choose("");
    showChosen();
    input.focus();
  });
  // Pressing the mouse on the list must not take the focus away before the click arrives.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    if (item) take(Number(item.dataset.place));
  });

  function takeItems() {
    entries = model.get("items").map(entry);
    showChosen();
  }
  function takeTexts() {
    const texts = model.get("texts");
    label.textContent = texts.label;
    label.title = texts.label;
    input.placeholder = texts.placeholder;
    clear.title = texts.clear;
    clear.setAttribute("aria-label", texts.clear);
    list.setAttribute("aria-label", texts.label);
  }
  // The list does not move with the page.
  const scrolled = (event) => !list.contains(event.target) && close();
  document.addEventListener("scroll", scrolled, { capture: true, signal: gone.signal });

  model.on("change:items", takeItems);
  model.on("change:texts", takeTexts);
  model.on("change:value", showChosen);
  takeItems();
  takeTexts();
  close();
  return () => {
    gone.abort();
    model.off("change:items", takeItems);
    model.off("change:texts", takeTexts);
    model.off("change:value", showChosen);
  };
}

export default { render };
