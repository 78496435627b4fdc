import { Refusal } from '@chancery/contract'
import { DAY, type Instant, type JsonObject, shape, writeSortable } from '@chancery/protocol'
import { type HttpResponse, json, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './resources.ts'
import { readDryRun, readOrRefuse } from '../../requests/read-fields.ts'
import { LeaseLostError, withLease } from '../../database/locks/leases.ts'
import { removePrefix } from './removal.ts'
import { deleteOldRejections } from './queries/entries.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { findPrefix } from './prefix.ts'
import { readBoundary } from './verify-store.ts'

/** A hundred years. A larger value would exceed the years of a timestamp. */
const MAX_DAYS = 36_500
const LEASE_SECONDS = 300

/**
 * POST /admin/evidence/retention/apply
 * Runs on one instance at a time. A run that was paused too long loses its lease, and its writes fail.
 */
export async function retention(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const days = readDays(call.body)
  const through = readThrough(call.body)
  if (readDryRun(call.body)) return json(await preview(parts, parts.clock.now() - BigInt(days) * DAY, through))
  // Its checkpoint is an entry. If the store lost its end, the entry would use a sequence that was already used.
  if (parts.rollback.isEvidenceBehind) throw new Refusal('evidence_store_unavailable', { reason: 'evidence_missing' })
  let answer: string | undefined
  try {
    await withLease(parts, 'evidence-retention', LEASE_SECONDS, async (lease) => {
      const now = parts.clock.now()
      const cutoff = now - BigInt(days) * DAY
      answer = await removePrefix(parts, { lease, now, cutoff, through, cause: requestDetails(call) })
      // Rows that are not entries are in no archive. They end by their own time.
      if (through === undefined) await deleteOldRejections(parts.database, writeSortable(cutoff))
    })
  } catch (error) {
    if (error instanceof LeaseLostError) throw new Refusal('retention_in_progress', {}, { cause: error })
    throw error
  }
  if (answer === undefined) throw new Refusal('retention_in_progress')
  return jsonText(answer)
}

/** A preview of a large store must not read all of it. */
const MAX_PREVIEWED = 100_000

/** Returns what would be removed. The entries are verified only when they are removed. */
async function preview(parts: EvidenceState, cutoff: Instant, limit: number | undefined): Promise<JsonObject> {
  const db = parts.database.read
  const head = await readEvidenceHead(db)
  const heads = Object.keys((await readBoundary(db))?.resource_heads ?? {})
  const limits = { cutoff, now: parts.clock.now(), heads, through: limit, maxEntries: MAX_PREVIEWED }
  const { through, stoppedBy } = await findPrefix(db, head, limits)
  const removed_count = Math.max(through - head.removed_through, 0)
  return {
    dry_run: true,
    would_change: removed_count > 0,
    removed_count,
    removed_through_sequence: removed_count > 0 ? through : null,
    stopped_by: stoppedBy,
    complete: stoppedBy !== 'entry_limit',
    ...(limit === undefined ? {} : { through_sequence: limit }),
  }
}

function readDays(body: JsonObject): number {
  const given = body['older_than_days']
  if (given === undefined) throw new Refusal('invalid_retention')
  return readOrRefuse('invalid_retention', () => shape.integer(1, MAX_DAYS)(given, 'older_than_days'))
}

/** Nothing after this entry is removed. It can only shorten what the other rules allow. */
function readThrough(body: JsonObject): number | undefined {
  const given = body['through_sequence']
  if (given === undefined) return undefined
  const read = shape.integer(1, Number.MAX_SAFE_INTEGER)
  return readOrRefuse('invalid_input', () => read(given, 'through_sequence'))
}
