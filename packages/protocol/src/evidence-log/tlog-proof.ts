import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { HASH_BYTES } from './tree.ts'

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const MAX_HASHES = 64
/** Longest text that is read. The extra data is an envelope of at most 64 KiB. */
const MAX_LENGTH = 256 * 1024

/** A proof that an entry is in a log, which is verified without a call (C2SP tlog-proof). */
export interface TlogProof {
  /** Not signed: for Chancery the envelope of the entry, whose digest is the leaf. */
  readonly extra: Uint8Array | undefined
  readonly index: number
  readonly proof: readonly Uint8Array[]
  /** The signed note, with cosignatures. */
  readonly checkpoint: string
}

export function writeTlogProof({ extra, index, proof, checkpoint }: TlogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...proof.map((hash) => toBase64(hash)),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Undefined for any other text. */
export function readTlogProof(text: string): TlogProof | undefined {
  const end = text.indexOf('\n\n')
  if (end < 0 || text.length > MAX_LENGTH) return undefined
  const lines = text.slice(0, end).split('\n')
  if (lines.shift() !== FIRST_LINE) return undefined
  const hasExtra = lines[0]?.startsWith('extra ') === true
  const extra = hasExtra ? fromBase64(lines.shift()?.slice('extra '.length) ?? '') : undefined
  const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? []
  if (index === undefined || (hasExtra && extra === undefined) || lines.length > MAX_HASHES) return undefined
  const proof = lines.flatMap((line) => fromBase64(line) ?? [])
  if (proof.length !== lines.length || proof.some((hash) => hash.length !== HASH_BYTES)) return undefined
  return { extra, index: Number(index), proof, checkpoint: text.slice(end + 2) }
}
