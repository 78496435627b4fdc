import {
  instantOf,
  readCrl,
  readJson,
  readRevocationFeed,
  seconds,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { Crl, Instant, RevocationFeed } from '@chancery/protocol'
import { sql } from 'kysely'
import { listRevokedAttestations } from '../features/attestations/index.ts'
import { unlistAllAgents } from '../features/agents/index.ts'
import { findActiveVersion } from '../features/crl/index.ts'
import { findSignedFeed } from '../features/revocation-feeds/index.ts'
import type { RecoveryParts } from './revoke-lost.ts'
import type { HighWater } from '../rollback/mark-file.ts'
import { endRules } from '../features/admission/index.ts'
import { endInvites } from './restore.ts'
import { LIST_LIMITS, type Published, raiseMark } from './published-lists.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { forgetMarks } from '../rollback/mark-memory.ts'
import { findRollbacks } from '../rollback/positions.ts'

/** The one permitted jump: no sequence that was used after the backup is used again (reliability 12). */
const JUMP = 100
const TOLERANCE = seconds(300)
/** Nonces are not lost with rows of signed records. */
const NO_FLOOR: Instant = 0n
/** More changes than happen between two backups. */
const VERSION_LEAP = 1_000_000

export interface Recovery {
  readonly crlSequence: number | undefined
  readonly feedSequence: number | undefined
  /** Number of revocations that the restored database lacked. */
  readonly revocations: number
  /** Agents that are removed until they register again. */
  readonly agents: number
  /** Admission rules that ended. */
  readonly rules: number
  /** Undefined when only rows were restored. */
  readonly replayFloor: Instant | undefined
}

/** The database has reached its mark, or there never was a mark. */
export class NothingToRecoverError extends Error {
  override readonly name = 'NothingToRecoverError'
}

/**
 * Brings a restored database past everything that was published, in one audited transaction: revocations are restored
 * from the saved list and feed, sequences jump, unspent invites and all admission rules end, agents must register again, and requests signed
 * before the floor are refused. Missing evidence stays missing, and its store stays disabled.
 */
export async function recoverState(parts: RecoveryParts, published: Published = {}): Promise<Recovery> {
  const { rollback, database } = parts
  const mark = await raiseMark(parts, published)
  if (!rollback.isHalted() && !(await isRolledBack(database.read, mark))) return restoreRows(parts)
  const recovery = await database.write(
    async (tx) => {
      for (const head of ['operator-keys', 'crl', 'policy', 'feed'] as const) await tx.lock(head)
      const knownUntil = await findLastChange(tx.query)
      const keys = await revokeKeysAgain(tx, mark)
      const list = await relist(tx, parts, mark)
      await raisePolicyPosition(tx, mark)
      const feed = await revokeAgain(tx, parts, mark)
      const now = parts.clock.now()
      await endInvites(tx, now)
      const rules = await removeRules(tx, parts, now)
      // It is unknown which agents were removed or replaced after the backup, so all must register again.
      const agents = await unlistAllAgents(tx)
      await raiseVersions(tx, mark)
      const replayFloor = now + TOLERANCE
      await noteRecovery(tx, now, replayFloor, knownUntil)
      // Instances whose mark is missing serve again, also where no file is named any more.
      await forgetMarks(tx)
      const recovered = {
        crlSequence: list?.sequence,
        feedSequence: feed?.sequence,
        revocations: keys + (list?.added ?? 0) + (feed?.added ?? 0),
        agents,
        rules,
        replayFloor,
      }
      await audit(tx, parts, recovered)
      return recovered
    },
    { unlimited: true },
  )
  await rollback.writeMark()
  return recovery
}

/**
 * The database is not rolled back, but rows of signed records may be missing. They are restored from the last list and
 * feed, and the time before is a gap in the trust history.
 */
async function restoreRows(parts: RecoveryParts): Promise<Recovery> {
  const { database, rollback } = parts
  const recovery = await database.write(async (tx) => {
    for (const head of ['crl', 'feed'] as const) await tx.lock(head)
    const list = await parts.crl.restoreDropped(tx)
    const feed = await restoreRevocations(tx, parts)
    if (list === undefined && feed === undefined) throw new NothingToRecoverError('the database is not rolled back')
    const revocations = (list?.added ?? 0) + (feed?.added ?? 0)
    const heads = { crlSequence: list?.sequence, feedSequence: feed?.sequence }
    const recovered = { ...heads, revocations, agents: 0, rules: 0, replayFloor: undefined }
    // Rows of any age may be missing, and some are in no list or feed, so nothing before this time is known.
    await noteRecovery(tx, parts.clock.now(), NO_FLOOR, null)
    await audit(tx, parts, recovered)
    return recovered
  })
  await rollback.writeMark()
  return recovery
}

async function restoreRevocations(
  tx: Transaction,
  parts: RecoveryParts,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  const last = await findSignedFeed(tx.query, parts.keys)
  const added = last === undefined ? 0 : await revokeMissing(tx, parts, last)
  if (added === 0) return undefined
  const { sequence } = await parts.revocationFeeds.publishOwnFeed(tx, 'refresh')
  return { sequence, added }
}

/** It is unknown which were removed after the backup, and how many joins and which evidence were used. */
async function removeRules(tx: Transaction, parts: RecoveryParts, now: Instant): Promise<number> {
  const reason = 'the database was recovered'
  const ended = await endRules(tx, now, reason)
  await parts.audit.recordAll(
    tx,
    ended.map((rule_id) => ({ type: 'admission_rule_removed' as const, details: { rule_id, reason, job: 'recover' } })),
  )
  return ended.length
}

async function isRolledBack(db: Reader, mark: HighWater): Promise<boolean> {
  return (await findRollbacks(db, [mark])).some((name) => name !== 'evidence')
}

async function revokeKeysAgain(tx: Transaction, mark: HighWater): Promise<number> {
  let added = 0
  for (const key of mark.revoked_operator_keys) {
    const { key_id, revoked_at, reason, revoked_by, public_key = null } = key
    const row = { key_id, revoked_at, reason, revoked_by, public_key }
    const inserted = await tx.query
      .insertInto('revoked_operator_keys')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('key_id')
      .executeTakeFirst()
    if (inserted !== undefined) added += 1
  }
  await tx.raiseVersion('operator-keys')
  return added
}

async function relist(
  tx: Transaction,
  parts: RecoveryParts,
  mark: HighWater,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  if (mark.crl === null || mark.last_crl === null) return undefined
  const saved: Crl = readCrl(readJson(mark.last_crl, LIST_LIMITS))
  // Also past the database: a mark may have been stored elsewhere for long while another history continued.
  const sequence = Math.max(mark.crl.sequence + JUMP, ((await findActiveVersion(tx.query))?.sequence ?? 0) + 1)
  return { sequence, added: await parts.crl.restoreEntries(tx, saved, sequence) }
}

/** Positions are not signed, but the history is read in their order. */
async function raisePolicyPosition(tx: Transaction, mark: HighWater): Promise<void> {
  await tx.query
    .updateTable('policy_versions')
    .set({ position: mark.policy_versions + JUMP })
    .where('active', '=', 1)
    .where('position', '<', mark.policy_versions)
    .execute()
  await tx.raiseVersion('policy')
}

async function revokeAgain(
  tx: Transaction,
  parts: RecoveryParts,
  mark: HighWater,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  if (mark.feed === null || mark.last_feed === null) return undefined
  const saved: RevocationFeed = readRevocationFeed(readJson(mark.last_feed, LIST_LIMITS))
  const last = await findSignedFeed(tx.query, parts.keys)
  const added =
    (await revokeMissing(tx, parts, saved)) + (last === undefined ? 0 : await revokeMissing(tx, parts, last))
  const least = {
    sequence: mark.feed.sequence + JUMP,
    issuedAt: instantOf(saved.issued_at),
    isRecovered: true,
  } as const
  const { sequence } = await parts.revocationFeeds.publishOwnFeed(tx, 'refresh', least)
  return { sequence, added }
}

/** Revokes the attestations of a feed that the rows lack. Returns their number. */
async function revokeMissing(tx: Transaction, parts: RecoveryParts, saved: RevocationFeed): Promise<number> {
  const known = new Set((await listRevokedAttestations(tx.query)).map((row) => row.attestation_id))
  const missing = saved.revoked_attestation_ids.filter((id) => !known.has(id))
  const now = writeSortable(parts.clock.now())
  for (const attestation_id of missing) {
    const revocation_reason = saved.revocation_reasons[attestation_id] ?? 'unspecified'
    const stored = await tx.query
      .updateTable('membership_attestations')
      .set({ status: 'revoked', revoked_at: now, revocation_reason })
      .where('attestation_id', '=', attestation_id)
      .returning('attestation_id')
      .executeTakeFirst()
    if (stored === undefined)
      await tx.query.insertInto('recovered_revocations').values({ attestation_id, revocation_reason }).execute()
  }
  return missing.length
}

/**
 * Instances cache records with their version. Counting on from the backup could reach versions of the lost history
 * again, and cached records would count as current. So all versions jump. A backup from before an earlier recovery
 * lacks the jump of that one, so the mark counts, too.
 */
async function raiseVersions(tx: Transaction, { versions }: HighWater): Promise<void> {
  const rows = await tx.query.selectFrom('heads').select('name').execute()
  for (const { name } of rows) {
    const least = versions[name] ?? 0
    await tx.query
      .updateTable('heads')
      .set({ version: sql<number>`case when version < ${least} then ${least} else version end + ${VERSION_LEAP}` })
      .where('name', '=', name)
      .execute()
  }
}

/** Events of changes that decide who is trusted. A halted authority writes none of them. */
const CHANGES = [
  'certificate_issued',
  'certificate_renewed',
  'certificate_revoked',
  'crl_published',
  'membership_attestation_issued',
  'membership_attestation_revoked',
  'recognition_treaty_issued',
  'recognition_treaty_revoked',
  'revocation_feed_published',
  'sovereign_revocation_feed_imported',
] as const

/** The time of the last change in this database. What was changed later, up to the recovery, may be lost. */
async function findLastChange(tx: Reader): Promise<string | null> {
  const row = await tx
    .selectFrom('audit_events')
    .select((eb) => eb.fn.max('created_at').as('at'))
    .where('event_type', 'in', CHANGES)
    .executeTakeFirst()
  return row?.at ?? null
}

async function noteRecovery(
  tx: Transaction,
  now: Instant,
  replayFloor: Instant,
  known_until: string | null,
): Promise<void> {
  const last = await tx.query
    .selectFrom('recoveries')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const position = Number(last?.position ?? 0) + 1
  const row = { position, recovered_at: writeSortable(now), replay_floor: writeSortable(replayFloor), known_until }
  await tx.query.insertInto('recoveries').values(row).execute()
}

async function audit(tx: Transaction, parts: RecoveryParts, recovery: Recovery): Promise<void> {
  await parts.audit.record(tx, {
    type: 'state_recovered',
    details: {
      revocations: recovery.revocations,
      agents: recovery.agents,
      ...(recovery.replayFloor === undefined ? {} : { replay_floor: writeInstant(recovery.replayFloor) }),
      ...(recovery.crlSequence === undefined ? {} : { crl_sequence: recovery.crlSequence }),
      ...(recovery.feedSequence === undefined ? {} : { feed_sequence: recovery.feedSequence }),
    },
  })
}
