import type { ResourceHead } from '../artifacts/retention-checkpoint.ts'
import { fromHex, toHex } from '../canonical/digest.ts'
import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'

const SLAB_BYTES = 1 << 20
const LENGTH_BYTES = 4

/** Many small texts, one after the other in large blocks: separate texts would need twice the memory. */
class PackedTexts {
  readonly #slabs: Uint8Array[] = []
  #used = SLAB_BYTES

  /** Returns the offset to read it from. */
  add(text: string): number {
    return this.addBytes(toUtf8(text))
  }

  addBytes(bytes: Uint8Array): number {
    const needed = LENGTH_BYTES + bytes.length
    if (needed > SLAB_BYTES) throw new RangeError('a text is too long to be packed')
    if (this.#used + needed > SLAB_BYTES) {
      this.#slabs.push(new Uint8Array(SLAB_BYTES))
      this.#used = 0
    }
    const offset = (this.#slabs.length - 1) * SLAB_BYTES + this.#used
    this.#used += needed
    this.#write(offset, bytes)
    return offset
  }

  /** Writes at the old offset when it fits; returns the new offset. */
  replace(offset: number, bytes: Uint8Array): number {
    if (this.readBytes(offset).length < bytes.length) return this.addBytes(bytes)
    this.#write(offset, bytes)
    return offset
  }

  read(offset: number): string {
    return fromUtf8(this.readBytes(offset)) ?? ''
  }

  readBytes(offset: number): Uint8Array {
    const slab = this.#slabs[Math.floor(offset / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = offset % SLAB_BYTES
    const length = new DataView(slab.buffer).getUint32(at)
    return slab.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)
  }

  #write(offset: number, bytes: Uint8Array): void {
    const slab = this.#slabs[Math.floor(offset / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = offset % SLAB_BYTES
    new DataView(slab.buffer).setUint32(at, bytes.length)
    slab.set(bytes, at + LENGTH_BYTES)
  }
}

/** The facts of a decision that its justification and its executions are compared with. */
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
 * Every decision of a run, packed: a run may have millions, and a part of a line would retain the whole line in
 * memory.
 */
export class DecisionChains {
  readonly #numbers = new Map<string, number>()
  /** Vendor, attestation and capability, which thousands of decisions share, stored once. */
  readonly #parties = new Map<string, number>()
  readonly #partyTexts: string[] = []
  readonly #facts = new PackedTexts()
  readonly #digests = new PackedTexts()
  /** By number: the offset of the facts, of the last digest, and the last sequence; 0 where there is none. */
  #offsets = new Float64Array(3 * 1024)
  /** The decision added last: its justification and its execution nearly always follow it at once. */
  #newest: StoredDecision | undefined
  #newestParties = -1

  add(facts: StoredDecision): void {
    const { authorized, decision_made_at, decision_valid_until, context_id } = facts
    const about = this.#partiesOf(facts)
    this.#newest = facts
    this.#newestParties = about
    const packed = JSON.stringify([about, authorized, decision_made_at, decision_valid_until, context_id])
    // First the row: a new row may move the offsets into a larger list.
    const row = this.#row(facts.decision_id)
    this.#offsets[row] = this.#facts.add(packed) + 1
  }

  find(decision_id: string): StoredDecision | undefined {
    if (this.#newest?.decision_id === decision_id) return this.#newest
    const number = this.#numbers.get(decision_id)
    const offset = number === undefined ? 0 : (this.#offsets[number * 3] ?? 0)
    if (offset === 0) return undefined
    const [about, authorized, decision_made_at, decision_valid_until, context_id] = JSON.parse(
      this.#facts.read(offset - 1),
    ) as [number, boolean, string, string, string]
    const [vendor_id, attestation_id, capability] = JSON.parse(this.#partyTexts[about] ?? '[]') as Parties
    const parties = { vendor_id, attestation_id, capability }
    return { decision_id, authorized, decision_made_at, decision_valid_until, context_id, ...parties }
  }

  /** The last execution of a decision in this run. */
  position(decision_id: string): ChainPosition | undefined {
    const row = (this.#numbers.get(decision_id) ?? -1) * 3
    const offset = this.#offsets[row + 1] ?? 0
    if (offset === 0) return undefined
    return { sequence: this.#offsets[row + 2] ?? 0, digest: toHex(this.#digests.readBytes(offset - 1)) }
  }

  /** `digest` is 64 hexadecimal digits. */
  advance(decision_id: string, sequence: number, digest: string): void {
    const row = this.#row(decision_id)
    const bytes = fromHex(digest) ?? new Uint8Array()
    const offset = this.#offsets[row + 1] ?? 0
    this.#offsets[row + 1] =
      (offset === 0 ? this.#digests.addBytes(bytes) : this.#digests.replace(offset - 1, bytes)) + 1
    this.#offsets[row + 2] = sequence
  }

  #partiesOf({ vendor_id, attestation_id, capability }: StoredDecision): number {
    const last = this.#newest
    if (last?.vendor_id === vendor_id && last.attestation_id === attestation_id && last.capability === capability)
      return this.#newestParties
    const parties = JSON.stringify([vendor_id, attestation_id, capability])
    return this.#parties.get(parties) ?? this.#addParties(parties)
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
    if (row >= this.#offsets.length) {
      const larger = new Float64Array(this.#offsets.length * 2)
      larger.set(this.#offsets)
      this.#offsets = larger
    }
    return row
  }
}

/** The last record of every resource in a run, beginning with those a checkpoint names. */
export class ResourceChains {
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

/** Copies a text, so that the larger text it was cut from can be freed. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}
