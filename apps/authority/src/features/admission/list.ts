import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'
import type { AdmissionParts } from './parts.ts'
import { type RulePosition, listRules } from './queries.ts'
import { showRule } from './view.ts'

/** Fewer rows than in other lists: each may have pinned keys of 64 KiB, which are read and not shown. */
const MAX_LISTED = 100

/**
 * GET /admin/admission-rules
 * Lists the rules, those in force first, in pages of at most 100.
 */
export async function list(call: OperatorCall, parts: AdmissionParts): Promise<JsonObject> {
  const page = readPage(call.query)
  const limit = Math.min(page.limit, MAX_LISTED)
  const rows = await listRules(parts.database.read, { limit: limit + 1, after: readPosition(page.after) })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    count: shown.length,
    rules: shown.map(showRule),
    next_cursor: last === undefined ? null : writeCursor(`${last.status}|${last.created_at}|${last.rule_id}`),
  }
}

function readPosition(after: string | undefined): RulePosition | undefined {
  if (after === undefined) return undefined
  const match = /^(active|removed)\|([0-9TZ.:-]{20,32})\|([A-Za-z0-9._-]{1,64})$/.exec(after)
  if (match === null) throw new Refusal('invalid_page')
  const [, status, created_at = '', rule_id = ''] = match
  return { status: status === 'active' ? 'active' : 'removed', created_at, rule_id }
}
