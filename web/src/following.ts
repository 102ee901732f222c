/** The second plan of a pilot, as a device checks it: it asks for nothing that the pilot did not ask for. */
import type { Plan } from "./plan.js";
import type { Attribute, Numeric } from "./schema.js";

/**
 * Returns whether a plan is the pilot's, narrowed: it names the pilot, costs the same, and has the same attributes, but
 * wide numbers may have a part of their range. They clip then, so whether a record fits does not depend on a range that
 * the collector chose.
 */
export function follows(plan: Plan, pilot: Plan): boolean {
  const { schema } = plan;
  return (
    plan.after === pilot.id &&
    plan.epsilon === pilot.epsilon &&
    schema.length === pilot.schema.length &&
    schema.every((now, i) => same(now, pilot.schema[i]) || narrows(now as Numeric, pilot.schema[i] as Numeric))
  );
}

const same = (a: Attribute, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Only a wide number has the scale "log", and only a number can clip. */
const narrows = ({ low, high, out_of_range, ...rest }: Numeric, before: Numeric): boolean =>
  before.scale === "log" &&
  out_of_range === "clip" &&
  !rest.holds &&
  low >= before.low &&
  high <= before.high &&
  rest.name === before.name &&
  rest.optional === before.optional;
