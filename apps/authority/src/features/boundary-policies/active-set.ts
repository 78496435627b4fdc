import { checkStoredPolicy, inResolutionOrder } from '@chancery/protocol'
import type { CheckedPolicy } from '@chancery/protocol'
import { SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { BoundaryPoliciesParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { listActiveRows } from './queries.ts'
import type { ActiveRow } from './queries.ts'

/** The active policies, checked, in resolution order. Read for every request that depends on them. */
export type ActivePolicies = SharedRead<readonly CheckedPolicy[]>

/**
 * Reads the stored text of every active row for each question and compares it with what was checked before; only a row
 * whose bytes differ is parsed and verified again. No version stamp is trusted: an edit made in the database itself,
 * which bumps none, is seen by the next request. Requests that wait share one read.
 */
export function openActivePolicies({
  database,
  ownKeys,
}: Pick<BoundaryPoliciesParts, 'database' | 'ownKeys'>): ActivePolicies {
  let held: readonly Cached[] = []
  return new SharedRead(async () => {
    const rows = await listActiveRows(database)
    const known = new Map(held.map((each) => [keyOf(each.row), each]))
    const checked: Cached[] = []
    for (const row of rows) {
      const same = known.get(keyOf(row))
      if (same !== undefined && hasSameBytes(same.row, row)) checked.push(same)
      else checked.push({ row, checked: await checkStoredPolicy(row, (issuedAt) => ownKeysAt(ownKeys, issuedAt)) })
    }
    held = checked
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
