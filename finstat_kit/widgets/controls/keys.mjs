// JupyterLab treats letters, arrows and Enter in a drop-down or on a button as shortcuts: M would
// turn the cell into text. Marked boxes keep their keys; Ctrl and Cmd stay JupyterLab's.

function render() {
  const gone = new AbortController();
  const keep = ({ target, ctrlKey, metaKey }) => {
    if (!target.closest?.(".fk-picker")) return;
    // On the control itself: further up would be too late.
    target.toggleAttribute("data-lm-suppress-shortcuts", !(ctrlKey || metaKey));
  };
  // On the window: JupyterLab itself listens before the event gets to the control.
  window.addEventListener("keydown", keep, { capture: true, signal: gone.signal });
  return () => gone.abort();
}

export default { render };
