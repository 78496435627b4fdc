import { canonicalJson, compareCodePoints, sortCodePoints } from '@chancery/protocol'

/** A revocation as the feed names it. */
export interface ReasonedId {
  readonly attestation_id: string
  readonly revoked_at: string
  readonly reason: string
}

/** Two members of a feed or a part, as canonical JSON. */
export interface IdsText {
  readonly revoked_attestation_ids: string
  readonly revocation_reasons: string
}

/**
 * Sorted ids with their JSON texts. Written in pieces, because an object of 50,000 members costs several times as much,
 * and a revocation changes one piece.
 */
export class FeedPieces {
  readonly #ids: string[]
  readonly #quoted: string[]
  readonly #reasons: string[]
  readonly #rows: readonly ReasonedId[]
  #sorted: ReasonedId[] | undefined

  constructor(rows: readonly ReasonedId[]) {
    const byId = new Map(rows.map((row) => [row.attestation_id, row]))
    this.#ids = sortCodePoints([...byId.keys()])
    this.#quoted = this.#ids.map(canonicalJson)
    this.#reasons = this.#ids.map((id, at) => reasonText(this.#quoted[at] as string, byId.get(id) as ReasonedId))
    this.#rows = rows
  }

  /** By time of revocation, the oldest first. Sorted when it is needed: a part that fits does not need it. */
  get #byTime(): ReasonedId[] {
    return (this.#sorted ??= [...this.#rows].sort(compareTimes))
  }

  get ids(): readonly string[] {
    return this.#ids
  }

  /** Adds a revocation. False when it is not the newest, so that nothing was changed. */
  add(row: ReasonedId): boolean {
    const last = this.#byTime.at(-1)
    if (last !== undefined && compareTimes(last, row) >= 0) return false
    const quoted = canonicalJson(row.attestation_id)
    const at = this.#find(row.attestation_id)
    this.#ids.splice(at, 0, row.attestation_id)
    this.#quoted.splice(at, 0, quoted)
    this.#reasons.splice(at, 0, reasonText(quoted, row))
    this.#byTime.push(row)
    return true
  }

  removeOldest(): void {
    const oldest = this.#byTime.shift()
    if (oldest === undefined) return
    const at = this.#find(oldest.attestation_id)
    for (const list of [this.#ids, this.#quoted, this.#reasons]) list.splice(at, 1)
  }

  /** Reasons are left out, those of the oldest revocations first, until both texts together fit. */
  write(maxBytes: number): IdsText {
    const revoked_attestation_ids = `[${this.#quoted.join(',')}]`
    const reasons = `{${this.#reasons.join(',')}}`
    const over = revoked_attestation_ids.length + reasons.length - maxBytes
    if (over <= 0) return { revoked_attestation_ids, revocation_reasons: reasons }
    return { revoked_attestation_ids, revocation_reasons: `{${this.#withoutOldest(over).join(',')}}` }
  }

  #withoutOldest(over: number): readonly string[] {
    const left = new Set<number>()
    let excess = over
    for (const { attestation_id } of this.#byTime) {
      if (excess <= 0) break
      const at = this.#find(attestation_id)
      left.add(at)
      excess -= (this.#reasons[at] as string).length + 1
    }
    return this.#reasons.filter((_, at) => !left.has(at))
  }

  /** Where an id is, or belongs. */
  #find(id: string): number {
    let [low, high] = [0, this.#ids.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareCodePoints(this.#ids[middle] as string, id) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

function reasonText(quoted: string, { reason }: ReasonedId): string {
  return `${quoted}:${canonicalJson(reason)}`
}

function compareTimes(a: ReasonedId, b: ReasonedId): number {
  return compareCodePoints(a.revoked_at, b.revoked_at) || compareCodePoints(a.attestation_id, b.attestation_id)
}
