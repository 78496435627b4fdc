import type { Instant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import { PROOF_MS, QuotaUnavailableError, type SpentProof } from './quota.ts'

const MAX_PROOFS = 1_000_000

/**
 * The proofs that this process accepted. An earlier process may have spent proofs up to the given time, so those count
 * as spent. Proofs are removed in two groups, each after the time in which it could be accepted.
 */
export class SpentProofs {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #maxProofs: number
  /** Proofs up to this time may be spent and removed. So a clock that goes back makes none of them valid again. */
  #floor: Instant
  #earlier: Group
  #recent: Group
  #recentSinceMs: number

  constructor(clock: Pick<Clock, 'monotonicMs' | 'now'>, spentThrough: Instant, maxProofs = MAX_PROOFS) {
    const now = clock.now()
    this.#clock = clock
    this.#maxProofs = maxProofs
    this.#floor = spentThrough > now ? spentThrough : now
    this.#earlier = emptyGroup(this.#floor)
    this.#recent = emptyGroup(this.#floor)
    this.#recentSinceMs = clock.monotonicMs()
  }

  isSpent({ name, created }: SpentProof): boolean {
    this.#removeOld()
    return created <= this.#floor || this.#recent.names.has(name) || this.#earlier.names.has(name)
  }

  /** Throws when it cannot store one more proof. */
  checkRoom(): void {
    if (this.#recent.names.size + this.#earlier.names.size >= this.#maxProofs)
      throw new QuotaUnavailableError('too many request proofs are stored')
  }

  add({ name, created }: SpentProof): void {
    const recent = this.#recent
    recent.names.add(name)
    if (created > recent.latest) recent.latest = created
  }

  #removeOld(): void {
    const now = this.#clock.monotonicMs()
    if (now - this.#recentSinceMs < PROOF_MS) return
    this.#floor = this.#earlier.latest
    this.#earlier = this.#recent
    this.#recent = emptyGroup(this.#earlier.latest)
    this.#recentSinceMs = now
  }
}

interface Group {
  readonly names: Set<string>
  /** Time of the newest proof in this group or before it. */
  latest: Instant
}

function emptyGroup(latest: Instant): Group {
  return { names: new Set(), latest }
}
