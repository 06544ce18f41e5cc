// JupyterLab treats letters, arrows and Enter in a drop-down or on a button as shortcuts: M would
// turn the cell into text. Marked boxes keep their keys; Ctrl and Cmd stay JupyterLab's.

function render({ model, el }) {
  const gone = new AbortController();
  // The box is there only when all its controls are made.
  function say() {
    if (gone.signal.aborted) return;
    if (el.isConnected) el.closest(".fk-picker").lang = model.get("lang");
    else requestAnimationFrame(say);
  }
  const keep = ({ target, ctrlKey, metaKey }) => {
    if (!target.closest?.(".fk-picker")) return;
    // On the control itself: further up would be too late.
    target.toggleAttribute("data-lm-suppress-shortcuts", !(ctrlKey || metaKey));
  };
  // On the window: JupyterLab itself listens before the event gets to the control.
  window.addEventListener("keydown", keep, { capture: true, signal: gone.signal });
  model.on("change:lang", say);
  say();
  return () => {
    gone.abort();
    model.off("change:lang", say);
  };
}

export default { render };
