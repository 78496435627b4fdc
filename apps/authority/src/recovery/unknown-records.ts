import { HOUR, type Instant, type JsonObject } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'

/** No attestation and no treaty is valid longer, so older events need no revocation. */
const LONGEST_LIFE = 26_280n * HOUR
const AT_ONCE = 500

/** An audit event that the database lacks. */
export interface LostEvent {
  readonly id: string
  readonly type: string
  readonly at: Instant
  readonly details: JsonObject
}

/** The data of audit events about an attestation or a treaty. */
export interface LostRecord {
  readonly id: string
  /** The subject of an attestation, or the other sovereign of a treaty. Undefined when only its revocation is known. */
  readonly subject: string | undefined
  readonly roles: readonly string[]
  readonly issuedAt: Instant | undefined
  /** The operator key that issued it. */
  readonly issuedBy: string | undefined
  /** The reason, when the events also name its revocation. */
  readonly revokedFor: string | undefined
}

export interface LostRecords {
  /** Without a row and not in the feed: partners accept them until they end. */
  readonly attestations: readonly LostRecord[]
  /** Revoked after the backup, but valid here: the saved feed is older than the revocation. */
  readonly attestationsValidAgain: readonly LostRecord[]
  /** Without a row: not in force here. */
  readonly treaties: readonly LostRecord[]
  /** Revoked after the backup, and in force here again. */
  readonly treatiesValidAgain: readonly LostRecord[]
}

interface Kind {
  readonly issued: string
  readonly revoked: string
  readonly id: string
  readonly subject: string
  readonly roles: string
}

const ATTESTATIONS: Kind = {
  issued: 'membership_attestation_issued',
  revoked: 'membership_attestation_revoked',
  id: 'attestation_id',
  subject: 'subject_id',
  roles: 'roles',
}
const TREATIES: Kind = {
  issued: 'recognition_treaty_issued',
  revoked: 'recognition_treaty_revoked',
  id: 'treaty_id',
  subject: 'subject_sovereign_id',
  roles: 'allowed_roles',
}

/** Collects attestations and treaties from audit events that the database lacks. */
export class LostRecordReader {
  readonly #attestations = new Map<string, LostRecord>()
  readonly #treaties = new Map<string, LostRecord>()
  readonly #now: Instant

  constructor(now: Instant) {
    this.#now = now
  }

  add(event: LostEvent): void {
    if (event.at + LONGEST_LIFE <= this.#now) return
    note(this.#attestations, ATTESTATIONS, event)
    note(this.#treaties, TREATIES, event)
  }

  /** Compares with the rows. Changes nothing. */
  async compare(db: Reader): Promise<LostRecords> {
    const attestations = [...this.#attestations.values()]
    const treaties = [...this.#treaties.values()]
    const storedAttestations = await statusOf(attestations, (ids) => attestationRows(db, ids))
    const storedTreaties = await statusOf(treaties, (ids) => treatyRows(db, ids))
    return {
      attestations: attestations.filter(({ id }) => !storedAttestations.has(id)),
      attestationsValidAgain: attestations.filter((one) => isValidAgain(one, storedAttestations)),
      treaties: treaties.filter(({ id, revokedFor }) => !storedTreaties.has(id) && revokedFor === undefined),
      treatiesValidAgain: treaties.filter((one) => isValidAgain(one, storedTreaties)),
    }
  }
}

function note(records: Map<string, LostRecord>, kind: Kind, { type, at, details }: LostEvent): void {
  const id = details[kind.id]
  if (typeof id !== 'string') return
  const before = records.get(id) ?? {
    id,
    subject: undefined,
    roles: [],
    issuedAt: undefined,
    issuedBy: undefined,
    revokedFor: undefined,
  }
  if (type === kind.revoked) records.set(id, { ...before, revokedFor: textOf(details['reason']) ?? 'unspecified' })
  if (type !== kind.issued) return
  const roles = details[kind.roles]
  records.set(id, {
    ...before,
    subject: textOf(details[kind.subject]),
    roles: Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [],
    issuedAt: at,
    issuedBy: textOf(details['key_id']),
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isValidAgain({ id, revokedFor }: LostRecord, stored: ReadonlyMap<string, string>): boolean {
  return revokedFor !== undefined && stored.get(id) === 'active'
}

interface StatusRow {
  readonly id: string
  readonly status: string
}

async function statusOf(
  records: readonly LostRecord[],
  read: (ids: readonly string[]) => Promise<readonly StatusRow[]>,
): Promise<ReadonlyMap<string, string>> {
  const stored = new Map<string, string>()
  for (let at = 0; at < records.length; at += AT_ONCE) {
    const ids = records.slice(at, at + AT_ONCE).map(({ id }) => id)
    for (const { id, status } of await read(ids)) stored.set(id, status)
  }
  return stored
}

/** An attestation without a row whose revocation was restored from the feed needs nothing more. */
async function attestationRows(db: Reader, ids: readonly string[]): Promise<readonly StatusRow[]> {
  const rows = await db
    .selectFrom('membership_attestations')
    .select(['attestation_id as id', 'status'])
    .where('attestation_id', 'in', ids)
    .execute()
  const recovered = await db
    .selectFrom('recovered_revocations')
    .select('attestation_id as id')
    .where('attestation_id', 'in', ids)
    .execute()
  return [...rows, ...recovered.map(({ id }) => ({ id, status: 'revoked' }))]
}

function treatyRows(db: Reader, ids: readonly string[]): Promise<readonly StatusRow[]> {
  return db
    .selectFrom('recognition_treaties')
    .select(['treaty_id as id', 'status'])
    .where('treaty_id', 'in', ids)
    .execute()
}
