"""Everything that hush refuses on purpose.

    HushError (a ValueError)
    ├── SchemaError     an attribute or a schema that makes no sense
    ├── RecordError     a record that does not fit the schema: names attribute and rule, never the value
    ├── DesignError     a plan that cannot be designed as asked
    ├── PlanError       a plan or channel that is malformed, or not as private as it claims
    ├── ReportError     a report that is malformed, or belongs to another plan
    ├── TallyError      a tally that is malformed, or belongs to another plan
    ├── AuditError      an audit that cannot be made as asked
    ├── EstimateError   a question that a tally cannot answer
    └── LedgerError     a ledger that cannot be used
        └── BudgetError     answering would cost more privacy than the ledger's cap allows

Whatever a record, plan, report or tally contains, one of these is raised, or nothing. Arguments of a wrong Python type
may also meet a TypeError.

Messages say which attribute and which rule, and what would be accepted. They never contain a private value.
"""

from __future__ import annotations


class HushError(ValueError):
    """Base of every error that hush raises on purpose."""


class SchemaError(HushError):
    """An attribute or a schema that makes no sense."""


class RecordError(HushError):
    """A record that does not fit the schema. Raised before any randomness is drawn."""


class DesignError(HushError):
    """A plan that cannot be designed as asked."""


class PlanError(HushError):
    """A plan or channel that is malformed, or not as private as it claims."""


class ReportError(HushError):
    """A report that is malformed, or belongs to another plan."""


class TallyError(HushError):
    """A tally that is malformed, or belongs to another plan."""


class EstimateError(HushError):
    """A question that a tally cannot answer."""


class AuditError(HushError):
    """An audit that cannot be made as asked."""


class LedgerError(HushError):
    """A ledger that cannot be used."""


class BudgetError(LedgerError):
    """Answering would cost more privacy than the ledger's cap allows."""
