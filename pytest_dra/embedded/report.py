"""Collecting the causes of a 422, in the words and reasons of the API."""

from __future__ import annotations

from pytest_dra.embedded.errors import Cause


class Report:
    """A growing list of causes. ``path`` is always the field as the API names it."""

    __slots__ = ("causes",)

    def __init__(self) -> None:
        self.causes: list[Cause] = []

    def required(self, path: str, why: str = "") -> None:
        """Something that must be set is not."""
        self.causes.append(Cause(path, "FieldValueRequired", f"Required value{_why(why)}"))

    def invalid(self, path: str, value: object, why: str) -> None:
        """A value breaks its format or a rule."""
        self.causes.append(
            Cause(path, "FieldValueInvalid", f"Invalid value: {_short(value)}{_why(why)}")
        )

    def duplicate(self, path: str, value: object) -> None:
        """A value that must be unique is there twice."""
        self.causes.append(Cause(path, "FieldValueDuplicate", f"Duplicate value: {_short(value)}"))

    def forbidden(self, path: str, why: str) -> None:
        """A field may not be set, or not be changed, here."""
        self.causes.append(Cause(path, "FieldValueForbidden", f"Forbidden{_why(why)}"))

    def not_supported(self, path: str, value: object, known: tuple[str, ...]) -> None:
        """An enumeration does not have the value."""
        listed = ", ".join(f'"{text}"' for text in known)
        self.causes.append(
            Cause(
                path,
                "FieldValueNotSupported",
                f"Unsupported value: {_short(value)}: supported values: {listed}",
            )
        )

    def not_found(self, path: str, value: object) -> None:
        """A reference leads nowhere."""
        self.causes.append(Cause(path, "FieldValueNotFound", f"Not found: {_short(value)}"))

    def too_many(self, path: str, count: int, limit: int) -> None:
        """A list has too many items."""
        self.causes.append(
            Cause(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} items")
        )

    def too_long(self, path: str, limit: int) -> None:
        """A text has too many bytes."""
        self.causes.append(
            Cause(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")
        )

    def format(self, path: str, value: str, error: str) -> None:
        """Note the ``error`` of a name check; nothing if it is ""."""
        if error:
            self.invalid(path, value, error)


def _short(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 120 else text[:117] + "..."


def _why(why: str) -> str:
    return f": {why}" if why else ""
