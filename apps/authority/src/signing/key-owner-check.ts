import type { Log } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import type { SigningHalt } from './signing-halt.ts'

/** Detects that the database belongs to another key while this instance is still running. It must not sign any more. */
export class KeyOwnerCheck implements SigningHalt {
  readonly reason = 'key_succeeded'
  readonly #database: Database
  readonly #publicKey: string
  readonly #log: Log
  #isSucceeded = false

  constructor(database: Database, publicKey: string, log: Log) {
    this.#database = database
    this.#publicKey = publicKey
    this.#log = log
  }

  isHalted(): boolean {
    return this.#isSucceeded
  }

  async check(): Promise<void> {
    const stored = await this.#database.read.selectFrom('authority_identity').select('public_key').executeTakeFirst()
    const isSucceeded = stored !== undefined && stored.public_key !== this.#publicKey
    if (isSucceeded && !this.#isSucceeded)
      this.#log.error('signing stopped: database belongs to a newer authority key', {
        alarm: true,
      })
    this.#isSucceeded = isSucceeded
  }
}
