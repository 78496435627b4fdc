import { type JsonObject, canonicalJson } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Reader } from '../../database/database.ts'
import { type EvidenceParts, readAnchor } from './store-verifier.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { readFactsHead } from './queries/decision-facts.ts'
import { type FoundDecision, readGroups, searchEntries } from './queries/search.ts'
import { FACT_FILTERS, type SearchRequest, readSearch } from './requests.ts'
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
