/** The ledger of this browser, which all pages of the collector share. */
import { Ledger } from "hush-client";

/** The budget of one browser for everything that this collector asks: the largest epsilon that a plan may have. */
const CAP = 16;

/** Opens it. A browser that was here before keeps its cap. */
export const opened = (): Promise<Ledger> => Ledger.open({ cap: CAP }).catch(() => Ledger.open());
