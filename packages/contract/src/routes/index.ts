import type { Route } from '../route.ts'
import { admission } from './admission.ts'
import { agents } from './agents.ts'
import { agreements } from './agreements.ts'
import { approvals } from './approvals.ts'
import { attestations } from './attestations.ts'
import { boundary } from './boundary.ts'
import { budgets } from './budgets.ts'
import { boundaryPolicies } from './boundary-policies.ts'
import { connectome } from './connectome.ts'
import { consensus } from './consensus.ts'
import { crl } from './crl.ts'
import { dashboard } from './dashboard.ts'
import { dataUsage } from './data-usage.ts'
import { disclosure } from './disclosure.ts'
import { enrollment } from './enrollment.ts'
import { evidence } from './evidence.ts'
import { evidenceLog } from './evidence-log.ts'
import { health } from './health.ts'
import { operatorKeys } from './operator-keys.ts'
import { audit } from './audit.ts'
import { findings } from './findings.ts'
import { history } from './history.ts'
import { changes } from './changes.ts'
import { partners } from './partners.ts'
import { policy } from './policy.ts'
import { recognitionPolicy } from './recognition-policy.ts'
import { recognitionTreaties } from './recognition-treaties.ts'
import { reference } from './reference.ts'
import { revocationFeeds } from './revocation-feeds.ts'
import { roster } from './roster.ts'
import { sovereign } from './sovereign.ts'
import { trustEvidence } from './trust-evidence.ts'

/** Every route, by the name of its feature. Server, gateway, library, commands and documents derive from it. */
export interface RouteTable {
  readonly health: typeof health
  readonly reference: typeof reference
  readonly dashboard: typeof dashboard
  readonly connectome: typeof connectome
  readonly sovereign: typeof sovereign
  readonly enrollment: typeof enrollment
  readonly admission: typeof admission
  readonly roster: typeof roster
  readonly crl: typeof crl
  readonly policy: typeof policy
  readonly operatorKeys: typeof operatorKeys
  readonly audit: typeof audit
  readonly findings: typeof findings
  readonly history: typeof history
  readonly changes: typeof changes
  readonly agents: typeof agents
  readonly attestations: typeof attestations
  readonly recognitionPolicy: typeof recognitionPolicy
  readonly recognitionTreaties: typeof recognitionTreaties
  readonly revocationFeeds: typeof revocationFeeds
  readonly partners: typeof partners
  readonly agreements: typeof agreements
  readonly boundary: typeof boundary
  readonly approvals: typeof approvals
  readonly boundaryPolicies: typeof boundaryPolicies
  readonly budgets: typeof budgets
  readonly evidence: typeof evidence
  readonly evidenceLog: typeof evidenceLog
  readonly trustEvidence: typeof trustEvidence
  readonly disclosure: typeof disclosure
  readonly consensus: typeof consensus
  readonly dataUsage: typeof dataUsage
}

export const ROUTES: RouteTable = {
  health,
  reference,
  dashboard,
  connectome,
  sovereign,
  enrollment,
  admission,
  roster,
  crl,
  policy,
  operatorKeys,
  audit,
  findings,
  history,
  changes,
  agents,
  attestations,
  recognitionPolicy,
  recognitionTreaties,
  revocationFeeds,
  partners,
  agreements,
  boundary,
  approvals,
  boundaryPolicies,
  budgets,
  evidence,
  evidenceLog,
  trustEvidence,
  disclosure,
  consensus,
  dataUsage,
}

export type FeatureName = keyof RouteTable

export const ALL_ROUTES: readonly Route[] = Object.values<Readonly<Record<string, Route>>>({ ...ROUTES }).flatMap(
  (feature) => Object.values(feature),
)

// Built once: the edge asks for every call.
const featureById: ReadonlyMap<string, FeatureName> = new Map(
  (Object.keys(ROUTES) as FeatureName[]).flatMap((feature) =>
    Object.values<Route>({ ...ROUTES[feature] }).map((route) => [route.id, feature] as const),
  ),
)

const routeById: ReadonlyMap<string, Route> = new Map(ALL_ROUTES.map((route) => [route.id, route]))

/** The feature that owns a route. A route that is not in the table is a bug of the caller. */
export function featureOf(route: Pick<Route, 'id'>): FeatureName {
  const feature = featureById.get(route.id)
  if (feature === undefined) throw new Error(`route ${route.id} is not in the table`)
  return feature
}

/** The route with this id, for example 'POST /admin/policy'. */
export function findRoute(id: string): Route | undefined {
  return routeById.get(id)
}
