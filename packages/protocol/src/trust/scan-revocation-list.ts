import { canonicalBytes } from '../canonical/canonical-json.ts'
import { JsonError } from '../canonical/read-json.ts'
import { readInstant } from '../canonical/time.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import type { Signature } from '../signing/forms.ts'
import { ByteScanner, ScanError } from './byte-scanner.ts'
import type { Token } from './byte-scanner.ts'
import { GrowingBytes } from './growing-bytes.ts'

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const MAX_SIGNATURES = 64

/** A revocation list of which nothing but its few own members has become a value (protocol/gateway 2.6). */
export interface ScannedList {
  readonly crl_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly issuer: string
  readonly signatures: readonly Signature[]
  /** The entries in canonical form, as the array they are. */
  readonly entries: Uint8Array
  readonly count: number
  /** An entry names another issuer than the list. */
  readonly hasForeignEntry: boolean
}

/** The list, or undefined for bytes that are none. Costs what the bytes cost, whatever they are made of. */
export function scanRevocationList(bytes: Uint8Array): ScannedList | undefined {
  try {
    return new ListScan(bytes).run()
  } catch (error) {
    if (error instanceof ScanError || error instanceof JsonError) return undefined
    throw error
  }
}

const ENTRY_NAMES = ['certificate_id', 'issuer', 'reason', 'revoked_at'] as const
const ENTRY_NAME_BYTES = ENTRY_NAMES.map((name) => toUtf8(name))
/** What stands before each value of an entry in canonical form. */
const ENTRY_HEADS = ENTRY_NAMES.map((name, index) => toUtf8(`${index === 0 ? '{' : ','}"${name}":`))
const [ISSUER, REVOKED_AT] = [ENTRY_NAMES.indexOf('issuer'), ENTRY_NAMES.indexOf('revoked_at')]
export const ENTRY_HEAD_LENGTHS: readonly number[] = ENTRY_HEADS.map((head) => head.length)
const [COMMA, ENTRY_END, LIST_START, LIST_END] = [toUtf8(','), toUtf8('}'), toUtf8('['), toUtf8(']')]
const EMPTY = toUtf8('[]')

class ListScan {
  readonly #bytes: Uint8Array
  readonly #scan: ByteScanner
  readonly #texts = new Map<string, string>()
  #sequence: number | undefined
  #signatures: readonly Signature[] = []
  #entries: Uint8Array = EMPTY
  #count = 0
  /** The issuer the entries name, in canonical form, while they agree. */
  #entryIssuer: Uint8Array | undefined
  #doIssuersDiffer = false

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#scan = new ByteScanner(bytes)
  }

  run(): ScannedList {
    const seen = new Set<string>()
    this.#scan.each(OPEN_OBJECT, CLOSE_OBJECT, () => {
      const name = this.#scan.text(this.#scan.name())
      if (seen.has(name)) throw new ScanError('a member name is repeated')
      seen.add(name)
      this.#member(name)
    })
    this.#scan.end()
    const [issued_at, next_update] = [this.#time('issued_at'), this.#time('next_update')]
    if (issued_at.at >= next_update.at) throw new ScanError('next_update is not after issued_at')
    const issuer = this.#own('issuer')
    if (this.#sequence === undefined) throw new ScanError('sequence is missing')
    return {
      crl_id: this.#own('crl_id'),
      sequence: this.#sequence,
      issued_at: issued_at.text,
      next_update: next_update.text,
      issuer,
      signatures: this.#signatures,
      entries: this.#entries,
      count: this.#count,
      hasForeignEntry: this.#doIssuersDiffer || (this.#count > 0 && !isSame(this.#entryIssuer, canonicalBytes(issuer))),
    }
  }

  #member(name: string): void {
    switch (name) {
      case 'crl_id':
      case 'issuer':
      case 'issued_at':
      case 'next_update':
        this.#texts.set(name, this.#scan.text(this.#scan.string()))
        return
      case 'sequence':
        this.#sequence = this.#readSequence()
        return
      case 'signatures':
        this.#signatures = this.#readSignatures()
        return
      case 'revoked_certificates':
        this.#scanEntries()
        return
      default:
        throw new ScanError('an unknown member')
    }
  }

  #readSequence(): number {
    const value = this.#scan.number()
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    throw new ScanError('sequence is no count')
  }

  #readSignatures(): readonly Signature[] {
    const found: Signature[] = []
    this.#scan.each(OPEN_ARRAY, CLOSE_ARRAY, () => {
      if (found.length === MAX_SIGNATURES) throw new ScanError('too many signatures')
      const members = new Map<string, string>()
      this.#scan.each(OPEN_OBJECT, CLOSE_OBJECT, () => {
        const name = this.#scan.text(this.#scan.name())
        if (members.has(name) || (name !== 'key_id' && name !== 'sig')) throw new ScanError('an unknown member')
        members.set(name, this.#scan.text(this.#scan.string()))
      })
      const [key_id, sig] = [members.get('key_id'), members.get('sig')]
      if (key_id === undefined || sig === undefined) throw new ScanError('a member of a signature is missing')
      found.push({ key_id, sig })
    })
    return found
  }

  /** Entries leave in canonical form, one after another; none becomes an object. */
  #scanEntries(): void {
    const out = new GrowingBytes(this.#bytes.length)
    out.add(LIST_START)
    this.#scan.each(OPEN_ARRAY, CLOSE_ARRAY, () => {
      if (this.#count > 0) out.add(COMMA)
      this.#scanEntry(out)
      this.#count += 1
    })
    out.add(LIST_END)
    this.#entries = out.view()
  }

  #scanEntry(out: GrowingBytes): void {
    const values: (Uint8Array | undefined)[] = [undefined, undefined, undefined, undefined]
    this.#scan.each(OPEN_OBJECT, CLOSE_OBJECT, () => {
      const index = this.#entryName(this.#scan.name())
      if (values[index] !== undefined) throw new ScanError('a member name is repeated')
      const token = this.#scan.string()
      if (index === REVOKED_AT && readInstant(this.#scan.text(token)) === undefined)
        throw new ScanError('revoked_at is no instant')
      values[index] = this.#canonical(token)
    })
    for (const [index, head] of ENTRY_HEADS.entries()) {
      const value = values[index]
      if (value === undefined) throw new ScanError('a member of an entry is missing')
      out.add(head)
      out.add(value)
    }
    out.add(ENTRY_END)
    this.#noteIssuer(values[ISSUER])
  }

  #noteIssuer(issuer: Uint8Array | undefined): void {
    if (this.#entryIssuer === undefined) this.#entryIssuer = issuer
    else if (!isSame(this.#entryIssuer, issuer)) this.#doIssuersDiffer = true
  }

  #entryName(token: Token): number {
    const inner = token.isPlain ? this.#scan.inner(token) : toUtf8(this.#scan.text(token))
    const index = ENTRY_NAME_BYTES.findIndex((name) => isSame(name, inner))
    if (index < 0) throw new ScanError('an unknown member')
    return index
  }

  /** The bytes themselves where they are canonical already. */
  #canonical(token: Token): Uint8Array {
    return token.isPlain ? this.#bytes.subarray(token.start, token.end) : canonicalBytes(this.#scan.text(token))
  }

  #own(name: string): string {
    const text = this.#texts.get(name)
    if (text === undefined) throw new ScanError(`${name} is missing`)
    return text
  }

  #time(name: string): { readonly text: string; readonly at: bigint } {
    const text = this.#own(name)
    const at = readInstant(text)
    if (at === undefined) throw new ScanError(`${name} is no instant`)
    return { text, at }
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined || a.length !== b.length) return false
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false
  return true
}
