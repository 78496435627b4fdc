/**
 * A model of trust over time with independent code: it replays what happened, and uses no function of the product. Times
 * are microseconds.
 */
export type ModelState = 'trusted' | 'not_trusted' | 'unknown'

export interface ModelRecord {
  readonly kind: 'certificate' | 'attestation' | 'treaty' | 'partner'
  readonly id: string
  /** The id in the record. A partner may choose one that another record has. */
  readonly attestedId: string
  readonly issued: bigint
  readonly from: bigint
  readonly until: bigint
  /** Of a certificate: the node. Of a treaty or a partner's attestation: the partner. */
  readonly party: string
  /** Keys of a treaty, or the one that signed a partner's attestation. */
  readonly keys: readonly string[]
  readonly roles: readonly string[]
  /** Of a certificate: the key of the authority. */
  readonly issuedBy: string
}

interface Stored {
  readonly record: ModelRecord
  /** When it was revoked, and when its renewal replaced it. */
  revokedAt: bigint | undefined
  replacedAt: bigint | undefined
  isCompromised: boolean
}

interface Gap {
  readonly from: bigint
  readonly until: bigint
}

/** What the authority could know at one time. */
export interface ModelView {
  readonly knownUntil: bigint
  readonly gaps: readonly Gap[]
  readonly stored: ReadonlyMap<string, Readonly<Stored>>
  /** Revoked certificates without a row, by the published list. */
  readonly listed: ReadonlyMap<string, bigint>
  readonly imported: ReadonlyMap<string, bigint>
  /** Ids that a recognition policy of the authority named, by the first time. */
  readonly named: ReadonlyMap<string, bigint>
}

export class TrustModel {
  /** Everything ever issued, also what a restore lost. */
  readonly records = new Map<string, ModelRecord>()
  #stored = new Map<string, Stored>()
  #listed = new Map<string, bigint>()
  #imported = new Map<string, bigint>()
  #named = new Map<string, bigint>()
  readonly #gaps: Gap[] = []
  #backup: ModelView | undefined

  issue(record: ModelRecord): void {
    this.records.set(record.id, record)
    this.#stored.set(record.id, { record, revokedAt: undefined, replacedAt: undefined, isCompromised: false })
  }

  revoke(id: string, at: bigint): void {
    const stored = this.#stored.get(id)
    if (stored !== undefined) stored.revokedAt ??= at
  }

  /** The node key is stolen: all of its certificates that are in use end. */
  compromise(id: string, at: bigint): void {
    const target = this.#stored.get(id)
    for (const other of this.#stored.values()) {
      const isOfKey = other.record.kind === 'certificate' && other.record.party === target?.record.party
      const isUsed = other.revokedAt === undefined && other.record.until > at
      if (other !== target && !(isOfKey && isUsed)) continue
      other.revokedAt ??= at
      other.isCompromised = true
    }
  }

  /** A renewed certificate ends after its grace time, unless another key of the authority signed it. */
  renew(id: string, next: ModelRecord, at: bigint): void {
    const before = this.#stored.get(id)
    this.issue(next)
    if (before?.record.issuedBy === next.issuedBy) before.replacedAt ??= at + 900_000_000n
  }

  import(partner: string, ids: readonly string[], at: bigint): void {
    for (const id of ids) if (!this.#imported.has(`${partner}/${id}`)) this.#imported.set(`${partner}/${id}`, at)
  }

  /** A later policy without the id does not undo it. */
  name(ids: readonly string[], at: bigint): void {
    for (const id of ids) if (!this.#named.has(id)) this.#named.set(id, at)
  }

  backUp(): void {
    this.#backup = this.view(0n)
  }

  /** What a restore loses comes back only from the last published list, and from the last feed without its times. */
  restore(facts: {
    readonly gap: Gap
    readonly list: ReadonlyMap<string, bigint>
    readonly feed: ReadonlySet<string>
  }): void {
    const { stored, listed, imported, named, gaps } = this.#backup ?? this.view(0n)
    this.#stored = new Map([...stored].map(([id, each]) => [id, { ...each }]))
    this.#listed = new Map(listed)
    this.#imported = new Map(imported)
    this.#named = new Map(named)
    this.#gaps.splice(0, this.#gaps.length, ...gaps, facts.gap)
    for (const [id, at] of facts.list) {
      if (this.#stored.has(id)) this.revoke(id, at)
      else this.#listed.set(id, at)
    }
    for (const id of facts.feed) this.revoke(id, facts.gap.until)
  }

  /** A compromise is known from the list as well. */
  markCompromised(ids: Iterable<string>): void {
    for (const id of ids) {
      const stored = this.#stored.get(id)
      if (stored !== undefined) stored.isCompromised = true
    }
  }

  /** Certificates are removed some days after their end, except those of stolen keys. */
  removeEnded(before: bigint): number {
    const gone = [...this.#stored.values()].filter(
      ({ record, isCompromised }) => record.kind === 'certificate' && !isCompromised && record.until < before,
    )
    for (const { record } of gone) this.#stored.delete(record.id)
    return gone.length
  }

  isStored(id: string): boolean {
    return this.#stored.has(id)
  }

  /** A copy, because an archive is asked later. */
  view(knownUntil: bigint): ModelView {
    return {
      knownUntil,
      gaps: [...this.#gaps],
      stored: new Map([...this.#stored].map(([id, each]) => [id, { ...each }])),
      listed: new Map(this.#listed),
      imported: new Map(this.#imported),
      named: new Map(this.#named),
    }
  }
}

/** The state of a record at a time. `given`: the caller has the record. */
export function stateAt(view: ModelView, record: ModelRecord, given: boolean, at: bigint): ModelState {
  if (record.kind === 'partner') return partnerStateAt(view, record, at)
  const stored = view.stored.get(record.id)
  const listedAt = view.listed.get(record.id)
  if (stored === undefined && !given) return listedAt !== undefined && listedAt <= at ? 'not_trusted' : 'unknown'
  if (at < record.from || at >= record.until) return 'not_trusted'
  const ends = [stored?.revokedAt, stored?.replacedAt, listedAt]
  if (ends.some((end) => end !== undefined && end <= at)) return 'not_trusted'
  return stored === undefined || isSilent(view, at) ? 'unknown' : 'trusted'
}

function isSilent({ gaps, knownUntil }: ModelView, at: bigint): boolean {
  return at > knownUntil || gaps.some(({ from, until }) => from <= at && at < until)
}

function partnerStateAt(view: ModelView, record: ModelRecord, at: bigint): ModelState {
  if (at < record.from || at >= record.until) return 'not_trusted'
  const twin = view.stored.get(record.attestedId)?.record
  const own = twin?.kind === 'attestation' ? twin.issued : undefined
  const ends = [view.imported.get(`${record.party}/${record.attestedId}`), view.named.get(record.attestedId), own]
  if (ends.some((end) => end !== undefined && end <= at)) return 'not_trusted'
  const states = [...view.stored.values()]
    .filter(({ record: treaty }) => treaty.kind === 'treaty' && accepts(treaty, record))
    .map(({ record: treaty }) => stateAt(view, treaty, false, at))
  if (states.includes('trusted')) return 'trusted'
  return states.includes('unknown') || isSilent(view, at) ? 'unknown' : 'not_trusted'
}

function accepts(treaty: ModelRecord, { party, keys, roles }: ModelRecord): boolean {
  return (
    treaty.party === party &&
    keys.every((key) => treaty.keys.includes(key)) &&
    roles.length > 0 &&
    roles.every((role) => treaty.roles.includes(role))
  )
}

/** Times at which a state may change. */
export function edgesOf(view: ModelView, record: ModelRecord): readonly bigint[] {
  const related = [...view.stored.values()].filter(
    ({ record: other }) =>
      other.id === record.attestedId || (record.kind === 'partner' && other.party === record.party),
  )
  const imported = view.imported.get(`${record.party}/${record.attestedId}`)
  const found = [
    record.from,
    record.until,
    imported,
    view.named.get(record.attestedId),
    view.listed.get(record.id),
    view.knownUntil,
  ]
  for (const { record: other, revokedAt, replacedAt } of related)
    found.push(other.from, other.until, revokedAt, replacedAt)
  for (const { from, until } of view.gaps) found.push(from, until)
  return found.filter((edge) => edge !== undefined)
}
