import type { Clock, Log, MaybePromise } from '@chancery/service-kit'
import type { Database, Reader } from '../database/database.ts'
import type { FindKey } from './find-key.ts'
import type { Identity, LiveIdentity } from './own-keys.ts'
import type { KeyCheck } from './key-check.ts'
import type { SigningHalt } from './halt-reasons.ts'
import { findLiveFormerKey, findStoredIdentity } from './stored-identity.ts'

/** Lets work run until it is closed. Then new work waits, and the closing waits for the work that runs. */
export class Gate {
  #running = 0
  #opened: Promise<void> | undefined
  #open: () => void = () => undefined
  #drained: () => void = () => undefined

  /** Runs the work, at once while the gate is open. */
  within<Result>(work: () => MaybePromise<Result>): MaybePromise<Result> {
    return this.#opened === undefined ? this.#run(work) : this.#opened.then(() => this.within(work))
  }

  /** Returns whether all work ended within this time. The gate is closed in both cases. */
  async close(withinMs: number): Promise<boolean> {
    this.#opened ??= new Promise((resolve) => {
      this.#open = resolve
    })
    if (this.#running === 0) return true
    let timer: NodeJS.Timeout | undefined
    const drained = new Promise<boolean>((resolve) => {
      this.#drained = () => resolve(true)
      timer = setTimeout(() => resolve(false), withinMs)
    })
    return drained.finally(() => clearTimeout(timer))
  }

  /** Ends when the gate is opened again. Undefined while it is open. */
  get opened(): Promise<void> | undefined {
    return this.#opened
  }

  open(): void {
    this.#opened = undefined
    this.#open()
  }

  #run<Result>(work: () => MaybePromise<Result>): MaybePromise<Result> {
    this.#running += 1
    let result: MaybePromise<Result>
    try {
      result = work()
    } catch (error) {
      this.#leave()
      throw error
    }
    if (result instanceof Promise) return result.finally(() => this.#leave())
    this.#leave()
    return result
  }

  #leave(): void {
    this.#running -= 1
    if (this.#running === 0) this.#drained()
  }
}

/**
 * What waits while the key changes, so that no record is drafted for one key and signed by another. Jobs stop first,
 * because a job may run for seconds. Then calls wait for the moment of the switch.
 */
export interface SwitchGates {
  readonly jobs: Gate
  readonly calls: Gate
}

interface KeyOwnerParts {
  readonly database: Pick<Database, 'read'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
  readonly identity: LiveIdentity
  readonly findKey: FindKey
  readonly keyCheck: KeyCheck
  readonly gates: SwitchGates
}

/** How long running calls may take before the key changes under them. Calls end sooner, by their own limits. */
const DRAIN_MS = 30_000

/**
 * Follows the key that the database belongs to. After a switch this instance signs with the new key, if the root signed
 * for it and the key is reachable here. Otherwise it must not sign any more.
 */
export class KeyOwnerCheck implements SigningHalt {
  readonly reason = 'key_succeeded'
  readonly #parts: KeyOwnerParts
  #isSucceeded = false
  /** What the last check read. The block and the first list are read again only when it changed. */
  #seen = ''

  constructor(parts: KeyOwnerParts) {
    this.#parts = parts
  }

  isHalted(): boolean {
    return this.#isSucceeded
  }

  async check(): Promise<void> {
    const { database, clock, log, identity, findKey } = this.#parts
    const seen = await readOwner(database.read)
    if (seen === this.#seen && !this.#isSucceeded) return this.#forgetUnused(identity.now)
    const found = await findStoredIdentity(database.read, identity.now, findKey, clock.now())
    if (found === undefined && !this.#isSucceeded)
      log.error('signing stopped: database belongs to a newer authority key', { alarm: true })
    this.#isSucceeded = found === undefined
    if (found === undefined) return
    if (found !== identity.now) await this.#become(found)
    this.#seen = seen
    await this.#forgetUnused(found)
  }

  /** Calls that began with the former key end first. */
  async #become(found: Identity): Promise<void> {
    const { identity, gates, keyCheck, log } = this.#parts
    const next = keyCheck.watchAll(found)
    await gates.calls.close(DRAIN_MS)
    identity.become(next)
    gates.calls.open()
    gates.jobs.open()
    log.info('signing with the key that the root signed for', { key_id: next.signer.keyId })
  }

  /** A former key that signs no list any more may be destroyed. Its loss must not stop this instance. */
  async #forgetUnused({ keys }: Identity): Promise<void> {
    if (keys.formerSigner === undefined) return
    const live = await findLiveFormerKey(this.#parts.database.read, this.#parts.clock.now())
    if (live?.public_key !== keys.formerSigner.publicKey) this.#parts.keyCheck.forget(keys.formerSigner.publicKey)
  }
}

async function readOwner(db: Reader): Promise<string> {
  const owner = await db.selectFrom('authority_identity').select('public_key').where('id', '=', 1).executeTakeFirst()
  const stored = await db
    .selectFrom('key_succession')
    .select(['genesis_digest', 'phase', 'announced_at'])
    .where('id', '=', 1)
    .executeTakeFirst()
  return [owner?.public_key, stored?.genesis_digest, stored?.phase, stored?.announced_at].join(' ')
}
