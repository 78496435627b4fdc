import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesParts } from './active-set.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { type PolicyRow, type VersionPosition, countVersions, listVersions } from './queries.ts'
import { describeRows } from './publish.ts'

/**
 * GET /admin/boundary-policies
 * Returns every stored version: by policy, newest first.
 */
export async function list(call: OperatorCall, parts: BoundaryPoliciesParts): Promise<JsonObject> {
  const { rows, paging } = await readVersions(call, parts, undefined)
  return { policies: await describeRows(rows, false), ...paging }
}

/** One page of versions, of all policies or of one. */
export async function readVersions(
  call: OperatorCall,
  parts: BoundaryPoliciesParts,
  policy_id: string | undefined,
): Promise<{ readonly rows: readonly PolicyRow[]; readonly paging: JsonObject }> {
  const page = readPage(call.query)
  const db = parts.database.read
  const after = page.after === undefined ? undefined : readPosition(page.after)
  const found = await listVersions(db, { policy_id, after, limit: page.limit + 1, offset: page.offset })
  const rows = found.slice(0, page.limit)
  const end = found.length > page.limit ? rows.at(-1) : undefined
  const last = end === undefined ? undefined : `${end.version}|${end.policy_id}`
  const paging = await pageMembers(page, rows.length, last, (bound) => countVersions(db, policy_id, bound))
  return { rows, paging }
}

function readPosition(text: string): VersionPosition {
  const match = /^([1-9][0-9]{0,14})\|([A-Za-z0-9._:-]{1,128})$/.exec(text)
  if (match === null) throw new Refusal('invalid_page')
  return { version: Number(match[1]), policy_id: match[2] ?? '' }
}
