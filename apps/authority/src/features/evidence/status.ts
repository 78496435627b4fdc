import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { readAnchor } from './anchor-record.ts'
import { countActiveExecutorKeys, countRejectedEntries, findLatestAnchor } from './queries/entries.ts'

/**
 * GET /admin/evidence/status
 * Returns counts from the head row. Sequences have no gaps, so only rejections are counted: those in the chain, and
 * those outside of it, as the verification does.
 */
export async function status(_call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const db = parts.database.read
  const head = await readEvidenceHead(db)
  const latest = await findLatestAnchor(db)
  const anchor = latest === undefined ? undefined : readAnchor(latest)
  const anchoredThrough = Math.max(anchor?.store_sequence ?? 0, head.removed_through)
  return {
    evidence_store: 'on',
    entries: head.last_sequence - head.removed_through,
    last_store_sequence: head.last_sequence === 0 ? null : head.last_sequence,
    rejections: head.rejections + (await countRejectedEntries(db, head.removed_through)),
    active_executor_keys: await countActiveExecutorKeys(db),
    retention_checkpoint: head.removed_through === 0 ? null : head.removed_through,
    latest_anchor:
      anchor === undefined
        ? null
        : {
            anchor_sequence: anchor.anchor_sequence,
            store_sequence: anchor.store_sequence,
            anchored_at: anchor.anchored_at,
          },
    unanchored_entries: Math.max(head.last_sequence - anchoredThrough, 0),
  }
}
