import { seconds, sha256Hex, toUtf8, writeJson, writeSortable } from '@chancery/protocol'
import type { Clock, Gauge, Log } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import type { OperatorKeyring } from './operator-keys.ts'

/** An instance that was not seen for this long has stopped. */
const SEEN_WITHIN = seconds(180)
const REMOVED_AFTER = seconds(86_400)
/** A rolling change of settings takes this long at most. */
const ALARM_AFTER_MS = 600_000

/** Equal for equal keys and tiers, in any configured order. */
export function digestKeyring(ring: OperatorKeyring): string {
  const entries = [...ring.values()]
    .map(({ key_id, publicKey, tier }) => [key_id, publicKey, tier])
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
  return sha256Hex(toUtf8(writeJson(entries)))
}

export interface OperatorKeysCheckParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly operators: OperatorKeyring
  readonly instance: string
}

/**
 * Instances of one database must have the same operator keys: a key that one of them still accepts is not revoked. Each
 * stores the digest of its keys and tiers. A difference that lasts longer than a rolling change is an alarm
 * (reliability 13).
 */
export class OperatorKeysCheck {
  readonly #differs: Gauge
  #differsSince: number | undefined
  /** What this instance stored last. */
  #announced = ''

  /** As of the last comparison. */
  get isDiffering(): boolean {
    return this.#differsSince !== undefined
  }

  constructor(differs: Gauge) {
    this.#differs = differs
    differs.set(0)
  }

  /** Runs at once after a change, so that doctor does not see the former keys of this instance. */
  async runIfChanged(parts: OperatorKeysCheckParts): Promise<void> {
    if (digestKeyring(parts.operators) !== this.#announced) await this.run(parts)
  }

  async run(parts: OperatorKeysCheckParts): Promise<void> {
    const { database, clock, log } = parts
    const digest = digestKeyring(parts.operators)
    await announce(parts, digest)
    this.#announced = digest
    const others = await database.read
      .selectFrom('instances')
      .select('instance')
      .where('operator_digest', '!=', digest)
      .where('seen_at', '>=', writeSortable(clock.now() - SEEN_WITHIN))
      .orderBy('instance')
      .limit(10)
      .execute()
    this.#differs.set(others.length)
    if (others.length === 0) {
      this.#differsSince = undefined
      return
    }
    this.#differsSince ??= clock.monotonicMs()
    if (clock.monotonicMs() - this.#differsSince < ALARM_AFTER_MS) return
    log.error('operator keys or tiers differ between instances', {
      alarm: true,
      instances: others.map((row) => row.instance).join(', '),
    })
  }
}

/** At a stop: an instance that starts at once under another name must not be counted next to this one. */
export async function withdraw({
  database,
  instance,
}: Pick<OperatorKeysCheckParts, 'database' | 'instance'>): Promise<void> {
  await database.write(async ({ query }) => {
    await query.deleteFrom('instances').where('instance', '=', instance).execute()
  })
}

async function announce({ database, clock, instance }: OperatorKeysCheckParts, operator_digest: string): Promise<void> {
  const seen_at = writeSortable(clock.now())
  await database.write(async ({ query }) => {
    await query
      .insertInto('instances')
      .values({ instance, operator_digest, seen_at })
      .onConflict((conflict) => conflict.column('instance').doUpdateSet({ operator_digest, seen_at }))
      .execute()
    await query
      .deleteFrom('instances')
      .where('seen_at', '<', writeSortable(clock.now() - REMOVED_AFTER))
      .execute()
  })
}
