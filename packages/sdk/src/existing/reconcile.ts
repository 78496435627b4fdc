import { canonicalJson } from '@chancery/protocol'
import type { ExecutionEvidence, JsonObject } from '@chancery/protocol'

/** A resource as it is found in the world, with what can be read of it. */
export interface ObservedResource {
  readonly resource_id: string
  /** Compared with the members of the same names in the evidence; never a secret. */
  readonly parameters?: JsonObject
}

/**
 * unmanaged: it is there, and no evidence tells of it. drifted: it is there, and differs from what was last done.
 * present_after_revoke: it is there though it was revoked or deleted. missing: it should be there. in_sync: as told.
 */
export type ReconcileState = 'unmanaged' | 'drifted' | 'present_after_revoke' | 'missing' | 'in_sync'

export interface Reconciled {
  readonly resource_id: string
  readonly state: ReconcileState
  /** The last thing that was done to it, as evidence tells. */
  readonly last: ExecutionEvidence | undefined
  /** Names whose values differ. */
  readonly differences: readonly string[]
}

const GONE: ReadonlySet<string> = new Set(['revoke', 'delete'])

/** Compares what evidence says was done with what is there. Both sides together; sorted by resource. */
export function reconcileResources(
  evidence: Iterable<ExecutionEvidence>,
  observed: Iterable<ObservedResource>,
): readonly Reconciled[] {
  const recorded = lastEffects(evidence)
  const found = new Map([...observed].map((each) => [each.resource_id, each]))
  return [...new Set([...recorded.keys(), ...found.keys()])]
    .toSorted()
    .map((id) => judge(id, recorded.get(id), found.get(id)))
}

/** An action that failed changed nothing, so the one before it counts. */
function lastEffects(evidence: Iterable<ExecutionEvidence>): ReadonlyMap<string, ExecutionEvidence> {
  const last = new Map<string, ExecutionEvidence>()
  for (const record of evidence) {
    const { resource_id, resource_sequence = 0, outcome } = record
    if (resource_id === undefined || outcome === 'failure') continue
    if ((last.get(resource_id)?.resource_sequence ?? 0) < resource_sequence) last.set(resource_id, record)
  }
  return last
}

function judge(
  resource_id: string,
  last: ExecutionEvidence | undefined,
  found: ObservedResource | undefined,
): Reconciled {
  const verdict = (state: ReconcileState, differences: readonly string[] = []): Reconciled => ({
    resource_id,
    state,
    last,
    differences,
  })
  if (last === undefined) return verdict('unmanaged')
  // Whether an interrupted action took effect is not known: being there and being gone both fit.
  const isUnsure = last.outcome === 'partial'
  const isGone = GONE.has(last.resource_action ?? '')
  if (found === undefined) return verdict(isGone || isUnsure ? 'in_sync' : 'missing')
  if (isGone) return verdict(isUnsure ? 'in_sync' : 'present_after_revoke')
  const differences = differencesOf(last.execution_parameters, found.parameters ?? {})
  return verdict(differences.length > 0 && !isUnsure ? 'drifted' : 'in_sync', differences)
}

function differencesOf(told: JsonObject, seen: JsonObject): readonly string[] {
  return Object.entries(seen)
    .filter(([name, value]) => {
      const other = Object.hasOwn(told, name) ? told[name] : undefined
      return other === undefined || canonicalJson(other) !== canonicalJson(value)
    })
    .map(([name]) => name)
}
