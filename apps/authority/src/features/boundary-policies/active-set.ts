import { type CheckedPolicy, checkStoredPolicy, findSetProblems, inResolutionOrder, isGlobal } from '@chancery/protocol'
import { type SerialQueue, SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { type ActiveRow, listActiveRows } from './queries.ts'
import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Attestations } from '../attestations/index.ts'
import type { GateEngines } from './gate-sources.ts'
import type { Transaction } from '../../database/database.ts'
import { toDisplay } from '../../pages/display-time.ts'

export interface BoundaryPoliciesParts extends FeatureBase {
  readonly settings: Pick<
    AuthoritySettings,
    'boundaryPolicyEnforcement' | 'evidenceStore' | 'extraRoots' | 'factOrigins'
  >
  readonly attestations: Attestations
}

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

/** The parts of the feature and its own state. */
export interface BoundaryPoliciesState extends BoundaryPoliciesParts {
  /** The active boundary policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  /** Runs changes of boundary policies one after the other. */
  readonly queue: SerialQueue
  /** What the gates ask. */
  readonly engines: GateEngines
}

/** Runs a change of boundary policies in one transaction that locks their domain row. Callers of this process queue. */
export function changePolicies<Result>(
  parts: BoundaryPoliciesState,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const { database, queue } = parts
  return queue.take(() =>
    database.write(async (tx) => {
      await tx.lock('boundary-policies')
      const result = await work(tx)
      // No decision uses this version. The high-water mark does, and so detects a policy that a backup restored.
      await tx.raiseVersion('boundary-policies')
      return result
    }),
  )
}

export type PolicySetView = {
  readonly enforcement: string
  readonly healthy: boolean
  readonly status: 'healthy' | 'unhealthy'
  readonly problem_count: number
  readonly active: readonly {
    readonly policy_id: string
    readonly version: number
    readonly valid_until_display: string | null
    readonly gate_count: number | null
    readonly scope: 'global' | 'selected'
  }[]
}

/**
 * The active set for public pages: ids, expiry and counts. Selectors and limits are left out, because they show how to
 * evade them.
 */
export async function describePolicySet(parts: BoundaryPoliciesState): Promise<PolicySetView> {
  const set = await parts.active.read()
  const problems = findSetProblems(set, parts.clock.now())
  const healthy = problems.length === 0
  return {
    enforcement: parts.settings.boundaryPolicyEnforcement,
    healthy,
    status: healthy ? 'healthy' : 'unhealthy',
    problem_count: problems.length,
    active: set.map(({ policy_id, version, policy }) => ({
      policy_id,
      version,
      valid_until_display: policy === undefined ? null : toDisplay(policy.valid_until),
      gate_count: policy?.gates.length ?? null,
      scope: policy === undefined || isGlobal(policy.selector) ? 'global' : 'selected',
    })),
  }
}
