"""Every error that hush raises on purpose, grouped by cause::

    HushError
    ├── InputError (a ValueError)  the caller passed something wrong: the same call fails again
    │   ├── SchemaError     an attribute or a schema that makes no sense
    │   ├── RecordError     a record that does not fit the schema: names attribute and rule, never the value
    │   ├── DesignError     a plan that cannot be designed as asked
    │   ├── PlanError       a plan or channel that is malformed, or not as private as it claims
    │   ├── ReportError     a report that is malformed, or belongs to another plan
    │   ├── TallyError      a tally that is malformed, or belongs to another plan
    │   ├── AuditError      an audit that cannot be made as asked
    │   ├── EstimateError   a question that a tally cannot answer
    │   └── LedgerError     an answer, a cap or a series that the rules of a ledger do not allow
    │       └── BudgetError     answering would cost more privacy than is allowed
    ├── NetworkError        a collector that could not be reached, or did not accept the request
    │   └── CollectorError  a collector that answered, and refused or sent something unusable
    └── StoreError          a ledger or a store that cannot be read or written: its disk, its version, its database

After an InputError, fix the calling code. After a NetworkError, send the same again later. After a StoreError, look at
the machine.

A record, plan, report or tally with any contents raises an InputError or nothing. Arguments of a wrong Python type may
also raise a TypeError.

Messages name the attribute and the rule, and say what would be accepted. They never contain a private value.
"""

from __future__ import annotations


class HushError(Exception):
    """Base of every error that hush raises on purpose."""


class InputError(HushError, ValueError):
    """The caller passed something wrong."""


class NetworkError(HushError):
    """A collector that could not be reached, or did not accept the request."""


class StoreError(HushError):
    """A ledger or a store that cannot be read or written."""


class SchemaError(InputError):
    """An attribute or a schema that makes no sense."""


class RecordError(InputError):
    """A record that does not fit the schema. Raised before any randomness is drawn."""


class DesignError(InputError):
    """A plan that cannot be designed as asked."""


class PlanError(InputError):
    """A plan or channel that is malformed, or not as private as it claims."""


class ReportError(InputError):
    """A report that is malformed, or belongs to another plan."""


class TallyError(InputError):
    """A tally that is malformed, or belongs to another plan."""


class EstimateError(InputError):
    """A question that a tally cannot answer."""


class AuditError(InputError):
    """An audit that cannot be made as asked."""


class LedgerError(InputError):
    """An answer, a cap or a series that the rules of a ledger do not allow."""


class BudgetError(LedgerError):
    """Answering would cost more privacy than is allowed."""


class CollectorError(NetworkError):
    """A collector that could not be reached, or refused the request. `status` and `kind` give the details."""

    def __init__(self, message: str, status: int | None = None, kind: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
