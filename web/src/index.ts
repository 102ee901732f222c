/**
 * The browser side of hush: a record goes in, a report comes out, and the record stays.
 *
 * Given the same plan, record and words of randomness it gives the same bytes as every other implementation
 * (`spec/wire.md`). Privacy is integer arithmetic, and is checked on the device for whatever plan a server sends.
 */
export type { Alphabet, Output } from "./channels/alphabet.js";
export type { Channel } from "./channels/channel.js";
export { largest } from "./channels/corners.js";
export { kinds } from "./channels/index.js";
export { Client, type ClientOptions, type Receipt } from "./client.js";
export { Coins, SystemCoins } from "./coins.js";
export { BudgetError, CollectorError, ensure, HushError, LedgerError, PlanError, RecordError, ReportError } from "./errors.js";
export type { Ratio } from "./exact.js";
export { canonical, fields, integer, listed, parsed, printable, pythonFloat, toHex, VERSION } from "./json.js";
export { Ledger, type LedgerOptions } from "./ledger.js";
export { Plan, type Question } from "./plan.js";
export { likelihood, randomise, randomiseFrom } from "./randomise.js";
export { type Answer, Report, type ReportJSON } from "./report.js";
export { type Attribute, type Categorical, type Choices, encode, type Input, lists, type Numeric, type PersonRecord, readSchema, texts } from "./schema.js";
export type { Text } from "./texts.js";
export { type Asked, type Book, type Entry, MemoryStore, type State, type Store } from "./stores.js";
export { answerTicket, askedBy, membersBy, permute, questionsOf, type Ticket } from "./tickets.js";
export type { View } from "./views.js";
