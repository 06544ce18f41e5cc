"""A real JupyterLab in a real browser, for tests; nothing of the user's own setup, no network."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

_SCREENSHOTS: Final = "FINSTAT_KIT_SCREENSHOTS"  # a folder, if pictures are wanted
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FOLDERS: Final = (
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "IPYTHONDIR",
    "MPLCONFIGDIR",
)
_SETTINGS: Final[dict[str, dict[str, object]]] = {
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}
expect.set_options(timeout=20_000)  # on a busy machine too

_RUN_ALL: Final = """async () => {
    const app = window.jupyterapp;
    const late = new Promise((_, reject) =>
        setTimeout(() => reject(new Error('the cells took more than a minute')), 60_000));
    const run = async () => {
        await app.restored;
        await app.shell.currentWidget.context.ready;
        await app.shell.currentWidget.sessionContext.ready;
        await app.commands.execute('notebook:run-all-cells');
    };
    await Promise.race([run(), late]);
    return app.shell.currentWidget.content.widgets
        .flatMap((cell) => cell.model.outputs?.toJSON() ?? [])
        .filter((output) => output.output_type === 'error')
        .map((output) => output.traceback.join('\\n'));
}"""


def chromium() -> str:
    """Return the path of the browser; skip where there is none, but never in CI."""
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found is not None:
        return found
    reason = "no Chromium here: apt-get install chromium"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def browser() -> Iterator[Browser]:
    path = chromium()
    quiet = ("background-networking", "component-update", "sync", "dev-shm-usage", "gpu")
    with sync_playwright() as playwright:
        shown = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--no-first-run", *(f"--disable-{what}" for what in quiet)],
        )
        yield shown
        shown.close()


@contextmanager
def jupyterlab(folder: Path, **kernels: object) -> Iterator[str]:
    """Serve a folder by JupyterLab; *kernels* are its settings for kernels. Gives the URL."""
    own = folder / ".jupyter"
    environment = {**os.environ, **{name: str(own / name.lower()) for name in _FOLDERS}}
    settings = _SETTINGS | {"apputils-extension/kernels-settings": kernels}
    for name, content in settings.items():
        file = own / f"jupyterlab_settings_dir/@jupyterlab/{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    port = _free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += ["--IdentityProvider.token=", "--ServerApp.password="]
    command += ["--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={folder}"]
    command += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url="]
    url = f"http://127.0.0.1:{port}"
    with (own / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait_for(f"{url}/api", server, own / "log")
            yield url
        finally:
            server.terminate()
            server.wait(30)


class Notebook:
    """A notebook open in JupyterLab, its cells run."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.errors: list[str] = []

    def cell(self, number: int) -> Locator:
        return self.page.locator(".jp-CodeCell").nth(number)

    def photograph(self, name: str, cell: int | None = None) -> None:
        """Save a picture of a cell's output, or of the page, if pictures are wanted."""
        if folder := os.environ.get(_SCREENSHOTS):
            path = Path(folder) / f"{self.name}-{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            shown = (
                self.page
                if cell is None
                else self.cell(cell).locator(".jp-OutputArea-output").first
            )
            shown.screenshot(path=path)


@contextmanager
def notebook(
    browser: Browser, url: str, folder: Path, name: str, cells: Sequence[str]
) -> Iterator[Notebook]:
    """Write a notebook, open it, run all its cells; at the end no error may have shown."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    # Without it JupyterLab would ask which kernel to take, and wait.
    book.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    (folder / f"{name}.ipynb").write_text(nbformat.writes(book), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.set_default_timeout(15_000)
    opened = Notebook(page, name)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    page.on(
        "console",
        lambda message: opened.errors.append(message.text) if message.type == "error" else None,
    )
    page.goto(f"{url}/doc/tree/{name}.ipynb?reset")
    page.wait_for_selector(".jp-CodeCell", timeout=60_000)
    raised = page.evaluate(_RUN_ALL)
    assert raised == []
    expect(page.locator(".jp-Notebook-ExecutionIndicator")).to_have_attribute(
        "data-status", "idle", timeout=30_000
    )
    yield opened
    assert opened.errors == []
    page.close()


def until_drawn(cell: Locator, title: str) -> None:
    """Wait until what is shown has a heading."""
    heading = cell.locator(".fk-line, .fk-panel").get_by_text(title, exact=True)
    expect(heading).to_be_visible()


def set_theme(page: Page, name: str) -> None:
    """Choose ``Light`` or ``Dark``, and wait until its style sheet is in force."""
    theme = f"JupyterLab {name}"
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
    )
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", theme)
    page.wait_for_function(
        "dark => (getComputedStyle(document.body).getPropertyValue('--jp-layout-color0')"
        ".trim() === '#111') === dark",
        arg=name == "Dark",
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text(errors='replace')}")
