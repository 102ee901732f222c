"""Every error that hush raises on purpose, by whose fault it is::

    HushError
    ├── InputError (a ValueError)  the caller gave something wrong: giving the same again fails again
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
    ├── NetworkError        a collector that could not be reached, or did not take what was sent
    │   └── CollectorError  a collector that answered, and refused or sent something unusable
    └── StoreError          a ledger or a store that cannot be read or written: its disk, its version, its database

An application mends its own code after an InputError, sends the same again later after a NetworkError, and looks at the
machine after a StoreError.

Whatever a record, plan, report or tally contains, an InputError is raised, or nothing. Arguments of a wrong Python type
may also meet a TypeError.

Messages say which attribute and which rule, and what would be accepted. They never contain a private value.
"""

from __future__ import annotations


class HushError(Exception):
    """Base of every error that hush raises on purpose."""


class InputError(HushError, ValueError):
    """The caller gave something wrong."""


class NetworkError(HushError):
    """A collector that could not be reached, or did not take what was sent."""


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
    """A collector that could not be reached, or that refused what was sent: `status` and `kind` say how."""

    def __init__(self, message: str, status: int | None = None, kind: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
