import {
  MAX_FEED_IDS,
  draftRevocationFeed,
  readInstant,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { dateAfter } from '../../signing/dating.ts'
import { seal } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'
import { findOwnFeed, insertOwnFeed } from './store.ts'
import type { OwnFeed } from './store.ts'

const NOTHING_BEFORE = { sequence: 0, issuedAt: 0n }

/**
 * Signs the feed of everything withdrawn so far: sequence 0 when nothing ever was, one more for each new withdrawal.
 * One feed per sequence is signed and served unchanged. The caller holds the feed's head.
 */
export async function publishOwnFeed(
  tx: Tx,
  office: Office,
  revoked: readonly { readonly attestation_id: string; readonly revocation_reason: string | null }[],
  /** After a recovery: what was already published under another history, or dated by a clock that was ahead. */
  least: { readonly sequence: number; readonly issuedAt: Instant; readonly isRedated?: true } = NOTHING_BEFORE,
): Promise<OwnFeed> {
  const previous = await findOwnFeed(tx)
  if (revoked.length > MAX_FEED_IDS * 0.8) {
    office.log.error('the revocation feed is nearly full or full', { alarm: true, ids: revoked.length })
  }
  // A longer feed would be refused by every reader, ours included. The withdrawal itself holds all the same: this
  // authority refuses the attestation from now on, and the alarm says that others cannot be told (decision 0011).
  if (revoked.length > MAX_FEED_IDS && previous !== undefined) return previous
  const next = previous === undefined ? revoked.length : previous.sequence + 1
  const sequence = Math.max(next, least.sequence)
  const before = readInstant(previous?.issued_at ?? '') ?? 0n
  const floor = before > least.issuedAt ? before : least.issuedAt
  const issuedAt = least.isRedated === true ? office.clock.now() : dateAfter(office, 'feed', floor)
  const draft = draftRevocationFeed({
    feed_id: office.ids.uuid(),
    issuer_sovereign_id: office.genesis.network_name,
    sequence,
    issued_at: writeInstant(issuedAt),
    reasons: new Map(revoked.map((row) => [row.attestation_id, row.revocation_reason ?? 'unspecified'])),
    issued_by: office.signer.keyId,
  })
  const feed = { sequence, feed_json: writeJson(await seal(office, draft)), issued_at: writeSortable(issuedAt) }
  await insertOwnFeed(tx, feed)
  await bumpHead(tx, 'feed')
  return feed
}
