import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { readRun } from './requests.ts'
import { listAnchors } from './queries/entries.ts'

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
