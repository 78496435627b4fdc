import type { Reader } from '../../database/database.ts'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { readRun } from './requests.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { findLatestAnchor, listAnchors } from './queries/entries.ts'

/**
 * GET /admin/evidence/anchors
 * Returns anchors as signed, to be stored elsewhere.
 */
export async function anchors(call: OperatorCall, parts: EvidenceParts): Promise<HttpResponse> {
  const { after, limit } = readRun(call.query, 'after_anchor', 100)
  const rows = await listAnchors(parts.database.read, after, limit)
  const next = rows.length === limit ? (rows.at(-1)?.anchor_sequence ?? null) : null
  const texts = rows.map((row) => row.anchor_json).join(',')
  return jsonText(`{"count":${rows.length},"next_after_anchor":${next},"anchors":[${texts}]}`)
}

export interface Unanchored {
  readonly entries: number
  /** When the oldest of them was recorded, as stored. Undefined when there is none. */
  readonly since: string | undefined
}

/**
 * Entries that no anchor covers, which could be rewritten undetected. Reads two rows by their keys, whatever the size
 * of the store.
 */
export async function measureUnanchored(db: Reader): Promise<Unanchored> {
  const head = await readEvidenceHead(db)
  const anchored = Math.max((await findLatestAnchor(db))?.store_sequence ?? 0, head.removed_through)
  if (head.last_sequence <= anchored) return { entries: 0, since: undefined }
  const oldest = await db
    .selectFrom('evidence_entries')
    .select('recorded_at')
    .where('store_sequence', '>', anchored)
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  return { entries: head.last_sequence - anchored, since: oldest?.recorded_at }
}
