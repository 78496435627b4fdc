import { canonicalJson } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Reader } from '../../database/database.ts'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { readFactsHead } from './queries/decision-facts.ts'
import { readGroups } from './queries/groups.ts'
import { FACT_FILTERS, type SearchRequest, readSearch } from './requests.ts'
import { type FoundDecision, searchEntries } from './queries/search.ts'

/**
 * GET /admin/evidence
 * Returns stored lines unchanged, so that the caller sees the hashed text.
 */
export async function search(call: OperatorCall, parts: EvidenceParts): Promise<HttpResponse> {
  const asked = readSearch(call.query)
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const filters = asked.isGrouped ? { ...asked.filters, entry_kind: 'decision' } : asked.filters
  const request = { ...asked, filters, after: Math.max(asked.after, removed_through) }
  const rows = await searchEntries(db, request)
  const next = rows.length === request.limit ? (rows.at(-1)?.store_sequence ?? null) : null
  const begin = `{"count":${rows.length},"next_${request.isNewestFirst ? 'before' : 'after'}_sequence":${next}`
  const found = request.isGrouped ? await writeGroups(parts, rows) : `"entries":[${linesOf(rows)}]`
  return jsonText(`${begin}${await writeComplete(db, request)},${found}}`)
}

function linesOf(rows: readonly { readonly line: string }[]): string {
  return rows.map((row) => row.line).join(',')
}

/** One group for each decision, in the order of the decisions. */
async function writeGroups(parts: EvidenceParts, rows: readonly FoundDecision[]): Promise<string> {
  const groups = await readGroups(parts.database, rows)
  const texts = groups.map(
    ({ decision_id, executions, lines }) =>
      `{"decision_id":${canonicalJson(decision_id)},"executions":${executions},"entries":[${lines.join(',')}]}`,
  )
  return `"groups":[${texts.join(',')}]`
}

/** A filter that decisions of an earlier release may not have yet says so: an absent row would look like none. */
async function writeComplete(db: Reader, { filters }: SearchRequest): Promise<string> {
  if (FACT_FILTERS.every((name) => filters[name] === undefined)) return ''
  const { described_through, present_through } = await readFactsHead(db)
  return `,"complete":${described_through >= present_through}`
}
