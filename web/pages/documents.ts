// The documents of the collector that the dashboard reads: src/hush/collector/http/documents.py has the originals.

export interface CentralPromise {
  epsilon: number;
  delta: number;
  crowd: number | null;
  own: number | null;
}

/** Both promises of reports that come through a relay. */
export interface RelayPromise {
  url: string;
  key: string;
  local: string;
  central: CentralPromise[];
  sentences: string[];
}

export interface PlanEntry {
  id: string;
  title: string;
  epsilon: number;
  open: boolean;
  reports: number;
  shown: { every: number; least: number; next: number };
  /** The pilot that it follows. */
  after: string | null;
  /** The plan that follows this pilot. */
  next: string | null;
  /** Sealed reports that were dropped: they did not open, or came twice. */
  refused: number;
}

/** The state of a collector, for those who operate it. */
export interface Overview {
  plans: PlanEntry[];
  budget: number;
  storage: number | null;
  waiting: number;
  access: Access[];
}

export interface Access {
  role: string;
  open: boolean;
  tokens: number;
}

export interface EstimateRow {
  attribute: string;
  category: string | number | null;
  point: number | null;
  stderr: number | null;
  low: number | null;
  high: number | null;
  answers: number;
  floor: number | null;
  ceiling: number | null;
  beyond: number | null;
  needed: number | null;
}

export interface Estimates {
  reports: number;
  level: number;
  estimates: EstimateRow[];
}

/** The change of an estimate; `told` is null if it cannot be told from noise. */
export interface ChangeRow {
  attribute: string;
  category: string | number | null;
  before: number | null;
  after: number | null;
  point: number | null;
  low: number;
  high: number;
  told: "up" | "down" | null;
  needed: number | null;
}

export interface Period {
  first: string;
  last: string;
  reports: number;
  estimates: EstimateRow[];
  changes: ChangeRow[];
}

export interface Periods {
  by: "day" | "week" | null;
  level: number;
  others: number;
  periods: Period[];
}

export interface Changes {
  plan: string;
  against: string;
  reports: number;
  reports_against: number;
  level: number;
  changes: ChangeRow[];
  left_out: string[];
}

export interface Attribute {
  name: string;
  kind: "numeric" | "categorical";
  low: number | null;
  high: number | null;
  categories: number;
  optional: boolean;
  /** Its kind of question, as "integer" or "choices"; empty if it is a plain number or a list of categories. */
  holds: string;
  /** How many seconds a step of a time of day has. */
  step: number | null;
}

export interface Question {
  attributes: string[];
  asks: string;
  channel: string;
  ratio: string | null;
  epsilon: string;
  inclusion: string;
  /** What it looks at, in words. */
}

export interface Relation {
  kind: "table" | "means" | "association" | "moments" | "range";
  attribute: string;
  by: string | null;
}

export interface Statement {
  plan: string;
  title: string;
  allowed: string;
  ratio: string | null;
  epsilon: string;
  k: number;
  sentences: string[];
  attributes: Attribute[];
  questions: Question[];
  relations: Relation[];
}

export interface Margins {
  reports: number;
  level: number;
  margins: { attribute: string; estimate: string; predicted: number | null; achieved: number | null; scale: number }[];
}

export interface Manipulations {
  reports: number;
  share: number;
  liars: number;
  shifts: { attribute: string; estimate: string; shift: number | null; scale: number }[];
}

export interface Distribution {
  attribute: string;
  reports: number;
  answers: number;
  edges: number[];
  shares: number[];
  /** The values of each bin, in words. */
  bins: string[];
  why: string | null;
}

export interface FrequentRow {
  category: string;
  share: number | null;
  low: number | null;
  high: number | null;
  /** Only the beginning of a longer text is known. */
  cut: boolean;
}

/** The texts that many people hold: src/hush/collector/http/frequent_documents.py has the original. */
export interface Frequent {
  reports: number;
  reports_second: number | null;
  level: number;
  others: number | null;
  missing: number | null;
  floor: number | null;
  liars: number;
  rows: FrequentRow[];
  why: string | null;
}

export interface RelatedRow {
  category: string | number | null;
  group: string | number | null;
  point: number | null;
  low: number | null;
  high: number | null;
  answers: number;
  needed: number | null;
}

export interface Related {
  reports: number;
  level: number;
  rows: RelatedRow[];
  why: string | null;
}

export interface Range {
  reports: number;
  level: number;
  answers: number;
  quantiles: { share: number; point: number | null; low: number; high: number; needed: number | null }[];
  below: { cut: number; point: number | null; stderr: number | null; low: number; high: number; needed: number | null }[];
  why: string | null;
}

export interface Timeline {
  before: number;
  elsewhere: number;
  start: number;
  width: number;
  counts: number[];
}

export interface TrainingEntry {
  name: string;
  number: number;
  rounds: number;
  done: boolean;
  wanted: number;
  received: number;
}

export interface PastRound {
  number: number;
  weights: number[];
  people: number;
  loss: number | null;
  loss_error: number | null;
}

export interface TrainingHistory {
  name: string;
  done: boolean;
  result: number[];
  rounds: PastRound[];
}

export interface Charts {
  charts: Record<string, Record<string, unknown>>;
  themes: Record<string, Record<string, unknown>>;
}
