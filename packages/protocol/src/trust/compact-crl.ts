import type { Crl, CrlEntry } from '../artifacts/crl.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'
import { applyListDelta, readListDelta } from './list-delta.ts'
import type { ListPosition } from './revocation-list.ts'
import { type ScannedList, scanRevocationList } from './scan-revocation-list.ts'
import { positionOfScan, piecesOfScan, verifyScan } from './scanned-list.ts'

const OPEN_OBJECT = 0x7b

/**
 * A revocation list as one run of bytes: about its own size in memory, where values of all entries take many times as
 * much. It answers what a reader of a list asks, and accepts what {@link readCrl} accepts.
 */
export class CompactCrl {
  readonly #list: ScannedList
  #position: ListPosition | undefined
  #values: WeakRef<readonly CrlEntry[]> | undefined
  /**
   * The list as a record. Its entries become values each time `revoked_certificates` is read: for a large
   * list use {@link entryOf} or {@link count} instead where they are enough.
   */
  readonly crl: Crl

  private constructor(list: ScannedList) {
    this.#list = list
    const values = (): readonly CrlEntry[] => this.#entries()
    const { crl_id, sequence, issued_at, next_update, issuer, signatures } = list
    // A plain object with own members: it is JSON and may be used as such.
    this.crl = {
      crl_id,
      sequence,
      issued_at,
      next_update,
      issuer,
      get revoked_certificates() {
        return values()
      },
      signatures,
    }
  }

  /** The list, or undefined for bytes that are none of the protocol's own form (protocol/core 9.1). */
  static read(bytes: Uint8Array): CompactCrl | undefined {
    const list = scanRevocationList(bytes, 'own')
    return list === undefined ? undefined : new CompactCrl(list)
  }

  /**
   * The list that a delta makes of this one. Undefined when the delta is of another list or does not fit. Verify the result
   * with {@link isSignedBy}, as any list: a delta has no signature.
   */
  withDelta(bytes: Uint8Array): CompactCrl | undefined {
    const delta = readListDelta(bytes, 'own')
    const next = delta && applyListDelta(this.#list, delta, 'own')
    return next === undefined ? undefined : new CompactCrl(next)
  }

  /** How many entries it has. */
  get count(): number {
    return this.#list.count
  }

  /** The position for `checkListAdvance`. */
  get position(): ListPosition {
    return (this.#position ??= positionOfScan(this.#list))
  }

  /** What its signatures are over. */
  get signedBytes(): Uint8Array {
    return this.#list.signed
  }

  /** The whole list in canonical form, in pieces that follow each other: to be written, and not changed. */
  get pieces(): readonly Uint8Array[] {
    return piecesOfScan(this.#list)
  }

  /** True when one signature verifies under one of the accepted keys, as {@link verifyList} says of a record. */
  isSignedBy(keys: readonly string[]): Promise<boolean> {
    return verifyScan(this.#list, keys)
  }

  /** The entry of a certificate, the first where there are more. */
  entryOf(certId: string): CrlEntry | undefined {
    if (!certId.isWellFormed()) return undefined
    const { entries } = this.#list
    // Inside a text canonical form writes a backslash before each quote: this text occurs only at the start of an entry.
    const start = toUtf8(`{"certificate_id":${canonicalJson(certId)},`)
    for (let at = entries.indexOf(OPEN_OBJECT); at >= 0; at = entries.indexOf(OPEN_OBJECT, at + 1))
      if (isAt(entries, at, start)) return entryAt(entries, at)
    return undefined
  }

  /** Not made again as long as a caller uses them. */
  #entries(): readonly CrlEntry[] {
    const stored = this.#values?.deref()
    if (stored !== undefined) return stored
    const made = JSON.parse(fromUtf8(this.#list.entries) ?? '[]') as CrlEntry[]
    this.#values = new WeakRef(made)
    return made
  }
}

function isAt(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  // All ids of a list may begin alike, so the comparison starts at the end, where they differ.
  for (let i = part.length - 1; i >= 0; i -= 1) if (bytes[at + i] !== part[i]) return false
  return true
}

/** The entry that begins here. No member of it is an object, so it ends with the next bracket that is in no text. */
function entryAt(entries: Uint8Array, start: number): CrlEntry {
  let isText = false
  let at = start
  for (; isText || entries[at] !== 0x7d; at += 1) {
    if (entries[at] === 0x22) isText = !isText
    else if (isText && entries[at] === 0x5c) at += 1
  }
  const { certificate_id, revoked_at, reason, issuer } = JSON.parse(
    fromUtf8(entries.subarray(start, at + 1)) ?? '{}',
  ) as CrlEntry
  return { certificate_id, revoked_at, reason, issuer }
}
