/** The ledger of this browser, which all pages of the collector share. */
import { Ledger, MemoryStore } from "hush-client";
import { preview } from "./preview";

/** The budget of one browser for everything that this collector asks: the largest epsilon that a plan may have. */
const CAP = 16;

/** Opens it. A browser that was here before keeps its cap. A preview has one of its own, which is forgotten. */
export const opened = (): Promise<Ledger> =>
  preview ? Ledger.open({ cap: CAP, store: new MemoryStore() }) : Ledger.open({ cap: CAP }).catch(() => Ledger.open());
