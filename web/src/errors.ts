/** Base of every error that hush raises on purpose. Messages name an attribute and a rule, never a private value. */
export class HushError extends Error {
  override name = "HushError";
}

/** A plan or channel that is malformed, or not as private as it claims. */
export class PlanError extends HushError {
  override name = "PlanError";
}

/** A record that does not fit the schema. Thrown before any randomness is drawn. */
export class RecordError extends HushError {
  override name = "RecordError";
}

/** A report that is malformed, or belongs to another plan. */
export class ReportError extends HushError {
  override name = "ReportError";
}

/** A ledger that cannot be used. */
export class LedgerError extends HushError {
  override name = "LedgerError";
}

/** Answering would cost more privacy than the ledger's cap allows. */
export class BudgetError extends LedgerError {
  override name = "BudgetError";
}

/**
 * A collector that could not be reached, or that refused a request: `kind` is the problem's, "unreachable" without an
 * answer, `""` if unknown.
 */
export class CollectorError extends HushError {
  override name = "CollectorError";

  constructor(
    message: string,
    readonly status?: number,
    readonly kind = "",
  ) {
    super(message);
  }
}

/** The class of an error. */
export type Failure = new (message: string) => HushError;

/** Throws if a rule is broken. */
export function ensure(condition: unknown, rule: string, Fail: Failure = PlanError): asserts condition {
  if (!condition) throw new Fail(rule);
}
