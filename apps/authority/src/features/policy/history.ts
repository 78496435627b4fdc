import { Refusal } from '@chancery/contract'
import { type JsonObject, type JsonValue, readInstant, readJson, writeInstant } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { PolicyParts } from './parts.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { type StoredPolicy, countPolicies, listPolicies } from './queries.ts'

/**
 * GET /admin/policy/history
 * Returns every stored version, newest first.
 */
export async function history(call: OperatorCall, parts: PolicyParts): Promise<JsonObject> {
  const page = readPage(call.query)
  const { rows, hasMore } = await listPolicies(parts.database.read, { ...page, before: readPosition(page.after) })
  const last = hasMore ? String(rows.at(-1)?.position) : undefined
  const paging = await pageMembers(page, rows.length, last, (bound) => countPolicies(parts.database.read, bound))
  return { versions: rows.map(toVersion), ...paging }
}

/** The position that a cursor of this list names. */
function readPosition(place: string | undefined): number | undefined {
  if (place === undefined) return undefined
  if (!/^[1-9][0-9]{0,14}$/.test(place)) throw new Refusal('invalid_page')
  return Number(place)
}

function toVersion(row: StoredPolicy): JsonValue {
  return {
    policy_id: row.policy_id,
    active: row.active === 1,
    created_at: writeInstant(readInstant(row.created_at) ?? 0n),
    policy: readJson(row.policy_json),
  }
}
