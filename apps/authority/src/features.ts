import type { Binding } from '@chancery/service-kit'
import { agentRoutes } from './features/agents/routes.ts'
import { agreementRoutes } from './features/agreements/routes.ts'
import { attestationRoutes } from './features/attestations/routes.ts'
import { boundaryPolicyRoutes } from './features/boundary-policies/routes.ts'
import { boundaryRoutes } from './features/boundary/routes.ts'
import { connectomeRoutes } from './features/connectome/routes.ts'
import { consensusRoutes } from './features/consensus/routes.ts'
import { crlRoutes } from './features/crl/routes.ts'
import { dashboardRoutes } from './features/dashboard/routes.ts'
import { dataUsageRoutes } from './features/data-usage/routes.ts'
import { disclosureRoutes } from './features/disclosure/routes.ts'
import { enrollmentRoutes } from './features/enrollment/routes.ts'
import { evidenceLogRoutes } from './features/evidence-log/routes.ts'
import { evidenceRoutes } from './features/evidence/routes.ts'
import { briefHealthRoutes, healthRoutes } from './features/health/routes.ts'
import { operatorKeyRoutes } from './features/operator-keys/routes.ts'
import { policyRoutes } from './features/policy/routes.ts'
import { recognitionPolicyRoutes } from './features/recognition-policy/routes.ts'
import { recognitionTreatyRoutes } from './features/recognition-treaties/routes.ts'
import { referenceRoutes } from './features/reference/routes.ts'
import { revocationFeedRoutes } from './features/revocation-feeds/routes.ts'
import { sovereignRoutes } from './features/sovereign/routes.ts'
import { trustEvidenceRoutes } from './features/trust-evidence/routes.ts'
import type { Office } from './office.ts'

const SHARED_BINDINGS: readonly Binding<Office>[] = [
  ...referenceRoutes,
  ...sovereignRoutes,
  ...enrollmentRoutes,
  ...crlRoutes,
  ...agentRoutes,
  ...policyRoutes,
  ...operatorKeyRoutes,
  ...attestationRoutes,
  ...recognitionPolicyRoutes,
  ...recognitionTreatyRoutes,
  ...revocationFeedRoutes,
  ...boundaryPolicyRoutes,
  ...connectomeRoutes,
  ...trustEvidenceRoutes,
  ...agreementRoutes,
  ...boundaryRoutes,
  ...evidenceRoutes,
  ...evidenceLogRoutes,
  ...dashboardRoutes,
  ...disclosureRoutes,
  ...consensusRoutes,
  ...dataUsageRoutes,
]

/** Every route this authority serves. A contract route that is not here is absent: 404, never a stub. */
export const BINDINGS: readonly Binding<Office>[] = [...healthRoutes, ...SHARED_BINDINGS]

/** What each listener serves: all of it on one, or what is for the inside on a second. */
export function bindingsFor({ managementPort }: { readonly managementPort: number | undefined }): {
  readonly open: readonly Binding<Office>[]
  readonly management: readonly Binding<Office>[]
} {
  if (managementPort === undefined) return { open: BINDINGS, management: [] }
  return { open: [...briefHealthRoutes, ...SHARED_BINDINGS], management: healthRoutes }
}
