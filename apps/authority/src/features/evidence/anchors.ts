import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readRun } from './requests.ts'
import { listAnchors } from './store.ts'

/**
 * GET /admin/evidence/anchors
 * Anchors as they were signed, to be kept elsewhere.
 */
export async function anchors(call: OperatorCall, office: Office): Promise<Answer> {
  const { after, limit } = readRun(call.query, 'after_anchor', 100)
  const rows = await listAnchors(office.store.db, after, limit)
  const next = rows.length === limit ? (rows.at(-1)?.anchor_sequence ?? null) : null
  const texts = rows.map((row) => row.anchor_json).join(',')
  return jsonText(`{"count":${rows.length},"next_after_anchor":${next},"anchors":[${texts}]}`)
}
