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
import { recordAudit } from '../../audit/record.ts'
import { listRevokedAttestations } from '../attestations/index.ts'
import { unlistAllAgents } from '../agents/index.ts'
import { findActiveVersion, relistEntries, restoreDropped } from '../crl/index.ts'
import { findSignedFeed, publishOwnFeed } from '../revocation-feeds/index.ts'
import type { Office } from '../../office.ts'
import type { HighWater } from '../../signing/high-water.ts'
import { LIST_LIMITS, raiseMark } from './published.ts'
import type { Published } from './published.ts'
import type { Tx } from '../../store/database.ts'
import { findBehind } from '../../store/high-water-heads.ts'
import { bumpHead } from '../../store/heads.ts'

/** The one permitted jump: no number that was given out after the backup is given out again (reliability 12). */
const JUMP = 100
const TOLERANCE = seconds(300)
/** More changes than anybody makes between two backups. */
const STAMP_LEAP = 1_000_000

export interface Recovery {
  readonly crlSequence: number | undefined
  readonly feedSequence: number | undefined
  /** Withdrawals the restored database had forgotten. */
  readonly revocations: number
  /** Taken out of the registry until they announce themselves again. */
  readonly agents: number
  /** Undefined when only rows were put back. */
  readonly replayFloor: Instant | undefined
}

/** The database is at its mark, or there is none to compare it with. */
export class NothingToRecover extends Error {
  override readonly name = 'NothingToRecover'
}

/**
 * Brings a restored database past everything this authority has already published, in one audited transaction:
 * withdrawals come back from the kept list and feed, numbers jump, unspent invites end, agents announce themselves
 * again, and what was signed before the floor is refused. Evidence that is missing stays missing, and its store stays closed.
 */
export async function recoverState(office: Office, published: Published = {}): Promise<Recovery> {
  const { rollbackWatch, store } = office
  const mark = await raiseMark(office, published)
  if (!rollbackWatch.isHalted() && !(await isBehind(store.db, mark))) return restoreRows(office)
  const recovery = await store.transact(async (tx) => {
    // A large registry takes longer than any statement of a request may.
    if (store.backend === 'postgres') await sql`set local statement_timeout = 0`.execute(tx)
    for (const head of ['operator-keys', 'crl', 'policy', 'feed']) await store.lockHead(tx, head)
    const keys = await revokeKeysAgain(tx, mark)
    const list = await relist(tx, office, mark)
    await raisePolicyPosition(tx, mark)
    const feed = await withdrawAgain(tx, office, mark)
    const now = office.clock.now()
    await endInvites(tx, now)
    // Which of them were withdrawn or replaced after the backup nobody knows: each announces itself again.
    const agents = await unlistAllAgents(tx)
    await leapStamps(tx)
    const replayFloor = now + TOLERANCE
    await noteRecovery(tx, now, replayFloor)
    const recovered = {
      crlSequence: list?.sequence,
      feedSequence: feed?.sequence,
      revocations: keys + (list?.added ?? 0) + (feed?.added ?? 0),
      agents,
      replayFloor,
    }
    await audit(tx, office, recovered)
    return recovered
  })
  await rollbackWatch.keep()
  return recovery
}

/** Nothing is behind, but rows of what was signed may be gone: they come back from the last list and feed themselves. */
async function restoreRows(office: Office): Promise<Recovery> {
  const { store, rollbackWatch } = office
  const recovery = await store.transact(async (tx) => {
    for (const head of ['crl', 'feed']) await store.lockHead(tx, head)
    const list = await restoreDropped(tx, office)
    const feed = await restoreWithdrawn(tx, office)
    if (list === undefined && feed === undefined)
      throw new NothingToRecover('the database is not behind anything that was published')
    const revocations = (list?.added ?? 0) + (feed?.added ?? 0)
    const heads = { crlSequence: list?.sequence, feedSequence: feed?.sequence }
    const recovered = { ...heads, revocations, agents: 0, replayFloor: undefined }
    await audit(tx, office, recovered)
    return recovered
  })
  await rollbackWatch.keep()
  return recovery
}

async function restoreWithdrawn(
  tx: Tx,
  office: Office,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  const last = await findSignedFeed(tx, office.ownKeys)
  const added = last === undefined ? 0 : await withdrawMissing(tx, office, last)
  if (added === 0) return undefined
  const { sequence } = await publishOwnFeed(tx, office, 'refresh')
  return { sequence, added }
}

async function isBehind(db: Tx, mark: HighWater): Promise<boolean> {
  return (await findBehind(db, [mark])).some((name) => name !== 'evidence')
}

async function revokeKeysAgain(tx: Tx, mark: HighWater): Promise<number> {
  let added = 0
  for (const key of mark.revoked_operator_keys) {
    const row = { key_id: key.key_id, revoked_at: key.revoked_at, reason: key.reason, revoked_by: key.revoked_by }
    const inserted = await tx
      .insertInto('revoked_operator_keys')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('key_id')
      .executeTakeFirst()
    if (inserted !== undefined) added += 1
  }
  await bumpHead(tx, 'operator-keys')
  return added
}

async function relist(
  tx: Tx,
  office: Office,
  mark: HighWater,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  if (mark.crl === null || mark.last_crl === null) return undefined
  const kept: Crl = readCrl(readJson(mark.last_crl, LIST_LIMITS))
  // Past the database, too: a mark may have been kept elsewhere for long while another history went on.
  const sequence = Math.max(mark.crl.sequence + JUMP, ((await findActiveVersion(tx))?.sequence ?? 0) + 1)
  return { sequence, added: await relistEntries(tx, office, kept, sequence) }
}

/** Positions are not signed, but history is read in their order. */
async function raisePolicyPosition(tx: Tx, mark: HighWater): Promise<void> {
  await tx
    .updateTable('policy_versions')
    .set({ position: mark.policy_versions + JUMP })
    .where('active', '=', 1)
    .where('position', '<', mark.policy_versions)
    .execute()
  await bumpHead(tx, 'policy')
}

async function withdrawAgain(
  tx: Tx,
  office: Office,
  mark: HighWater,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  if (mark.feed === null || mark.last_feed === null) return undefined
  const kept: RevocationFeed = readRevocationFeed(readJson(mark.last_feed, LIST_LIMITS))
  const last = await findSignedFeed(tx, office.ownKeys)
  const added =
    (await withdrawMissing(tx, office, kept)) + (last === undefined ? 0 : await withdrawMissing(tx, office, last))
  const least = {
    sequence: mark.feed.sequence + JUMP,
    issuedAt: instantOf(kept.issued_at),
    isRecovered: true,
  } as const
  const { sequence } = await publishOwnFeed(tx, office, 'refresh', least)
  return { sequence, added }
}

/** Withdraws what a feed names and the rows do not; gives how many. */
async function withdrawMissing(tx: Tx, office: Office, kept: RevocationFeed): Promise<number> {
  const known = new Set((await listRevokedAttestations(tx)).map((row) => row.attestation_id))
  const missing = kept.revoked_attestation_ids.filter((id) => !known.has(id))
  const now = writeSortable(office.clock.now())
  for (const attestation_id of missing) {
    const revocation_reason = kept.revocation_reasons[attestation_id] ?? 'unspecified'
    const held = await tx
      .updateTable('membership_attestations')
      .set({ status: 'revoked', revoked_at: now, revocation_reason })
      .where('attestation_id', '=', attestation_id)
      .returning('attestation_id')
      .executeTakeFirst()
    if (held === undefined)
      await tx.insertInto('recovered_revocations').values({ attestation_id, revocation_reason }).execute()
  }
  return missing.length
}

/** Which of them were spent after the backup nobody knows any more: none may be spent again. */
async function endInvites(tx: Tx, now: Instant): Promise<void> {
  const expires_at = writeSortable(now)
  await tx
    .updateTable('invite_tokens')
    .set({ expires_at })
    .where('used_at', 'is', null)
    .where('expires_at', '>', expires_at)
    .execute()
}

/**
 * Instances keep what they read under the stamp it had. Those of the lost history may be met again by counting on from
 * the backup, and then what is kept would pass for current: no stamp is ever met again.
 */
async function leapStamps(tx: Tx): Promise<void> {
  await tx
    .updateTable('heads')
    .set({ version: sql<number>`version + ${STAMP_LEAP}` })
    .execute()
}

async function noteRecovery(tx: Tx, now: Instant, replayFloor: Instant): Promise<void> {
  const last = await tx
    .selectFrom('recoveries')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const position = Number(last?.position ?? 0) + 1
  const row = { position, recovered_at: writeSortable(now), replay_floor: writeSortable(replayFloor) }
  await tx.insertInto('recoveries').values(row).execute()
}

async function audit(tx: Tx, office: Office, recovery: Recovery): Promise<void> {
  await recordAudit(tx, office, {
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
