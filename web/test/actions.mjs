// What tests/web asks of the client, by name. What a plan is asked for is about the one that was read last.
import { hex, hush, training, Words } from "./words.mjs";

let plan;
let phase;

export const actions = {
  /** Reads a plan, and says whether it was refused. The lines that follow are about it. */
  async plan({ text }) {
    try {
      plan = await hush.Plan.parse(text);
      return "";
    } catch (error) {
      if (!(error instanceof hush.HushError)) throw error;
      return error.message;
    }
  },

  /** Makes a report, and says how many words were left over. */
  report({ record, words }) {
    const coins = new Words(words.match(/.{16}/g) ?? []);
    try {
      return `${hex(hush.randomiseFrom(coins, plan, record).encode())} ${coins.left}`;
    } catch (error) {
      return String(error);
    }
  },

  /** Reads a round or a stage. The lines that follow are about it. */
  async phase({ text }) {
    phase = await training.readPhase(text);
    return "";
  },

  /** Takes part: says what the plan is asked, makes the report, and says how many words were left over. */
  take({ record, label, words }) {
    const asked = training.answer(phase, record, label);
    const coins = new Words(words.match(/.{16}/g) ?? []);
    const report = hex(hush.randomiseFrom(coins, phase.plan, asked).encode());
    return { asked: Object.values(asked).map((value) => value + 0), report: `${report} ${coins.left}` };
  },

  /** Says what is public about the plan. */
  about() {
    return {
      id: plan.id,
      title: plan.title,
      epsilon: plan.epsilon,
      k: plan.k,
      weights: plan.weights,
      schema: plan.schema,
      questions: plan.questions.map(({ names, channel }) => [names, channel.kind]),
      inclusions: plan.inclusions,
      ratio: plan.ratio.map(String),
    };
  },

  /** Says how likely outputs are for a record. */
  likelihood({ question, outputs, record }) {
    return outputs.map((output) => hush.likelihood(plan, question, output, record));
  },

  /** Says which questions tickets deal. */
  questions({ ids }) {
    return ids.map((id) => hush.questionsOf(plan, id));
  },

  /** Answers a plan of a running collector, twice. */
  async answer({ url, id, record, tickets }) {
    const ledger = await hush.Ledger.open({ cap: 8, store: new hush.MemoryStore() });
    const client = new hush.Client(url, { ledger, tickets, pause: 20 });
    const first = await client.answer(id, record);
    const again = await client.answer(id, record);
    const [entry] = await ledger.entries();
    return { first, again, spent: await ledger.spent(), state: entry.state, ticket: entry.ticket ?? null };
  },
};
