import { setTimeout as pause } from 'node:timers/promises'
import { MAX_FOREIGN_CORES } from './conditions.ts'
import { OtherLoad } from './cpu.ts'

const CHECK_SECONDS = 2

/** Waits for a calm machine, as long as its budget lasts: a round that would be discarded need not be run. */
export class QuietWait {
  readonly #foreign: OtherLoad
  #secondsLeft: number

  constructor(ownPids: () => readonly number[], seconds: number) {
    this.#foreign = new OtherLoad(ownPids)
    this.#secondsLeft = seconds
  }

  async untilCalm(): Promise<void> {
    while (this.#secondsLeft > 0) {
      this.#foreign.start()
      await pause(CHECK_SECONDS * 1000)
      this.#secondsLeft -= CHECK_SECONDS
      if (this.#foreign.cores() <= MAX_FOREIGN_CORES) return
    }
  }
}
