import type { ResourceHead } from '../artifacts/retention-checkpoint.ts'
import { fromHex, toHex } from '../canonical/hex.ts'
import { PackedTexts } from './packed-texts.ts'

/** Of a decision, what its justification and its executions are measured against. */
export interface StoredDecision {
  readonly decision_id: string
  readonly authorized: boolean
  readonly decision_made_at: string
  readonly decision_valid_until: string
  readonly context_id: string
  readonly vendor_id: string | null
  readonly attestation_id: string | null
  readonly capability: string | null
}

export interface ChainPosition {
  readonly sequence: number
  readonly digest: string | null
}

type Parties = [vendor_id: string | null, attestation_id: string | null, capability: string | null]

/**
 * Every decision of a run, packed: a run may hold millions, and a text cut out of a line would keep the whole line in
 * memory.
 */
export class DecisionLedger {
  readonly #numbers = new Map<string, number>()
  /** Who and what it was about, which thousands of decisions have in common, kept once. */
  readonly #parties = new Map<string, number>()
  readonly #partyTexts: string[] = []
  readonly #facts = new PackedTexts()
  readonly #digests = new PackedTexts()
  /** By number: the place of the facts, of the last digest, and the last sequence; 0 where there is none. */
  #places = new Float64Array(3 * 1024)

  remember(facts: StoredDecision): void {
    const { authorized, decision_made_at, decision_valid_until, context_id } = facts
    const parties = JSON.stringify([facts.vendor_id, facts.attestation_id, facts.capability])
    const about = this.#parties.get(parties) ?? this.#addParties(parties)
    const packed = JSON.stringify([about, authorized, decision_made_at, decision_valid_until, context_id])
    // First the row: making one may put the places into a larger list.
    const row = this.#row(facts.decision_id)
    this.#places[row] = this.#facts.add(packed) + 1
  }

  find(decision_id: string): StoredDecision | undefined {
    const number = this.#numbers.get(decision_id)
    const place = number === undefined ? 0 : (this.#places[number * 3] ?? 0)
    if (place === 0) return undefined
    const [about, authorized, decision_made_at, decision_valid_until, context_id] = JSON.parse(
      this.#facts.read(place - 1),
    ) as [number, boolean, string, string, string]
    const [vendor_id, attestation_id, capability] = JSON.parse(this.#partyTexts[about] ?? '[]') as Parties
    const parties = { vendor_id, attestation_id, capability }
    return { decision_id, authorized, decision_made_at, decision_valid_until, context_id, ...parties }
  }

  /** The last execution of a decision in this run. */
  position(decision_id: string): ChainPosition | undefined {
    const row = (this.#numbers.get(decision_id) ?? -1) * 3
    const place = this.#places[row + 1] ?? 0
    if (place === 0) return undefined
    return { sequence: this.#places[row + 2] ?? 0, digest: toHex(this.#digests.readBytes(place - 1)) }
  }

  /** `digest` is 64 hexadecimal digits. */
  advance(decision_id: string, sequence: number, digest: string): void {
    const row = this.#row(decision_id)
    const bytes = fromHex(digest) ?? new Uint8Array()
    const place = this.#places[row + 1] ?? 0
    this.#places[row + 1] = (place === 0 ? this.#digests.addBytes(bytes) : this.#digests.replace(place - 1, bytes)) + 1
    this.#places[row + 2] = sequence
  }

  #addParties(parties: string): number {
    this.#parties.set(parties, this.#partyTexts.length)
    return this.#partyTexts.push(parties) - 1
  }

  #row(decision_id: string): number {
    const known = this.#numbers.get(decision_id)
    if (known !== undefined) return known * 3
    const row = this.#numbers.size * 3
    this.#numbers.set(copyText(decision_id), this.#numbers.size)
    if (row >= this.#places.length) {
      const larger = new Float64Array(this.#places.length * 2)
      larger.set(this.#places)
      this.#places = larger
    }
    return row
  }
}

/** The last record of every resource in a run, beginning with those a checkpoint names. */
export class ResourceLedger {
  readonly #heads = new Map<string, string>()

  constructor(heads: { readonly [resource_id: string]: ResourceHead } = {}) {
    for (const [id, { resource_sequence, record_digest }] of Object.entries(heads))
      this.advance(id, resource_sequence, record_digest)
  }

  position(resource_id: string): ChainPosition | undefined {
    const packed = this.#heads.get(resource_id)
    if (packed === undefined) return undefined
    const [sequence, digest] = JSON.parse(packed) as [number, string]
    return { sequence, digest }
  }

  advance(resource_id: string, sequence: number, digest: string): void {
    this.#heads.set(copyText(resource_id), JSON.stringify([sequence, digest]))
  }
}

/** A text of its own, whatever larger one it was cut from. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}
