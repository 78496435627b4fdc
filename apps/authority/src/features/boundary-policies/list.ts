import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesParts } from './active-set.ts'
import { readList, readPage } from '../../requests/paging.ts'
import { type PolicyRow, versionList } from './queries.ts'
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
export function readVersions(
  call: OperatorCall,
  { database: { read: db } }: BoundaryPoliciesParts,
  policy_id: string | undefined,
): Promise<{ readonly rows: readonly PolicyRow[]; readonly paging: JsonObject }> {
  return readList(db, readPage(call.query), versionList(db, policy_id))
}
