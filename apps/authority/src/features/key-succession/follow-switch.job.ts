import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { readGenesisBlock, readJson, seconds, toUtf8, writeSortable } from '@chancery/protocol'
import { digestKeyring } from '../../auth/operator-keys-check.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { KeySuccessionParts } from './progress.ts'

/**
 * A switch without a stop has two stages. `prepare`: each instance lets its jobs end. `pause`: calls that sign wait in
 * each instance, and those that run end. When all instances have reported `pause`, the command switches in one
 * transaction, and each instance goes on with the new key after its next read. An instance that waits too long withdraws
 * its report under the lock of the switch, and goes on with the former key: then the switch fails.
 */
export type SwitchStage = 'prepare' | 'pause'

/** Each attempt has an id, so that an instance that gave one up does not take part in it again. */
export function newAttempt(): string {
  return randomUUID()
}

const POLL_MS = 50
const JOBS_END_MS = 60_000
const CALLS_END_MS = 7000
/**
 * How long calls wait before the instance gives up: the command was killed, or another instance is late. A call ends after
 * 15 seconds (SERVER_LIMITS), so it still has time for its own work. A switch that is under way is waited for.
 */
const PAUSED_MS = 8000
const ATTEMPT_MS = 120_000
/** How often an instance that holds the next key says so again. */
const REPORT_MS = 30_000

/** As OperatorKeysCheck: an instance that was not seen for this long has stopped. */
const SEEN_WITHIN = seconds(180)

interface Report {
  readonly next_block: string | null
  readonly switch_stage: string | null
}

export class SwitchFollower {
  readonly #parts: KeySuccessionParts
  #reported: (Report & { readonly atMs: number }) | undefined
  #givenUp = ''
  /** The announced key could not sign: written to the log once, because it is tried every two seconds. */
  #isSilent = false

  constructor(parts: KeySuccessionParts) {
    this.#parts = parts
  }

  /**
   * Before the first call: a switch counts this instance from here on, and one that was made since its key was read is
   * followed. Where this cannot be stored, no switch can be.
   */
  async enter(): Promise<void> {
    const { database, keyOwnerCheck, log } = this.#parts
    try {
      await database.write(async (tx) => {
        await tx.lock('crl')
        await this.#report({ next_block: null, switch_stage: null }, tx)
      })
      await keyOwnerCheck.check()
    } catch (error) {
      log.warn('this instance is not reported yet', { error })
    }
  }

  /** Follows a switch that was made, reports whether the announced key is here, and takes part in a switch. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#parts.keyOwnerCheck.check()
    const stored = await readStage(this.#parts.database.read)
    if (stored?.phase !== 'announced') return
    const next_block = (await this.#holdsKey(stored)) ? stored.genesis_digest : null
    await this.#report({ next_block, switch_stage: null })
    const [, attempt] = stored.switch_stage?.split(' ') ?? []
    if (attempt === undefined || attempt === this.#givenUp || next_block === null) return
    try {
      await this.#takePart(attempt, next_block, signal)
    } finally {
      this.#givenUp = attempt
      await this.#goOn(next_block, signal)
    }
  }

  /** The key must sign now, and not only be known. */
  async #holdsKey({ key_id, public_key }: Stage): Promise<boolean> {
    const signer = await this.#parts.findKey(key_id, public_key)
    if (signer === undefined) return false
    try {
      await signer.sign(toUtf8('chancery signing probe'))
      this.#isSilent = false
      return true
    } catch (error) {
      if (!this.#isSilent) this.#parts.log.error('the announced key cannot sign', { alarm: true, key_id, error })
      this.#isSilent = true
      return false
    }
  }

  async #takePart(attempt: string, next_block: string, signal: AbortSignal): Promise<void> {
    const { gates, database } = this.#parts
    const began = performance.now()
    let pausedAt: number | undefined
    let reached: SwitchStage | undefined
    while (!signal.aborted && performance.now() - began < ATTEMPT_MS) {
      const stored = await readStage(database.read)
      const [stage, current] = stored?.switch_stage?.split(' ') ?? []
      if (stored?.phase !== 'announced' || current !== attempt) return
      if (pausedAt !== undefined && performance.now() - pausedAt > PAUSED_MS) return
      if (stage === 'prepare' && reached === undefined) {
        if (!(await gates.jobs.close(JOBS_END_MS))) return
        reached = 'prepare'
        await this.#report({ next_block, switch_stage: `prepare ${attempt}` })
      } else if (stage === 'pause' && reached === 'prepare') {
        pausedAt = performance.now()
        if (!(await gates.calls.close(CALLS_END_MS))) return
        reached = 'pause'
        await this.#report({ next_block, switch_stage: `pause ${attempt}` })
      }
      await pause(POLL_MS)
    }
  }

  /** Withdraws the report before any call goes on with the former key. The lock waits for a switch that is under way. */
  async #goOn(next_block: string, signal: AbortSignal): Promise<void> {
    const { database, gates, keyOwnerCheck, log } = this.#parts
    for (;;) {
      try {
        await database.write(async (tx) => {
          await tx.lock('crl')
          await this.#report({ next_block, switch_stage: null }, tx)
        })
        await keyOwnerCheck.check()
        break
      } catch (error) {
        // Without the database nothing can be stored, so the calls that wait lose nothing.
        log.warn('cannot go on after a switch of the key yet', { error })
        if (signal.aborted) break
        await pause(500)
      }
    }
    gates.calls.open()
    gates.jobs.open()
  }

  async #report(report: Report, within?: Transaction): Promise<void> {
    const last = this.#reported
    const isSame = last?.next_block === report.next_block && last.switch_stage === report.switch_stage
    if (within === undefined && isSame && performance.now() - last.atMs < REPORT_MS) return
    const { instance, operators, database, clock } = this.#parts
    const row = { ...report, seen_at: writeSortable(clock.now()) }
    const store = ({ query }: Transaction): Promise<unknown> =>
      query
        .insertInto('instances')
        .values({ instance, operator_digest: digestKeyring(operators), ...row })
        .onConflict((conflict) => conflict.column('instance').doUpdateSet(row))
        .execute()
    await (within === undefined ? database.write(store) : store(within))
    this.#reported = { ...report, atMs: performance.now() }
  }
}

interface Stage {
  readonly key_id: string
  readonly public_key: string
  readonly genesis_digest: string
  readonly phase: string
  readonly switch_stage: string | null
}

async function readStage(db: Reader): Promise<Stage | undefined> {
  const row = await db
    .selectFrom('key_succession')
    .select(['key_id', 'genesis_json', 'genesis_digest', 'phase', 'switch_stage'])
    .where('id', '=', 1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { genesis_json, ...rest } = row
  return { ...rest, public_key: readGenesisBlock(readJson(genesis_json)).network_authority.public_key }
}

export interface InstanceState {
  readonly instance: string
  readonly next_block: string | null
  readonly switch_stage: string | null
}

/** The instances that run on this database. */
export async function listInstances(
  db: Reader,
  { clock }: Pick<KeySuccessionParts, 'clock'>,
): Promise<readonly InstanceState[]> {
  return db
    .selectFrom('instances')
    .select(['instance', 'next_block', 'switch_stage'])
    .where('seen_at', '>=', writeSortable(clock.now() - SEEN_WITHIN))
    .orderBy('instance')
    .execute()
}
