import { REVOCATION_REASONS } from '../artifacts/crl.ts'
import { fromBase64 } from '../canonical/base64.ts'
import { canonicalBytes, canonicalJson } from '../canonical/canonical-json.ts'
import { joinBytes, toUtf8 } from '../canonical/utf8.ts'
import { JsonError } from '../canonical/read-json.ts'
import { readInstant } from '../canonical/time.ts'
import { isPlainText } from '../reading/text.ts'
import type { Signature } from '../signing/keys.ts'
import { ByteScanner, GrowingBytes, ScanError, type Token } from './byte-scanner.ts'

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** By form: as any authority writes it (protocol/gateway 2.6), or as ours does (protocol/core 9.1). */
export type ListForm = 'any' | 'own'
const MAX_SIGNATURES = { any: 64, own: 8 } as const
export const MAX_ENTRIES: Readonly<Record<ListForm, number>> = { any: Number.MAX_SAFE_INTEGER, own: 1_000_000 }
const MAX_IDENTIFIER = 128

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
  /** What the signatures are over, in canonical form. The entries are a part of it: there is one copy of them. */
  readonly signed: Uint8Array
  readonly count: number
  /** An entry names another issuer than the list. */
  readonly hasForeignEntry: boolean
}

/** The list, or undefined for bytes that are none. Costs what the bytes cost, whatever they are made of. */
export function scanRevocationList(bytes: Uint8Array, form: ListForm = 'any'): ScannedList | undefined {
  try {
    return new ListScan(bytes, form).run()
  } catch (error) {
    if (error instanceof ScanError || error instanceof JsonError) return undefined
    throw error
  }
}

const ENTRY_NAMES = ['certificate_id', 'issuer', 'reason', 'revoked_at'] as const
const ENTRY_NAME_BYTES = ENTRY_NAMES.map((name) => toUtf8(name))
/** The text before each value of an entry in canonical form. */
const ENTRY_HEADS = ENTRY_NAMES.map((name, index) => toUtf8(`${index === 0 ? '{' : ','}"${name}":`))
const [ISSUER, REASON] = [ENTRY_NAMES.indexOf('issuer'), ENTRY_NAMES.indexOf('reason')]
const REVOKED_AT = ENTRY_NAMES.indexOf('revoked_at')
export const ENTRY_HEAD_LENGTHS: readonly number[] = ENTRY_HEADS.map((head) => head.length)
const [COMMA, ENTRY_END, LIST_START, LIST_END] = [toUtf8(','), toUtf8('}'), toUtf8('['), toUtf8(']')]
const OWN_REASONS = REVOCATION_REASONS.map((reason) => canonicalBytes(reason))
/** Before the entries, for the members that are signed in front of them. */
const HEAD_ROOM = 4096
/** Behind the entries, for the number of the list. */
const TAIL_ROOM = 64

/** Members that are signed in front of the entries. */
export type SignedHead = Readonly<Record<'crl_id' | 'issued_at' | 'issuer' | 'next_update', string>>

/** Opens the bytes of a list: the caller adds the entries as the array they are, and closes it with {@link closeList}. */
export function openList(length: number): GrowingBytes {
  const out = new GrowingBytes(HEAD_ROOM + length + TAIL_ROOM)
  out.skip(HEAD_ROOM)
  return out
}

/** Puts what is signed around the entries, where they are. */
export function closeList(
  out: GrowingBytes,
  { crl_id, issued_at, issuer, next_update }: SignedHead,
  sequence: number,
): Pick<ScannedList, 'entries' | 'signed'> {
  const end = out.length
  out.add(toUtf8(`,"sequence":${sequence}}`))
  const bytes = out.view()
  const entries = bytes.subarray(HEAD_ROOM, end)
  const head = canonicalJson({ crl_id, issued_at, issuer, next_update })
  const before = toUtf8(`${head.slice(0, -1)},"revoked_certificates":`)
  // No authority makes such a long head; it is still checked.
  if (before.length > HEAD_ROOM) return { entries, signed: joinBytes([before, bytes.subarray(HEAD_ROOM)]) }
  bytes.set(before, HEAD_ROOM - before.length)
  return { entries, signed: bytes.subarray(HEAD_ROOM - before.length) }
}

class ListScan {
  readonly #bytes: Uint8Array
  readonly #form: ListForm
  readonly #scan: ByteScanner
  readonly #texts = new Map<string, string>()
  #sequence: number | undefined
  #signatures: readonly Signature[] = []
  /** The entries in canonical form, with room in front. */
  #out: GrowingBytes | undefined
  #count = 0
  /** The issuer the entries name, in canonical form, while they agree. */
  #entryIssuer: Uint8Array | undefined
  #doIssuersDiffer = false

  constructor(bytes: Uint8Array, form: ListForm) {
    this.#bytes = bytes
    this.#form = form
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
    const crl_id = this.#own('crl_id')
    const sequence = this.#sequence
    if (sequence === undefined) throw new ScanError('sequence is missing')
    this.#requireIdentifiers(crl_id, issuer)
    const head = { crl_id, issued_at: issued_at.text, issuer, next_update: next_update.text }
    if (this.#out === undefined) this.#openEntries(0).add(LIST_END)
    const out = this.#out as unknown as GrowingBytes
    return {
      crl_id,
      sequence,
      issued_at: issued_at.text,
      next_update: next_update.text,
      issuer,
      signatures: this.#signatures,
      ...closeList(out, head, sequence),
      count: this.#count,
      hasForeignEntry: this.#doIssuersDiffer || (this.#count > 0 && !isSame(this.#entryIssuer, canonicalBytes(issuer))),
    }
  }

  #openEntries(length: number): GrowingBytes {
    const out = openList(length)
    out.add(LIST_START)
    this.#out = out
    return out
  }

  #requireIdentifiers(...texts: readonly string[]): void {
    if (this.#form === 'own' && !texts.every((text) => isPlainText(text, MAX_IDENTIFIER)))
      throw new ScanError('an identifier is needed')
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
      if (found.length === MAX_SIGNATURES[this.#form]) throw new ScanError('too many signatures')
      const members = new Map<string, string>()
      this.#scan.each(OPEN_OBJECT, CLOSE_OBJECT, () => {
        const name = this.#scan.text(this.#scan.name())
        if (members.has(name) || (name !== 'key_id' && name !== 'sig')) throw new ScanError('an unknown member')
        members.set(name, this.#scan.text(this.#scan.string()))
      })
      const [key_id, sig] = [members.get('key_id'), members.get('sig')]
      if (key_id === undefined || sig === undefined) throw new ScanError('a member of a signature is missing')
      this.#requireIdentifiers(key_id)
      if (this.#form === 'own' && (sig.length !== 88 || fromBase64(sig)?.length !== 64))
        throw new ScanError('a signature is needed')
      found.push({ key_id, sig })
    })
    return found
  }

  /** Entries leave in canonical form, one after another; none becomes an object. */
  #scanEntries(): void {
    const out = this.#openEntries(this.#bytes.length)
    this.#scan.each(OPEN_ARRAY, CLOSE_ARRAY, () => {
      if (this.#count === MAX_ENTRIES[this.#form]) throw new ScanError('too many entries')
      if (this.#count > 0) out.add(COMMA)
      this.#scanEntry(out)
      this.#count += 1
    })
    out.add(LIST_END)
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
      if (this.#form === 'own' && index !== REVOKED_AT) this.#requireOwn(index, token, values[index])
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

  /** Checks like `readCrl`: ids are identifiers, reasons are of the four. */
  #requireOwn(index: number, token: Token, canonical: Uint8Array): void {
    if (index === REASON) {
      if (!OWN_REASONS.some((reason) => isSame(reason, canonical))) throw new ScanError('an unknown reason')
      return
    }
    const length = token.end - token.start - 2
    if (token.isPlain && length >= 1 && length <= MAX_IDENTIFIER) return
    this.#requireIdentifiers(this.#scan.text(token))
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
