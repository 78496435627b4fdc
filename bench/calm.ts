import { setTimeout as pause } from 'node:timers/promises'
import { MAX_FOREIGN_CORES } from './conditions.ts'
import { ForeignLoad } from './cpu.ts'

const LOOK_SECONDS = 2

/** Waits for a calm machine, as long as its budget lasts: a round that would be discarded need not be run. */
export class Patience {
  readonly #foreign: ForeignLoad
  #secondsLeft: number

  constructor(ownPids: () => readonly number[], seconds: number) {
    this.#foreign = new ForeignLoad(ownPids)
    this.#secondsLeft = seconds
  }

  async untilCalm(): Promise<void> {
    while (this.#secondsLeft > 0) {
      this.#foreign.start()
      await pause(LOOK_SECONDS * 1000)
      this.#secondsLeft -= LOOK_SECONDS
      if (this.#foreign.cores() <= MAX_FOREIGN_CORES) return
    }
  }
}
