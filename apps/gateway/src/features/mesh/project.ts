import type { MeshFeed, MeshImport, MeshLink, MeshMember } from '@chancery/contract'
import {
  JsonError,
  canonicalBytes,
  isJsonObject,
  readInstant,
  readJsonBytes,
  seconds,
  toUtf8,
  verifySignature,
  wasCurrent,
} from '@chancery/protocol'
import type { FormerKey, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { compare } from './mesh-document.ts'

/** Decides which records of a network are shown. Plain data, so that it can be sent to another thread. */
export interface Facts {
  readonly network: string
  readonly anchors: Readonly<Record<string, string>>
  /** They count for records of the time in which the authority signed with them. */
  readonly formerKeys: readonly FormerKey[]
  /** The networks that are shown. No other name may appear. */
  readonly published: readonly string[]
  readonly now: Instant
}

/** The shown records of one page, and the cursor of the next page. */
export interface Page<Shown> {
  readonly shown: readonly Shown[]
  readonly next: string | undefined
}

const ROLE_LIMIT = 16
const MAX_CURSOR = 2048
const MAX_ID_BYTES = 256
const FEED_AHEAD = seconds(300)
const FEED_AGE = seconds(86_400)
const READ_LIMITS = { maxDepth: 64, maxValues: 500_000, maxNames: 10_000 }

/**
 * Selects what may be shown of one network (protocol/gateway 14.3). A record is shown only when its signature verifies
 * under the keys that the operator of this gateway pinned.
 */

/** Returns the treaties of a page, or undefined when the document is malformed. */
export function projectLinks(bytes: Uint8Array, facts: Facts): Promise<Page<MeshLink> | undefined> {
  return projectPage(bytes, ['recognition_treaties', 'treaty'], (record) => toLink(record, facts), facts)
}

export function projectMembers(bytes: Uint8Array, facts: Facts): Promise<Page<MeshMember> | undefined> {
  return projectPage(bytes, ['attestations', 'attestation'], (record) => toMember(record, facts), facts)
}

export function projectFeed(bytes: Uint8Array | undefined, facts: Facts): Promise<MeshFeed | null> {
  return toFeed(readObject(bytes), facts)
}

export function projectImports(bytes: Uint8Array | undefined, facts: Facts): readonly MeshImport[] | undefined {
  return toImports(readObject(bytes), facts)
}

async function projectPage<Shown>(
  bytes: Uint8Array,
  [list, member]: readonly [string, string],
  toShown: (record: JsonObject) => Shown | undefined,
  facts: Facts,
): Promise<Page<Shown> | undefined> {
  const document = readObject(bytes)
  const rows = document?.[list]
  if (document === undefined || !Array.isArray(rows)) return undefined
  const shown: Shown[] = []
  for (const row of rows as readonly JsonValue[]) {
    const record = isJsonObject(row) && row['status'] === 'active' ? row[member] : undefined
    const each = isJsonObject(record) ? toShown(record) : undefined
    // Last, because verifying a signature is the most expensive step.
    if (each !== undefined && isJsonObject(record) && (await isSigned(record, facts))) shown.push(each)
  }
  const next = document['next_cursor']
  return { shown, next: typeof next === 'string' && next !== '' && next.length <= MAX_CURSOR ? next : undefined }
}

function toLink(treaty: JsonObject, { network, published, now }: Facts): MeshLink | undefined {
  const { treaty_id: id, subject_sovereign_id: to, scope } = treaty
  const window = windowOf(treaty, now)
  if (window === undefined || treaty['issuer_sovereign_id'] !== network) return undefined
  if (!isShowable(id) || typeof to !== 'string' || to === network || !published.includes(to)) return undefined
  return { id, from: network, to, roles: rolesOf(isJsonObject(scope) ? scope['allowed_roles'] : undefined), ...window }
}

function toMember(attestation: JsonObject, { network, now }: Facts): MeshMember | undefined {
  const { attestation_id: id, subject_id: subject, claims } = attestation
  const window = windowOf(attestation, now)
  if (window === undefined || attestation['issuer_sovereign_id'] !== network) return undefined
  if (!isShowable(id) || !isShowable(subject)) return undefined
  // Exactly `true`: other values have no defined meaning.
  if (!isJsonObject(claims) || claims['public_mesh'] !== true) return undefined
  return { id, network, subject, roles: rolesOf(attestation['roles']), ...window, demo: claims['demo'] === true }
}

/** Returns the times to show when the record is active and current. */
function windowOf(record: JsonObject, now: Instant): Pick<MeshLink, 'issued_at' | 'expires_at'> | undefined {
  const { issued_at, expires_at, status } = record
  const [from, until] = [instantOf(record['valid_from']), instantOf(expires_at)]
  if (status !== 'active' || from === undefined || until === undefined || now < from || now >= until) return undefined
  if (typeof issued_at !== 'string' || typeof expires_at !== 'string' || instantOf(issued_at) === undefined)
    return undefined
  return { issued_at, expires_at }
}

async function toFeed(feed: JsonObject | undefined, facts: Facts): Promise<MeshFeed | null> {
  const { issuer_sovereign_id, issued_at, sequence, issued_by } = feed ?? {}
  const at = instantOf(issued_at)
  if (feed === undefined || issuer_sovereign_id !== facts.network || at === undefined) return null
  if (at > facts.now + FEED_AHEAD || facts.now - at > FEED_AGE) return null
  if (!isCount(sequence) || typeof issued_at !== 'string' || typeof issued_by !== 'string') return null
  if (!(await isSigned(feed, facts, issued_by))) return null
  return { sequence, issued_at, signature_verified: true }
}

function toImports(dashboard: JsonObject | undefined, { published }: Facts): readonly MeshImport[] | undefined {
  const rows = dashboard?.['revocation_feeds']
  if (!Array.isArray(rows)) return undefined
  const found = new Map<string, MeshImport>()
  for (const row of rows as readonly JsonValue[]) {
    const { issuer_sovereign_id: issuer, sequence, imported_at } = isJsonObject(row) ? row : {}
    if (typeof issuer !== 'string' || !published.includes(issuer) || !isCount(sequence)) continue
    if (typeof imported_at !== 'string' || instantOf(imported_at) === undefined) continue
    found.set(issuer, { issuer, sequence, imported_at })
  }
  return [...found.values()].sort((a, b) => compare(a.issuer, b.issuer))
}

/** Returns whether a signature of the record verifies under a key with its key id: any, or the given one. */
async function isSigned(record: JsonObject, facts: Facts, keyId?: string): Promise<boolean> {
  const { signatures, ...rest } = record
  const message = canonicalBytes(rest)
  const at = instantOf(record['issued_at'])
  for (const signature of Array.isArray(signatures) ? (signatures as readonly JsonValue[]).slice(0, 8) : []) {
    const { key_id, sig } = isJsonObject(signature) ? signature : {}
    if (typeof key_id !== 'string' || typeof sig !== 'string' || (keyId ?? key_id) !== key_id) continue
    for (const key of keysWithId(key_id, at, facts)) if (await verifySignature(key, message, sig)) return true
  }
  return false
}

/** A record may outlive the key that signed it. A former key signs no new one. */
function keysWithId(keyId: string, at: Instant | undefined, { anchors, formerKeys }: Facts): readonly string[] {
  const pinned = Object.hasOwn(anchors, keyId) ? [anchors[keyId] ?? ''] : []
  const former = formerKeys.filter((key) => key.key_id === keyId && at !== undefined && wasCurrent(key, at))
  return [...pinned, ...former.map((key) => key.public_key)]
}

function readObject(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined
  try {
    const value = readJsonBytes(bytes, READ_LIMITS)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Control characters, and characters that change the text direction. */
const UNSHOWABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

function isShowable(value: JsonValue | undefined): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_ID_BYTES || !value.isWellFormed()) return false
  return toUtf8(value).length <= MAX_ID_BYTES && !UNSHOWABLE.test(value)
}

function rolesOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isShowable).slice(0, ROLE_LIMIT) : []
}

function instantOf(value: JsonValue | undefined): Instant | undefined {
  return typeof value === 'string' ? readInstant(value) : undefined
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
