// The list is sent once: typing sends nothing to the kernel, only a choice is sent. Where the list
// would be too long, the kernel searches: the text is sent, and the matching entries come back.

const SHOWN = 100;
const PAGE = 8;
const NEIGHBOURS = 5; // of each other field
const PAUSE = 150; // milliseconds without a further letter before a text is sent

const fold = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

function entry([code, name, detail, district, region, key]) {
  const folded = fold(name);
  return { code, name, detail, district, region, key, folded, words: folded.split(" ") };
}

// 0 if a name, code or key starts with the text, 1 if its words do, in any order, 2 for other
// matches. Keys are numbers, which people write in groups or without their leading zeros.
function rank(sought, { code, key, folded, words }) {
  if (folded.startsWith(sought) || code.toLowerCase().startsWith(sought)) return 0;
  const number = sought.replaceAll(" ", "");
  if ([key, key?.replace(/^0+/, "")].some((written) => written?.startsWith(number))) return 0;
  const begun = (part) => words.some((word) => word.startsWith(part));
  if (sought.split(" ").every(begun)) return 1;
  return folded.includes(sought) ? 2 : 3;
}

const inside = ({ district, region }, within) =>
  !within || within === district || within === region;

function matching(entries, sought, within) {
  const here = (one) => inside(one, within);
  if (!sought) return { here: entries.filter(here), elsewhere: [] };
  const ranked = [[], [], []];
  for (const one of entries) ranked[rank(sought, one)]?.push(one);
  const hits = ranked.flat();
  return { here: hits.filter(here), elsewhere: hits.filter((one) => !here(one)) };
}

// The only entry that a text can mean: an exact name precedes all that contain it.
function meant(sought, { here, elsewhere }) {
  const exact = (hits) => hits.filter(({ folded }) => folded === sought);
  const among = [exact(here), exact(elsewhere), here, elsewhere].find((hits) => hits.length);
  return among?.length === 1 ? among[0] : undefined;
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
  // Not in the tab order: Tab leads to the next field, and an emptied text clears too.
  const clear = make("button", {
    type: "button", className: "fk-clear", textContent: "×", tabIndex: -1,
  });
  const list = make("ul", { id: `${id}-list`, role: "listbox", popover: "manual" });
  const field = make("div", { className: "fk-field" }, input, clear, list);
  // The classes of ipywidgets' own fields, to align with them.
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
      maxWidth: `${innerWidth - left - 8}px`,
      maxHeight: `${Math.min(320, (upwards ? top : below) - 8)}px`,
    });
  }

  let entries = [];
  let offered = [];
  let active = -1;
  let typing = false; // the text in the field differs from the choice
  let awaiting; // what Enter or Tab does once the kernel has found the text

  const chosen = () => entries.find(({ code }) => code === model.get("value"));
  const find = (sought) => matching(entries, sought, "").here;
  el.fk = { chosen, find, choose, label: () => model.get("texts").label };

  const fields = () => [...(el.closest(".fk-picker")?.querySelectorAll(".fk-typeahead") ?? [])];

  // Read from the fields above: the kernel's update after a choice there may still be pending.
  function within() {
    const all = fields();
    if (!all.length) return model.get("within");
    const above = all.slice(0, all.indexOf(el)).map(({ fk }) => fk.chosen());
    return above.reduce((code, one) => (one && inside(one, code) ? one.code : code), "");
  }

  // What no entry of this field matches may be in another one, which is then named.
  function neighbours(sought) {
    const others = fields().filter((one) => one !== el);
    return others.map(({ fk }) => {
      const hits = fk.find(sought).slice(0, NEIGHBOURS);
      return [fk.label(), hits.map((one) => ({ ...one, field: fk }))];
    });
  }

  const isSearched = () => model.get("searched");
  const isFound = () => model.get("found").text === input.value.trim();

  function matches(sought) {
    if (!isSearched()) return matching(entries, sought, within());
    const codes = isFound() ? model.get("found").codes : [];
    return { here: codes.map((code) => entries.find((one) => one.code === code)), elsewhere: [] };
  }

  let pause;
  function search(after = PAUSE) {
    clearTimeout(pause);
    if (!isSearched() || !input.value.trim()) return;
    pause = setTimeout(() => {
      model.set("sought", input.value.trim());
      model.save_changes();
    }, after);
  }

  function showChosen() {
    // An update from the kernel must not overwrite a text being typed.
    if (typing) return;
    input.value = chosen()?.name ?? "";
    clear.hidden = !input.value;
    // The next letter starts a new text.
    if (input.matches(":focus")) input.select();
  }
  function choose(code) {
    typing = false;
    awaiting = undefined;
    close();
    if (code !== model.get("value")) {
      model.set("value", code);
      model.save_changes();
    }
    showChosen();
  }
  function giveUp() {
    typing = false;
    awaiting = undefined;
    close();
    showChosen();
  }
  function take({ code, field }) {
    if (!field) return choose(code);
    giveUp();
    field.choose(code);
  }

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
    if (isSearched() && !(typing && input.value.trim())) return close();
    const sought = typing ? fold(input.value) : "";
    const { here, elsewhere } = matches(sought);
    const texts = model.get("texts");
    const note = (words) => make("li", { role: "presentation", className: "fk-note" }, words);
    offered = [...here, ...elsewhere].slice(0, SHOWN);
    const lines = offered.map(option);
    const more = isSearched() && isFound() ? model.get("found").more : 0;
    const left = here.length + elsewhere.length - offered.length + more;
    if (elsewhere.length && here.length < SHOWN) lines.splice(here.length, 0, note(texts.elsewhere));
    if (left) lines.push(note(texts.more.replace("{n}", left)));
    if (!offered.length) {
      for (const [name, hits] of neighbours(sought)) {
        if (hits.length) lines.push(note(texts.in_field.replace("{label}", name)));
        lines.push(...hits.map((one) => option(one, offered.push(one) - 1)));
      }
    }
    if (!lines.length) lines.push(note(isSearched() && !isFound() ? texts.searching : texts.none));
    list.replaceChildren(...lines);
    show();
    list.scrollTop = 0;
    input.setAttribute("aria-expanded", "true");
    if (typing) activate(sought && offered.length ? 0 : -1);
    else activate(offered.indexOf(chosen()));
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

  const emptied = () => typing && !input.value.trim();
  // Whether the kernel is still searching for the text; it then does *what* with the outcome.
  function isAwaited(what) {
    if (!isSearched() || !typing || emptied() || isFound()) return false;
    awaiting ??= what;
    search(0);
    return true;
  }

  function enter() {
    if (isAwaited(enter)) return;
    if (isOpen() && active >= 0) take(offered[active]);
    else if (emptied()) choose("");
  }
  // Searched anew: the list may be closed, and Tab must not take its first entry by default.
  function leave() {
    if (isAwaited(leave)) return close();
    const sought = typing ? fold(input.value) : "";
    const one = sought && meant(sought, matches(sought));
    if (one) choose(one.code);
    else if (emptied()) choose("");
    else giveUp();
  }

  const move = (to) => () => {
    if (isOpen() && offered.length) activate(Math.max(0, Math.min(to(), offered.length - 1)));
  };
  const always = {
    ArrowDown: () => (isOpen() ? move(() => active + 1)() : open()),
    ArrowUp: move(() => active - 1),
    Enter: enter,
    Escape: giveUp,
  };
  const inTheList = {
    Home: move(() => 0),
    End: move(() => offered.length - 1),
    PageUp: move(() => active - PAGE),
    PageDown: move(() => active + PAGE),
  };

  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Tab") leave();
    const act = always[event.key] ?? (isOpen() ? inTheList[event.key] : undefined);
    if (!act) return;
    event.preventDefault();
    act();
  });
  input.addEventListener("input", () => {
    typing = true;
    awaiting = undefined;
    clear.hidden = !input.value;
    search();
    open();
  });
  input.addEventListener("click", open);
  input.addEventListener("focus", () => input.select());
  // Typed text without a choice is discarded: the field shows the former choice again.
  input.addEventListener("blur", () => awaiting || giveUp());
  clear.addEventListener("click", () => {
    choose("");
    input.focus();
  });
  // Pressing the mouse on the list must not take the focus away before the click arrives.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    if (item) take(offered[Number(item.dataset.place)]);
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

  // What matches a text that is still in the field is listed at once.
  function takeFound() {
    entries = model.get("items").map(entry);
    if (!isFound()) return;
    const act = awaiting;
    awaiting = undefined;
    if (isOpen() || act === enter) open();
    act?.();
    if (act && !input.matches(":focus")) giveUp();
  }

  model.on("change:items", takeItems);
  model.on("change:found", takeFound);
  model.on("change:texts", takeTexts);
  model.on("change:value", showChosen);
  takeItems();
  takeTexts();
  close();
  return () => {
    gone.abort();
    clearTimeout(pause);
    model.off("change:found", takeFound);
    model.off("change:items", takeItems);
    model.off("change:texts", takeTexts);
    model.off("change:value", showChosen);
  };
}

export default { render };
