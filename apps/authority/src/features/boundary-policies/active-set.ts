import { type CheckedPolicy, checkStoredPolicy, inResolutionOrder } from '@chancery/protocol'
import { SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { BoundaryPoliciesParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { type ActiveRow, listActiveRows } from './queries.ts'

/** The active policies, verified, in resolution order. Read for every request that depends on them. */
export type ActivePolicies = SharedRead<readonly CheckedPolicy[]>

/**
 * Reads the stored text of every active row for each request and compares it with the verified text. Only a changed row
 * is parsed and verified again. Version numbers are not used, because an edit made directly in the database does not
 * raise one. Queued requests share one read.
 */
export function openActivePolicies({
  database,
  keys,
}: Pick<BoundaryPoliciesParts, 'database' | 'keys'>): ActivePolicies {
  let stored: readonly Cached[] = []
  return new SharedRead(async () => {
    const rows = await listActiveRows(database)
    const known = new Map(stored.map((each) => [keyOf(each.row), each]))
    const checked: Cached[] = []
    for (const row of rows) {
      const same = known.get(keyOf(row))
      if (same !== undefined && hasSameBytes(same.row, row)) checked.push(same)
      else checked.push({ row, checked: await checkStoredPolicy(row, (issuedAt) => ownKeysAt(keys, issuedAt)) })
    }
    stored = checked
    return inResolutionOrder(checked.map((each) => each.checked))
  }, endOfLoopTurn)
}

interface Cached {
  readonly row: ActiveRow
  readonly checked: CheckedPolicy
}

function keyOf({ policy_id, version }: ActiveRow): string {
  return `${policy_id}@${version}`
}

function hasSameBytes(a: ActiveRow, b: ActiveRow): boolean {
  return a.policy_json === b.policy_json && a.policy_digest === b.policy_digest
}
