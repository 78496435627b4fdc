import { type ExecutionEvidence, type JsonObject, canonicalJson } from '@chancery/protocol'

/** An existing resource, with its readable state. */
export interface ObservedResource {
  readonly resource_id: string
  /** Compared with the members of the same names in the evidence; never a secret. */
  readonly parameters?: JsonObject
}

/**
 * unmanaged: it exists without evidence. drifted: it exists and differs from the last recorded action.
 * present_after_revoke: it exists although it was revoked or deleted. missing: it should exist. in_sync: as recorded.
 */
export type ReconcileState = 'unmanaged' | 'drifted' | 'present_after_revoke' | 'missing' | 'in_sync'

export interface ReconcileResult {
  readonly resource_id: string
  readonly state: ReconcileState
  /** The last recorded action on it. */
  readonly last: ExecutionEvidence | undefined
  /** Names whose values differ. */
  readonly differences: readonly string[]
}

const GONE: ReadonlySet<string> = new Set(['revoke', 'delete'])

/** Compares recorded actions with existing resources. The result covers both sides, sorted by resource. */
export function reconcileResources(
  evidence: Iterable<ExecutionEvidence>,
  observed: Iterable<ObservedResource>,
): readonly ReconcileResult[] {
  const recorded = lastEffects(evidence)
  const found = new Map([...observed].map((each) => [each.resource_id, each]))
  return [...new Set([...recorded.keys(), ...found.keys()])]
    .toSorted()
    .map((id) => verify(id, recorded.get(id), found.get(id)))
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

function verify(
  resource_id: string,
  last: ExecutionEvidence | undefined,
  found: ObservedResource | undefined,
): ReconcileResult {
  const verdict = (state: ReconcileState, differences: readonly string[] = []): ReconcileResult => ({
    resource_id,
    state,
    last,
    differences,
  })
  if (last === undefined) return verdict('unmanaged')
  // Whether an interrupted action took effect is unknown: both existing and missing match.
  const isUnsure = last.outcome === 'partial'
  const isGone = GONE.has(last.resource_action ?? '')
  if (found === undefined) return verdict(isGone || isUnsure ? 'in_sync' : 'missing')
  if (isGone) return verdict(isUnsure ? 'in_sync' : 'present_after_revoke')
  const differences = differencesOf(last.execution_parameters, found.parameters ?? {})
  return verdict(differences.length > 0 && !isUnsure ? 'drifted' : 'in_sync', differences)
}

function differencesOf(logged: JsonObject, seen: JsonObject): readonly string[] {
  return Object.entries(seen)
    .filter(([name, value]) => {
      const other = Object.hasOwn(logged, name) ? logged[name] : undefined
      return other === undefined || canonicalJson(other) !== canonicalJson(value)
    })
    .map(([name]) => name)
}
