import { type BoundaryDecision, type Instant, MINUTE, writeSortable } from '@chancery/protocol'
import { SerialQueue } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import { ASKERS, type Asker } from '../../metrics.ts'
import { addDecisionMinute, deleteDecisionMinutesBefore, sumDecisionMinutes } from './queries.ts'

export type DecisionCount = { readonly authorized: number; readonly denied: number }

/** Decisions of the last hour by who asked. It has no names. */
export interface RecentDecisions {
  readonly counts: Readonly<Record<Asker, DecisionCount>>
  /** Denials about members of partners because no recent feed of the partner is imported. */
  readonly deniedForFreshness: number
}

const SHOWN = 60n * MINUTE
const NONE = { authorized: 0, denied: 0, denied_for_freshness: 0 }

/**
 * Counts decisions per minute. Counts of a few seconds are added up in memory and written together: a row that every
 * decision updates would make all decisions wait for each other.
 */
export class DecisionCounts {
  readonly #parts: Pick<Core, 'clock' | 'database'>
  readonly #queue = new SerialQueue()
  /** By minute, then by asker. */
  #pending = new Map<string, Map<Asker, typeof NONE>>()

  constructor(parts: Pick<Core, 'clock' | 'database'>) {
    this.#parts = parts
  }

  add(asked_by: Asker, { authorized, denial_reason }: BoundaryDecision, isPresented: boolean): void {
    const isStale = isPresented && denial_reason === 'insufficient freshness'
    const added = { authorized: Number(authorized), denied: Number(!authorized), denied_for_freshness: Number(isStale) }
    this.#add(writeSortable(startOfMinute(this.#parts.clock.now())), asked_by, added)
  }

  /** Writes the counts, and removes those that are shown no more. */
  flush(): Promise<void> {
    return this.#queue.take(async () => {
      const taken = this.#pending
      if (taken.size === 0) return
      this.#pending = new Map()
      try {
        await this.#parts.database.write(async (tx) => {
          for (const [minute, askers] of taken)
            for (const [asked_by, added] of askers) await addDecisionMinute(tx, { minute, asked_by, ...added })
          await deleteDecisionMinutesBefore(tx, this.#oldest())
        })
      } catch (error) {
        for (const [minute, askers] of taken) for (const [asker, added] of askers) this.#add(minute, asker, added)
        throw error
      }
    })
  }

  /** The counts of every instance, up to those the others have not written yet. */
  read(): Promise<RecentDecisions> {
    return this.#queue.take(async () => {
      const oldest = this.#oldest()
      const rows = await sumDecisionMinutes(this.#parts.database.read, oldest)
      const sums = new Map<string, typeof NONE>(rows.map(({ asked_by, ...sum }) => [asked_by, sum]))
      for (const [minute, askers] of this.#pending)
        if (minute >= oldest) for (const [asker, added] of askers) sums.set(asker, plus(sums.get(asker) ?? NONE, added))
      const countOf = (asker: Asker): DecisionCount => {
        const { authorized, denied } = sums.get(asker) ?? NONE
        return { authorized, denied }
      }
      const counts = Object.fromEntries(ASKERS.map((asker) => [asker, countOf(asker)])) as RecentDecisions['counts']
      const deniedForFreshness = [...sums.values()].reduce((sum, each) => sum + each.denied_for_freshness, 0)
      return { counts, deniedForFreshness }
    })
  }

  #add(minute: string, asker: Asker, added: typeof NONE): void {
    const askers = this.#pending.get(minute) ?? new Map<Asker, typeof NONE>()
    askers.set(asker, plus(askers.get(asker) ?? NONE, added))
    this.#pending.set(minute, askers)
  }

  /** 60 minutes including the current one. */
  #oldest(): string {
    return writeSortable(startOfMinute(this.#parts.clock.now()) - SHOWN + MINUTE)
  }
}

function plus(a: typeof NONE, b: typeof NONE): typeof NONE {
  return {
    authorized: a.authorized + b.authorized,
    denied: a.denied + b.denied,
    denied_for_freshness: a.denied_for_freshness + b.denied_for_freshness,
  }
}

function startOfMinute(now: Instant): Instant {
  return now - (now % MINUTE)
}
