import type { Database, Transaction } from '../database.ts'
import { EVIDENCE } from './evidence-partitions.ts'
import { makeRoom } from './layout.ts'

/** Whether the next entries have a partition. The job evidence-partitions makes them ahead; an append never fails for it. */
export class EntryRoom {
  #knownThrough: number

  constructor({ engine }: Pick<Database, 'engine'>) {
    this.#knownThrough = engine === 'sqlite' ? Number.POSITIVE_INFINITY : 0
  }

  /** Called under the lock of the chain, before entries up to this one are added. */
  async ensure(tx: Transaction, through: number, from: number): Promise<void> {
    if (through > this.#knownThrough) this.#knownThrough = await makeRoom(tx, EVIDENCE, { from, through })
  }
}
