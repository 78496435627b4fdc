import type { Severity, TrustFinding, TrustSignal } from '../artifacts/trust-evidence.ts'
import { MAX_ITEMS } from '../reading/trust-form.ts'
import { MAX_HOPS, type TrustPath, findTrustPath } from './trust-path.ts'
import type { TrustIndex } from './trust-index.ts'

/** What a trust finding needs to know of the recognition graph. */
export interface GraphTrust {
  readonly index: TrustIndex
  /** How many attestations of this issuer have been withdrawn. */
  readonly withdrawals: (issuer_sovereign_id: string) => number
}

/** Highest first; `info` raises nothing. */
const SEVERITY_ORDER: readonly Exclude<Severity, 'info'>[] = ['block', 'escalate', 'warn']

/** What the recognition graph says about a sovereign, without requested roles (protocol/trust-operations 2.5). */
export function findTrust(
  trust: GraphTrust,
  parties: { readonly source: string; readonly target: string },
  evaluated_at: string,
): TrustFinding {
  const path = findTrustPath(trust.index, parties.source, parties.target)
  return findTrustPathProblem(path, trust.withdrawals, evaluated_at)
}

/** The same of a path that was found already. */
export function findTrustPathProblem(
  path: TrustPath,
  withdrawals: GraphTrust['withdrawals'],
  evaluated_at: string,
): TrustFinding {
  const signals = path.trusted ? pathSignals(path, withdrawals) : [signal(path.reason, 'block')]
  const gravest = SEVERITY_ORDER.find((severity) => signals.some((each) => each.severity === severity))
  return {
    source_sovereign_id: path.from,
    target_sovereign_id: path.to,
    verdict: gravest ?? 'allow',
    reason: signals.find(({ severity }) => severity === gravest)?.code ?? path.reason,
    requested_roles: [],
    trusted: path.trusted,
    hop_count: path.hop_count,
    signals: signals.length === 0 ? [signal(path.reason, 'info', `${path.hop_count} hop(s)`)] : signals,
    evaluated_at,
  }
}

function pathSignals({ from, path }: TrustPath, withdrawals: GraphTrust['withdrawals']): TrustSignal[] {
  const onPath = [from, ...path.map((edge) => edge.to)]
  const pressure = onPath.flatMap((sovereign) =>
    Array.from({ length: Math.min(withdrawals(sovereign), MAX_ITEMS) }, () =>
      signal('recognition_under_revocation_pressure', 'escalate', sovereign),
    ),
  )
  // A list of a record ends at 1024 items; an issuer may have withdrawn more, and one signal says as much as a thousand.
  pressure.length = Math.min(pressure.length, MAX_ITEMS - MAX_HOPS)
  const ending = path.filter((edge) => edge.lifecycle_state === 'expiring_soon')
  return [...pressure, ...ending.map((edge) => signal('treaty_expiring_soon', 'warn', edge.treaty_id))]
}

function signal(code: string, severity: Severity, detail = ''): TrustSignal {
  return { code, severity, detail }
}
