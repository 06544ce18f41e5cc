"""The templates of a register: its forms, fetched once and kept with it."""

from __future__ import annotations

import threading
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.kept import kept_for_the_day
from finstat_kit.client.keywords import Checked
from finstat_kit.client.session import Session
from finstat_kit.errors import NotFound
from finstat_kit.frames import templates as frames
from finstat_kit.protocol import requests
from finstat_kit.protocol.forms import Form
from finstat_kit.transport import forks

_HIGHEST: Final = 2**31 - 1  # what a column `template` holds


class Forms:
    """The templates of a register, each requested once, unknown ones included.

    Threads that need the same template wait for the one that requests it.
    """

    def __init__(self) -> None:
        self._kept: dict[int, Form | None] = {}
        self._listed: list[Form] | None = None
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.Lock()

    def listed(self, session: Session, *, refresh: bool) -> list[tuple[Form, bool]]:
        """Return every template, and whether its tables are known."""
        with self._lock:
            if self._listed is None or refresh:
                self._listed, with_tables = kept_for_the_day(
                    session, requests.templates(), refresh=refresh
                )
                if with_tables:
                    self._kept |= {form.id: form for form in self._listed}
            kept = [self._kept.get(form.id) for form in self._listed]
            return [
                (form if one is None else one, one is not None)
                for form, one in zip(self._listed, kept, strict=True)
            ]

    def get(
        self,
        template: int,
        session: Session,
        *,
        refresh: bool = False,
        stop: threading.Event | None = None,
    ) -> Form | None:
        """Return a template, None where the register has none of that id."""
        with self._lock:
            if template not in self._kept or refresh:
                try:
                    self._kept[template] = kept_for_the_day(
                        session, requests.template(template), stop, refresh=refresh
                    )
                except NotFound:
                    self._kept[template] = None
            return self._kept[template]


class Templates(Checked):
    """The methods of a register that describe its forms."""

    def _now(self) -> Templates:
        """Return the register that answers a call, the same one for the whole call."""
        return self

    def _form(
        self, template: int, *, refresh: bool, stop: threading.Event | None = None
    ) -> Form | None:
        raise NotImplementedError

    def _own_session(self) -> Session:
        raise NotImplementedError

    def _listed_forms(self, *, refresh: bool) -> list[tuple[Form, bool]]:
        raise NotImplementedError

    def templates(self, *, refresh: bool = False) -> pl.DataFrame:
        """List the register's templates: every form that reports are filed on.

        From ``/api/sablony``, fetched once per register.

        Args:
            refresh: Fetch again.

        Returns:
            ``id`` (Int64), ``name``, ``decree`` (String), ``valid_from``, ``valid_to`` (Date;
            the register fills no end) and ``tables`` (Int16: how many the form has; most have
            none; null if the list has no tables), sorted by id.

        Raises:
            ProtocolError: The reply breaks the register's format.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.templates().filter(id=699).row(0)
            (699, 'Úč POD', 'MF/18009/2014-74', datetime.date(2014, 1, 1), None, 3)
        """
        return frames.listed(self._now()._listed_forms(refresh=refresh))

    def template(self, template: int, *, refresh: bool = False) -> pl.DataFrame:
        """List the rows of a form: captions, and the sums that they state.

        From ``/api/sablona``, fetched once per register.

        Args:
            template: Id of a template, such as 699 (businesses), 687 (micro), 21 and 22
                (businesses until 2013); the ``idSablony`` of reports.
            refresh: Fetch again.

        Returns:
            One row per row of the form, in its order: ``table``, ``row`` (Int16, both from 0: the
            key), ``number`` (Int32, as printed; it repeats, some forms have none), ``mark``
            (String, as printed; it repeats and has misprints), ``path`` (String, the mark
            completed from the rows above, ``A.I.2.``; null for totals and results), ``level``
            (Int8, 0 for totals), ``label_sk``, ``label_en`` (String, English where the register
            has it) and ``terms`` (List of Struct ``sign`` Int8, ``table`` Int16, ``row`` Int16;
            null where the caption states no sum). A template without tables has no rows.

        Raises:
            NotFound: The register has no such template.
            ProtocolError: The reply breaks the register's format.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.template(699).row(1, named=True)["label_en"]
            'Non-current assets line 03 + line 11 + line 21'
        """
        return frames.rows_of(self._known_form(template, refresh))

    def template_columns(self, template: int, *, refresh: bool = False) -> pl.DataFrame:
        """List the data columns of a form, as its header names them.

        From ``/api/sablona``, fetched once per register.

        Args:
            template: Id of a template, as in `template`.
            refresh: Fetch again.

        Returns:
            One row per data column: ``table``, ``column`` (Int16, both from 0), ``period`` (Enum
            ``current``, ``previous``; null where the form has no periods), ``measure`` (Enum
            ``gross``, ``correction``, ``net``, ``main``, ``business``, ``total``, ``untaxed``,
            ``taxed``, ``other``; null where the header names nothing but a period),
            ``header_sk``, ``header_en`` (String, the header's cells from top to bottom).

        Raises:
            NotFound: The register has no such template.
            ProtocolError: The reply breaks the register's format.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.template_columns(699).select("table", "column", "period", "measure").rows()
            [(0, 0, 'current', 'gross'), (0, 1, 'current', 'correction'), (0, 2, 'current', 'net'),
             (0, 3, 'previous', 'net'), (1, 0, 'current', None), (1, 1, 'previous', None),
             (2, 0, 'current', None), (2, 1, 'previous', None)]
        """
        return frames.columns_of(self._known_form(template, refresh))

    def _known_form(self, template: int, refresh: bool) -> Form:
        checked = arguments.whole("template", template, 0, _HIGHEST)
        form = self._now()._form(checked, refresh=refresh)
        if form is None:
            raise NotFound(
                f"the register has no template {checked}; fk.templates() lists those it has",
                ids=[checked],
            )
        return form
