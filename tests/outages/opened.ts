import type { ScrapeTarget } from '../campaigns/operate/alarms.ts'

/** One real outage of real services. */
export interface Outage {
  /** Scrapes during the outage. */
  readonly scrapes: number
  /** How often the last of them is repeated, for a state that lasts longer than its recording. */
  readonly repeats?: number
  open(): Promise<OpenOutage>
}

export interface OpenOutage {
  readonly targets: readonly ScrapeTarget[]
  begin(): Promise<void>
  end(): Promise<void>
  close(): Promise<void>
}

/** Closes what was opened, the last first. */
export class Opened {
  readonly #closes: (() => Promise<unknown>)[] = []

  /** Closes after everything that is opened later. */
  add(close: () => Promise<unknown>): void {
    this.#closes.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#closes.toReversed()) await close()
  }

  /** Closes what is open when `open` fails. */
  static async around<Result>(open: (opened: Opened) => Promise<Result>): Promise<Result> {
    const opened = new Opened()
    try {
      return await open(opened)
    } catch (error) {
      await opened.close()
      throw error
    }
  }
}
