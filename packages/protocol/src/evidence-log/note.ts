import { joinBytes, toUtf8 } from '../canonical/utf8.ts'
import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { sha256, toHex } from '../canonical/digest.ts'
import { type Signer, readPublicKey, verifySignature } from '../signing/keys.ts'
import { HASH_BYTES, sameBytes } from './tree.ts'

/** What a log says of itself at one moment (C2SP tlog-checkpoint). */
export interface LogCheckpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** A signed note: the text, and lines of signatures under it (C2SP signed-note). */
export interface SignedNote {
  /** With the line feed at its end: the very bytes that are signed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export interface NoteSignature {
  readonly name: string
  readonly keyHash: Uint8Array
  readonly signature: Uint8Array
}

const ED25519 = 0x01
const COSIGNATURE = 0x04

/** The name under which an authority signs its log; it names the network, and nothing else signs notes under it. */
export function logOrigin(network: string): string {
  return `chancery-evidence-log/${encodeURIComponent(network)}`
}

export function checkpointText({ origin, size, root }: LogCheckpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/** The checkpoint in a note, or undefined when its text is none. Lines behind the third are extensions. */
export function readCheckpointText(text: string): LogCheckpoint | undefined {
  const [origin = '', size = '', root = ''] = text.split('\n')
  const bytes = fromBase64(root)
  if (!text.endsWith('\n') || origin === '' || !/^(?:0|[1-9]\d{0,15})$/.test(size)) return undefined
  // Two sizes above this limit would be one number.
  if (!Number.isSafeInteger(Number(size))) return undefined
  return bytes?.length === HASH_BYTES ? { origin, size: Number(size), root: bytes } : undefined
}

export function writeNote({ text, signatures }: SignedNote): string {
  const lines = signatures.map(
    ({ name, keyHash, signature }) => `\u2014 ${name} ${toBase64(joinBytes([keyHash, signature]))}\n`,
  )
  return `${text}\n${lines.join('')}`
}

/** Names have no spaces of any script and no plus sign, which separates the parts of a verifier key. */
const NAME = /^[^\s\u0085+]+$/
/** Control characters other than the line feed could show a reader another text than the signed one. */
// oxlint-disable-next-line no-control-regex -- they are what is refused
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/

/** Returns the received note, or undefined. Signatures of unknown kinds stay in it for other verifiers. */
export function readNote(note: string): SignedNote | undefined {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n') || CONTROL.test(note)) return undefined
  const signatures: NoteSignature[] = []
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [, name = '', text = ''] = /^\u2014 ([^ ]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
    const bytes = fromBase64(text)
    if (!NAME.test(name) || bytes === undefined || bytes.length < 5) return undefined
    signatures.push({ name, keyHash: bytes.slice(0, 4), signature: bytes.slice(4) })
  }
  return { text: note.slice(0, end + 1), signatures }
}

/** Signs a checkpoint under the name of the log, with one line for each signer. */
export async function signCheckpoint(checkpoint: LogCheckpoint, ...signers: readonly Signer[]): Promise<string> {
  const text = checkpointText(checkpoint)
  const signatures: NoteSignature[] = []
  for (const signer of signers) {
    const keyHash = noteKeyHash(checkpoint.origin, ED25519, signer.publicKey)
    signatures.push({ name: checkpoint.origin, keyHash, signature: await signer.sign(toUtf8(text)) })
  }
  return writeNote({ text, signatures })
}

/** The checkpoint of a note, when it is signed under this name by this key. */
export async function openCheckpoint(
  note: string,
  origin: string,
  publicKey: string,
): Promise<LogCheckpoint | undefined> {
  const read = readNote(note)
  const checkpoint = read === undefined ? undefined : readCheckpointText(read.text)
  if (read === undefined || checkpoint?.origin !== origin) return undefined
  const wanted = noteKeyHash(origin, ED25519, publicKey)
  for (const { name, keyHash, signature } of read.signatures) {
    if (name !== origin || !sameBytes(keyHash, wanted)) continue
    if (await verifySignature(publicKey, toUtf8(read.text), toBase64(signature))) return checkpoint
  }
  return undefined
}

/** A witness signs that it saw this checkpoint at this time, and none that contradicts it (C2SP cosignature/v1). */
export async function cosignNote(note: SignedNote, witness: Signer, unixSeconds: number): Promise<SignedNote> {
  const signature = await witness.sign(cosignedBytes(note.text, unixSeconds))
  const keyHash = noteKeyHash(witness.keyId, COSIGNATURE, witness.publicKey)
  const added = { name: witness.keyId, keyHash, signature: joinBytes([bigEndian(unixSeconds), signature]) }
  return { ...note, signatures: [...note.signatures, added] }
}

/** When a witness cosigned the note, in seconds; undefined when it did not. */
export async function cosignedAt(note: SignedNote, name: string, publicKey: string): Promise<number | undefined> {
  const wanted = noteKeyHash(name, COSIGNATURE, publicKey)
  for (const each of note.signatures) {
    if (each.name !== name || !sameBytes(each.keyHash, wanted) || each.signature.length !== 72) continue
    const seconds = each.signature.slice(0, 8).reduce((sum, byte) => sum * 256 + byte, 0)
    const sig = toBase64(each.signature.slice(8))
    if (await verifySignature(publicKey, cosignedBytes(note.text, seconds), sig)) return seconds
  }
  return undefined
}

/** The key of a log or of a witness, with the name under which it signs notes. */
export interface NoteKey {
  readonly name: string
  readonly publicKey: string
}

/** The key of a witness, with the name under which it cosigns. */
export type WitnessKey = NoteKey

/** Writes the key of a witness as a verifier key: name, key hash and key, with a plus sign between (C2SP signed-note). */
export function writeWitnessKey(key: WitnessKey): string {
  return writeKey(COSIGNATURE, key)
}

/** Reads the verifier key of a witness; undefined for another kind of key or another spelling. */
export function readWitnessKey(text: string): WitnessKey | undefined {
  return readKey(COSIGNATURE, text)
}

/** Writes the key of a log as a verifier key. Its name is the origin of the log. */
export function writeLogKey(key: NoteKey): string {
  return writeKey(ED25519, key)
}

/** Reads the verifier key of a log; undefined for another kind of key or another spelling. */
export function readLogKey(text: string): NoteKey | undefined {
  return readKey(ED25519, text)
}

/** True for a text that may be the name of a key, and so the origin of a log. */
export function isNoteName(text: string): boolean {
  return NAME.test(text) && !CONTROL.test(text)
}

function writeKey(algorithm: number, { name, publicKey }: NoteKey): string {
  const key = joinBytes([Uint8Array.of(algorithm), readPublicKey(publicKey) ?? new Uint8Array()])
  return `${name}+${toHex(noteKeyHash(name, algorithm, publicKey))}+${toBase64(key)}`
}

function readKey(algorithm: number, text: string): NoteKey | undefined {
  const [name = '', , ...rest] = text.split('+')
  // The key in base64 may contain plus signs too.
  const bytes = fromBase64(rest.join('+'))
  if (!isNoteName(name) || bytes?.[0] !== algorithm || bytes.length !== 33) return undefined
  const key = { name, publicKey: toBase64(bytes.slice(1)) }
  if (readPublicKey(key.publicKey) === undefined) return undefined
  return writeKey(algorithm, key) === text ? key : undefined
}

function cosignedBytes(text: string, unixSeconds: number): Uint8Array {
  return toUtf8(`cosignature/v1\ntime ${unixSeconds}\n${text}`)
}

/** Four bytes that identify a key; they select a key and prove nothing. */
function noteKeyHash(name: string, algorithm: number, publicKey: string): Uint8Array {
  const key = readPublicKey(publicKey)
  if (key === undefined) throw new TypeError('a public key is 32 bytes in base64')
  return sha256(joinBytes([toUtf8(`${name}\n`), Uint8Array.of(algorithm), key])).slice(0, 4)
}

function bigEndian(value: number): Uint8Array {
  return Uint8Array.from({ length: 8 }, (_, at) => Math.floor(value / 256 ** (7 - at)) % 256)
}
