// Keeps a block current with a document that takes the collector long: asked for in sight only, and not too often.

import { Failure } from "./api.js";
import type { Block } from "./blocks.js";

const REFRESH = 3000; // milliseconds between two questions for one document
const LATER = 7000; // milliseconds more after a document that is older than it could be

export class Fresh {
  private known = -1;
  private reports = 0;
  private at = 0;
  private busy = false;
  private timer = 0;

  constructor(
    private readonly block: Block,
    private readonly fill: () => Promise<number | void>,
  ) {
    block.onSight = () => this.refresh();
  }

  /** The number of reports has changed. */
  update(reports: number): void {
    this.reports = reports;
    this.refresh();
  }

  /** The reader has chosen something else: ask again at once. */
  again(): void {
    this.known = -1;
    this.at = 0;
    if (this.timer !== 0) {
      clearTimeout(this.timer);
      this.timer = 0;
      this.busy = false;
    }
    this.refresh();
  }

  private refresh(): void {
    if (!this.block.inSight || this.busy || this.known >= this.reports) return;
    this.busy = true;
    this.timer = window.setTimeout(
      () => {
        this.timer = 0;
        this.known = this.reports; // the document may be a little older: if it says so, it is asked for again
        void this.filled().then((made) => {
          const old = made !== undefined && made < this.known;
          if (made !== undefined && this.known !== -1) this.known = made;
          this.at = this.known === -1 ? 0 : Date.now() + (old ? LATER : 0);
          this.busy = false;
          this.refresh();
        });
      },
      Math.max(0, this.at + REFRESH - Date.now()),
    );
  }

  private async filled(): Promise<number | undefined> {
    try {
      return (await this.fill()) ?? undefined;
    } catch (error) {
      this.block.empty(error instanceof Failure ? error.message : "It could not be loaded.");
      return undefined;
    }
  }
}
