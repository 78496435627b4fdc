import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { type LogIdentity, logIdentityForm } from '../artifacts/log-identity.ts'
import { type RetentionCheckpoint, retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { HASH_BYTES } from '../evidence-log/tree.ts'
import { FormError, type Read, type ReadBy } from '../reading/schema.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { arrayOf, closed, integer, nullable, oneOf, required, string } from '../reading/shape.ts'
import { asJson } from '../signing/verify-any.ts'
import { readReceived } from '../signing/received.ts'

const ARCHIVE_FORMAT = 'chancery.evidence-archive'

/** Segments that one manifest names at most. */
export const MAX_MANIFEST_SEGMENTS = 1024
/** A range has at most two hashes for each level of the tree, and sizes have 53 bits. */
const MAX_RANGE = 106
const HEX_DIGEST = /^[0-9a-f]{64}$/
const LIMITS = { maxDepth: 8, maxValues: 1_000_000, maxNames: 1_000_000 }

const position = integer(1, Number.MAX_SAFE_INTEGER)
const digest: Read<string> = (value, field) => {
  const text = string(value, field)
  if (!HEX_DIGEST.test(text)) throw new FormError(field, 'is not a digest')
  return text
}
const hash: Read<string> = (value, field) => {
  const text = string(value, field)
  if (fromBase64(text)?.length !== HASH_BYTES) throw new FormError(field, 'is not a hash')
  return text
}
const hashes = arrayOf(hash, { max: MAX_RANGE })
const version: Read<1> = (value, field) => {
  if (value !== 1) throw new FormError(field, 'is not a known version')
  return value
}

const segment = closed({
  digest: required(digest),
  bytes: required(position),
  first: required(position),
  last: required(position),
  /** The hashes of its entries in the tree of the log, as base64. */
  tree: required(hashes),
})

/** One file with entries. Its name is the digest of its bytes. */
export type ArchiveSegment = ReadBy<typeof segment>

const readForm = closed({
  format: required(oneOf(ARCHIVE_FORMAT)),
  version: required(version),
  network: required(string),
  /** 1, 2, 3, …: the name of its file. */
  number: required(integer(1, 99_999_999)),
  /** The digest of the text of the manifest before it. */
  previous: required(nullable(digest)),
  /** Of an archive that begins after removed entries: their signed boundary, and their hashes in the tree. */
  boundary: required(
    nullable((value: JsonValue): RetentionCheckpoint => readReceived(retentionCheckpointForm, value).record),
  ),
  before: required(hashes),
  segments: required(arrayOf(segment, { min: 1, max: MAX_MANIFEST_SEGMENTS })),
  /** The hashes of entries that the checkpoint covers and the archive does not have yet. */
  after: required(hashes),
  /** The checkpoint of the log, with the signature of the authority only. */
  checkpoint: required(string),
  /** Signed by the authority; null for a log whose name follows from the network. */
  log_identity: required(nullable((value: JsonValue): LogIdentity => readReceived(logIdentityForm, value).record)),
})

/**
 * What one run added to an archive of evidence entries (protocol/evidence-archive). It has no signature: the signed
 * checkpoint covers the hashes of all segments.
 */
export type ArchiveManifest = ReadBy<typeof readForm>

export function writeArchiveManifest(manifest: ArchiveManifest): string {
  return `${canonicalJson(asJson(manifest))}\n`
}

/** Reads the text of a manifest; undefined for another form. Another spelling is one, so that each byte counts. */
export function readArchiveManifest(text: string): ArchiveManifest | undefined {
  const manifest = readOrUndefined(() => readForm(readJson(text, LIMITS), ''))
  return manifest !== undefined && writeArchiveManifest(manifest) === text ? manifest : undefined
}

export function manifestName(number: number): string {
  return `manifests/${String(number).padStart(8, '0')}.json`
}

export function segmentName({ digest: name }: Pick<ArchiveSegment, 'digest'>): string {
  return `segments/${name}.jsonl.zst`
}

/** Hashes as a manifest has them. */
export function writeHashes(list: readonly Uint8Array[]): readonly string[] {
  return list.map(toBase64)
}

export function readHashes(list: readonly string[]): readonly Uint8Array[] {
  return list.map((each) => fromBase64(each) ?? new Uint8Array())
}
