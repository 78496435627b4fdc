import { Refusal } from '@chancery/contract'
import { DAY, type Instant, writeInstant, writeSortable } from '@chancery/protocol'
import { SerialQueue } from '@chancery/service-kit'
import type { EvidenceParts } from './store-verifier.ts'

/** Who causes rows: the key of a node or executor, an operator key, or a partner for all of its members. */
export interface ByteOwner {
  readonly kind: 'key' | 'operator' | 'partner'
  readonly name: string
}

/** What one owner had stored today: by all instances as last read, and here since then. */
interface Count {
  stored: number
  pending: number
}

type Parts = Pick<EvidenceParts, 'clock' | 'database' | 'settings'>

/** Rows of an earlier day stay for one more day, for instances whose clock is behind. */
const KEPT = DAY

/**
 * Counts the bytes that are stored for each owner on a day, and refuses more than its limit. Counts of a few seconds are
 * added up in memory and written together, so several instances may together pass the limit by what they store in that
 * time.
 */
export class DailyBytes {
  readonly #parts: Parts
  readonly #queue = new SerialQueue()
  #day: Instant = 0n
  #counts = new Map<string, Count>()
  /** The day on which rows were last removed here. */
  #purged: Instant | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Counts for every owner, or refuses and counts for none. Returns what takes it back when nothing was stored: anyone who
   * has the signed text of another caller may send it again.
   */
  async take(owners: readonly ByteOwner[], bytes: number): Promise<() => void> {
    const limited = owners.filter((owner) => this.#limitOf(owner) > 0)
    const counts = await Promise.all(limited.map((owner) => this.#load(nameOf(owner))))
    for (const [at, owner] of limited.entries()) {
      const { stored = 0, pending = 0 } = counts[at] ?? {}
      const limit_bytes = this.#limitOf(owner)
      if (stored + pending + bytes > limit_bytes)
        throw new Refusal('daily_bytes_exceeded', {
          owner: owner.kind,
          limit_bytes,
          ends_at: writeInstant(this.#today() + DAY),
        })
    }
    for (const count of counts) count.pending += bytes
    return () => {
      for (const count of counts) count.pending -= bytes
    }
  }

  /** Writes what was counted here, reads what others counted, and removes earlier days. */
  flush(): Promise<void> {
    return this.#queue.take(async () => {
      const day = writeSortable(this.#day)
      const counts = this.#counts
      const taken = [...counts]
        .filter(([, count]) => count.pending !== 0)
        .map(([owner, { pending }]) => ({ owner, pending }))
      const today = this.#today()
      if (this.#purged !== today) await this.#purge(today)
      if (taken.length === 0) return
      await this.#parts.database.write(async ({ query }) => {
        for (const { owner, pending } of taken)
          await query
            .insertInto('stored_bytes')
            .values({ day, owner, bytes: pending })
            .onConflict((conflict) =>
              conflict
                .columns(['day', 'owner'])
                .doUpdateSet((eb) => ({ bytes: eb('stored_bytes.bytes', '+', pending) })),
            )
            .execute()
      })
      for (const { owner, pending } of taken) {
        const count = counts.get(owner)
        if (count === undefined) continue
        count.pending -= pending
        count.stored = await this.#read(owner, day)
      }
    })
  }

  /** Once a day, also without callers. */
  async #purge(today: Instant): Promise<void> {
    await this.#parts.database.write(({ query }) =>
      query
        .deleteFrom('stored_bytes')
        .where('day', '<', writeSortable(today - KEPT))
        .execute(),
    )
    this.#purged = today
  }

  /** The count of today. The first of a process reads what is stored already. */
  async #load(owner: string): Promise<Count> {
    const today = this.#today()
    if (today !== this.#day) {
      this.#day = today
      this.#counts = new Map()
    }
    const known = this.#counts.get(owner)
    if (known !== undefined) return known
    const stored = await this.#read(owner, writeSortable(today))
    const count = this.#counts.get(owner) ?? { stored, pending: 0 }
    if (today === this.#day) this.#counts.set(owner, count)
    return count
  }

  async #read(owner: string, day: string): Promise<number> {
    const row = await this.#parts.database.read
      .selectFrom('stored_bytes')
      .select('bytes')
      .where('day', '=', day)
      .where('owner', '=', owner)
      .executeTakeFirst()
    return row?.bytes ?? 0
  }

  #limitOf({ kind }: ByteOwner): number {
    const { keyBytesPerDay, partnerBytesPerDay } = this.#parts.settings
    return kind === 'partner' ? partnerBytesPerDay : keyBytesPerDay
  }

  #today(): Instant {
    const now = this.#parts.clock.now()
    return now - (now % DAY)
  }
}

function nameOf({ kind, name }: ByteOwner): string {
  return `${kind} ${name}`
}
