// Keeps a block current with a document that takes the collector long: asked for in sight only, and not too often.

import { Failure } from "./api.js";
import type { Block } from "./blocks.js";

const REFRESH = 3000; // milliseconds between two questions for one document

export class Fresh {
  private known = -1;
  private reports = 0;
  private at = 0;
  private busy = false;
  private timer = 0;

  constructor(
    private readonly block: Block,
    private readonly fill: () => Promise<void>,
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
    if (!this.block.inSight || this.busy || this.known === this.reports) return;
    this.busy = true;
    this.timer = window.setTimeout(
      () => {
        this.timer = 0;
        this.known = this.reports; // the document may be a little older, and is then asked for with the next reports
        void this.filled().finally(() => {
          this.at = this.known === -1 ? 0 : Date.now();
          this.busy = false;
          this.refresh();
        });
      },
      Math.max(0, this.at + REFRESH - Date.now()),
    );
  }

  private async filled(): Promise<void> {
    try {
      await this.fill();
    } catch (error) {
      this.block.empty(error instanceof Failure ? error.message : "It could not be loaded.");
    }
  }
}
