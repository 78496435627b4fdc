import { setTimeout as pause } from 'node:timers/promises'
import { MAX_FOREIGN_CORES } from './conditions.ts'
import { OtherLoad } from './cpu.ts'

const CHECK_SECONDS = 2

/** Waits for a calm machine within its time budget, so that fewer rounds are discarded. */
export class QuietWait {
  readonly #otherLoad: OtherLoad
  #secondsLeft: number

  constructor(ownPids: () => readonly number[], seconds: number) {
    this.#otherLoad = new OtherLoad(ownPids)
    this.#secondsLeft = seconds
  }

  async untilCalm(): Promise<void> {
    while (this.#secondsLeft > 0) {
      this.#otherLoad.start()
      await pause(CHECK_SECONDS * 1000)
      this.#secondsLeft -= CHECK_SECONDS
      if (this.#otherLoad.cores() <= MAX_FOREIGN_CORES) return
    }
  }
}
