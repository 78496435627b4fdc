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
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { LINK_LIMIT, MEMBER_LIMIT, compare } from './mesh-document.ts'
import type { Projection } from './mesh-document.ts'

/** What one authority answered to the four reads; undefined where a read failed. */
export interface Readings {
  readonly treaties: Uint8Array | undefined
  readonly attestations: Uint8Array | undefined
  readonly dashboard: Uint8Array | undefined
  readonly feed: Uint8Array | undefined
}

export interface ProjectionTask {
  readonly network: string
  readonly anchors: Readonly<Record<string, string>>
  /** The networks that are shown at all; no other name may leave. */
  readonly published: readonly string[]
  readonly now: Instant
  readonly readings: Readings
}

const ROLE_LIMIT = 16
const MAX_ID_BYTES = 256
const FEED_AHEAD = seconds(300)
const FEED_AGE = seconds(86_400)
const READ_LIMITS = { maxDepth: 64, maxValues: 500_000, maxNames: 10_000 }

/**
 * What may be shown of one network (protocol/gateway 14.3). Nothing is repeated on the authority's word alone: a record
 * is shown when its own signature verifies under the keys the operator of this gateway pinned.
 */
export async function project(task: ProjectionTask): Promise<Projection> {
  const treaties = rowsOf(task.readings.treaties, 'recognition_treaties', 'treaty')
  const attestations = rowsOf(task.readings.attestations, 'attestations', 'attestation') ?? []
  return {
    isAvailable: treaties !== undefined,
    links: await firstShown(treaties ?? [], (record) => toLink(record, task), { by: 'id', limit: LINK_LIMIT, task }),
    members: await firstShown(attestations, (record) => toMember(record, task), {
      by: 'subject',
      limit: MEMBER_LIMIT,
      task,
    }),
    feed: await toFeed(readObject(task.readings.feed), task),
    imports: toImports(readObject(task.readings.dashboard), task),
  }
}

/** The records of rows that are active; undefined when the document has not its form. */
function rowsOf(bytes: Uint8Array | undefined, list: string, member: string): readonly JsonObject[] | undefined {
  const rows = readObject(bytes)?.[list]
  if (!Array.isArray(rows)) return undefined
  return (rows as readonly JsonValue[]).flatMap((row) => {
    const record = isJsonObject(row) && row['status'] === 'active' ? row[member] : undefined
    return isJsonObject(record) ? [record] : []
  })
}

interface Choice<Shown> {
  readonly by: keyof Shown & string
  readonly limit: number
  readonly task: ProjectionTask
}

/** In order, until the limit is reached: a signature costs far more than everything else here. */
async function firstShown<Shown extends { readonly id: string }>(
  records: readonly JsonObject[],
  toShown: (record: JsonObject) => Shown | undefined,
  { by, limit, task }: Choice<Shown>,
): Promise<readonly Shown[]> {
  const candidates = records
    .flatMap((record) => {
      const shown = toShown(record)
      return shown === undefined ? [] : [{ record, shown }]
    })
    .sort((a, b) => compare(`${String(a.shown[by])}\0${a.shown.id}`, `${String(b.shown[by])}\0${b.shown.id}`))
  const found = new Map<string, Shown>()
  for (const { record, shown } of candidates) {
    if (found.size === limit) break
    if (!found.has(shown.id) && (await isSigned(record, task.anchors))) found.set(shown.id, shown)
  }
  return [...found.values()]
}

function toLink(treaty: JsonObject, { network, published, now }: ProjectionTask): MeshLink | undefined {
  const { treaty_id: id, subject_sovereign_id: to, scope } = treaty
  const window = windowOf(treaty, now)
  if (window === undefined || treaty['issuer_sovereign_id'] !== network) return undefined
  if (!isShowable(id) || typeof to !== 'string' || to === network || !published.includes(to)) return undefined
  return { id, from: network, to, roles: rolesOf(isJsonObject(scope) ? scope['allowed_roles'] : undefined), ...window }
}

function toMember(attestation: JsonObject, { network, now }: ProjectionTask): MeshMember | undefined {
  const { attestation_id: id, subject_id: subject, claims } = attestation
  const window = windowOf(attestation, now)
  if (window === undefined || attestation['issuer_sovereign_id'] !== network) return undefined
  if (!isShowable(id) || !isShowable(subject)) return undefined
  // Exactly true: a text or a number may mean anything to whoever signed it.
  if (!isJsonObject(claims) || claims['public_mesh'] !== true) return undefined
  return { id, network, subject, roles: rolesOf(attestation['roles']), ...window, demo: claims['demo'] === true }
}

/** The times to show, when the record is active and current. */
function windowOf(record: JsonObject, now: Instant): Pick<MeshLink, 'issued_at' | 'expires_at'> | undefined {
  const { issued_at, expires_at, status } = record
  const [from, until] = [instantOf(record['valid_from']), instantOf(expires_at)]
  if (status !== 'active' || from === undefined || until === undefined || now < from || now >= until) return undefined
  if (typeof issued_at !== 'string' || typeof expires_at !== 'string' || instantOf(issued_at) === undefined)
    return undefined
  return { issued_at, expires_at }
}

async function toFeed(feed: JsonObject | undefined, task: ProjectionTask): Promise<MeshFeed | null> {
  const { issuer_sovereign_id, issued_at, sequence, issued_by } = feed ?? {}
  const at = instantOf(issued_at)
  if (feed === undefined || issuer_sovereign_id !== task.network || at === undefined) return null
  if (at > task.now + FEED_AHEAD || task.now - at > FEED_AGE) return null
  if (!isCount(sequence) || typeof issued_at !== 'string' || typeof issued_by !== 'string') return null
  const key = Object.hasOwn(task.anchors, issued_by) ? task.anchors[issued_by] : undefined
  if (key === undefined || !(await isSigned(feed, { [issued_by]: key }))) return null
  return { sequence, issued_at, signature_verified: true }
}

function toImports(
  dashboard: JsonObject | undefined,
  { published }: ProjectionTask,
): readonly MeshImport[] | undefined {
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

/** Some signature of the record verifies under the anchor of its own key id. */
async function isSigned(record: JsonObject, anchors: Readonly<Record<string, string>>): Promise<boolean> {
  const { signatures, ...rest } = record
  const message = canonicalBytes(rest)
  for (const signature of Array.isArray(signatures) ? (signatures as readonly JsonValue[]).slice(0, 8) : []) {
    const { key_id, sig } = isJsonObject(signature) ? signature : {}
    if (typeof key_id !== 'string' || typeof sig !== 'string' || !Object.hasOwn(anchors, key_id)) continue
    if (await verifySignature(anchors[key_id] ?? '', message, sig)) return true
  }
  return false
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

/** Controls, and marks that turn the direction of what is read. */
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
