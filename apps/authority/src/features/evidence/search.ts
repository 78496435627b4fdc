import { jsonText } from '@chancery/service-kit'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { readSearch } from './requests.ts'
import { searchEntries } from './queries/search.ts'

/**
 * GET /admin/evidence
 * Returns stored lines unchanged, so that the caller sees the hashed text.
 */
export async function search(call: OperatorCall, parts: EvidenceParts): Promise<HttpResponse> {
  const request = readSearch(call.query)
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const rows = await searchEntries(db, { ...request, after: Math.max(request.after, removed_through) })
  const next = rows.length === request.limit ? (rows.at(-1)?.store_sequence ?? null) : null
  const lines = rows.map((row) => row.line).join(',')
  return jsonText(`{"count":${rows.length},"next_after_sequence":${next},"entries":[${lines}]}`)
}
