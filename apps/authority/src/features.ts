import type { Binding, Job } from '@chancery/service-kit'
import { whenClockIsCorrect } from './clock/purge-clock.ts'
import type { Core, Feature } from './core.ts'
import { type Admission, openAdmission } from './features/admission/index.ts'
import { openAgents } from './features/agents/index.ts'
import { type Agreements, openAgreements } from './features/agreements/index.ts'
import { type Approvals, openApprovals } from './features/approvals/index.ts'
import { type Attestations, openAttestations } from './features/attestations/index.ts'
import { type BoundaryPolicies, openBoundaryPolicies } from './features/boundary-policies/index.ts'
import { type Boundary, openBoundary } from './features/boundary/index.ts'
import { type Budgets, openBudgets } from './features/budgets/index.ts'
import { openChanges } from './features/changes/index.ts'
import { type Connectome, openConnectome } from './features/connectome/index.ts'
import { openConsensus } from './features/consensus/index.ts'
import { type Crl, openCrl } from './features/crl/index.ts'
import { openDashboard } from './features/dashboard/index.ts'
import { openDataUsage } from './features/data-usage/index.ts'
import { openDisclosure } from './features/disclosure/index.ts'
import { type Enrollment, openEnrollment } from './features/enrollment/index.ts'
import { type EvidenceLog, openEvidenceLog } from './features/evidence-log/index.ts'
import { type Evidence, openEvidence } from './features/evidence/index.ts'
import { openFindings } from './features/findings/index.ts'
import { openHistory } from './features/history/index.ts'
import { type Health, openHealth } from './features/health/index.ts'
import { type KeySuccession, openKeySuccession } from './features/key-succession/index.ts'
import { openAuditList } from './features/audit/index.ts'
import { openOperatorKeys } from './features/operator-keys/index.ts'
import { type Partners, openPartners } from './features/partners/index.ts'
import { type Policy, openPolicy } from './features/policy/index.ts'
import { type RecognitionPolicy, openRecognitionPolicy } from './features/recognition-policy/index.ts'
import { type RecognitionTreaties, openRecognitionTreaties } from './features/recognition-treaties/index.ts'
import { openReference } from './features/reference/index.ts'
import { type RevocationFeeds, openRevocationFeeds } from './features/revocation-feeds/index.ts'
import { type Roster, openRoster } from './features/roster/index.ts'
import { openSovereign } from './features/sovereign/index.ts'
import { type TrustEvidenceIssuer, openTrustEvidence } from './features/trust-evidence/index.ts'
import { PublishedDocuments } from './requests/published-documents.ts'
import type { AuthoritySettings } from './settings/authority-settings.ts'

/** The opened features, and the parts that several of them share. */
export interface Features {
  readonly publishedDocuments: PublishedDocuments
  readonly admission: Admission
  readonly agents: Feature
  readonly agreements: Agreements
  readonly approvals: Approvals
  readonly attestations: Attestations
  readonly boundary: Boundary
  readonly boundaryPolicies: BoundaryPolicies
  readonly budgets: Budgets
  readonly connectome: Connectome
  readonly consensus: Feature
  readonly crl: Crl
  readonly dashboard: Feature
  readonly dataUsage: Feature
  readonly disclosure: Feature
  readonly enrollment: Enrollment
  readonly evidence: Evidence
  readonly evidenceLog: EvidenceLog
  readonly findings: Feature
  readonly health: Health
  readonly history: Feature
  readonly keySuccession: KeySuccession
  readonly operatorKeys: Feature
  readonly auditList: Feature
  readonly changes: Feature
  readonly partners: Partners
  readonly policy: Policy
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly reference: Feature
  readonly revocationFeeds: RevocationFeeds
  readonly roster: Roster
  readonly sovereign: Feature
  readonly trustEvidence: TrustEvidenceIssuer
}

/** Opens every feature. The order is the dependency order. */
// oxlint-disable-next-line max-lines-per-function -- one statement per feature, in dependency order
export function openFeatures(core: Core, settings: AuthoritySettings): Features {
  const publishedDocuments = new PublishedDocuments()
  const parts = { ...core, settings, publishedDocuments }
  const evidence = openEvidence(parts)
  const evidenceLog = openEvidenceLog({ ...parts, evidence })
  const connectome = openConnectome(parts)
  const agents = openAgents(parts)
  const crl = openCrl(parts)
  const admission = openAdmission(parts)
  const enrollment = openEnrollment({ ...parts, admission })
  const roster = openRoster(parts)
  const policy = openPolicy(parts)
  const operatorKeys = openOperatorKeys({ ...parts, admission, enrollment })
  const auditList = openAuditList(parts)
  const changes = openChanges(parts)
  const recognitionPolicy = openRecognitionPolicy(parts)
  const recognitionTreaties = openRecognitionTreaties({ ...parts, connectome })
  const revocationFeeds = openRevocationFeeds({ ...parts, recognitionTreaties })
  const partners = openPartners({ ...parts, recognitionTreaties, revocationFeeds })
  const attestations = openAttestations({
    ...parts,
    connectome,
    recognitionPolicy,
    recognitionTreaties,
    revocationFeeds,
  })
  const trustEvidence = openTrustEvidence({ ...parts, connectome })
  const agreements = openAgreements({ ...parts, connectome, recognitionTreaties, trustEvidence })
  const boundaryPolicies = openBoundaryPolicies({ ...parts, attestations })
  const approvals = openApprovals({
    ...parts,
    attestations,
    evidence,
    partners,
    recognitionPolicy,
    recognitionTreaties,
    revocationFeeds,
  })
  const budgets = openBudgets({ ...parts, boundaryPolicies })
  const boundary = openBoundary({
    ...parts,
    agreements,
    approvals,
    attestations,
    boundaryPolicies,
    enrollment,
    evidence,
    partners,
    recognitionPolicy,
    recognitionTreaties,
    revocationFeeds,
  })
  const disclosure = openDisclosure({ ...parts, agreements })
  const keySuccession = openKeySuccession({ ...parts, crl, evidenceLog, policy, revocationFeeds })
  const health = openHealth({
    ...parts,
    boundaryPolicies,
    crl,
    enrollment,
    keySuccession,
    policy,
    revocationFeeds,
  })
  const dashboard = openDashboard({
    ...parts,
    boundary,
    boundaryPolicies,
    connectome,
    enrollment,
    health,
    keySuccession,
  })
  const findings = openFindings({ ...parts, boundary, boundaryPolicies, budgets, enrollment, health, roster })
  const features: Features = {
    publishedDocuments,
    evidence,
    evidenceLog,
    connectome,
    agents,
    crl,
    admission,
    enrollment,
    roster,
    policy,
    operatorKeys,
    auditList,
    changes,
    recognitionPolicy,
    recognitionTreaties,
    revocationFeeds,
    partners,
    attestations,
    trustEvidence,
    agreements,
    boundaryPolicies,
    approvals,
    budgets,
    boundary,
    disclosure,
    keySuccession,
    health,
    dashboard,
    findings,
    history: openHistory(parts),
    consensus: openConsensus({ ...parts, partners, recognitionTreaties }),
    dataUsage: openDataUsage({ ...parts, evidence }),
    sovereign: openSovereign(parts),
    reference: openReference({
      ...parts,
      listRoutes: () => bindingsOf(features, settings).open.map((binding) => binding.route),
    }),
  }
  return features
}

/** The routes of each listener: all on one, or the internal routes on a second. */
export function bindingsOf(
  features: Features,
  { management }: Pick<AuthoritySettings, 'management'>,
): { readonly open: readonly Binding[]; readonly management: readonly Binding[] } {
  const shared = inDocumentOrder(features).flatMap((feature) => feature.routes)
  const { routes, briefRoutes } = features.health
  if (management === undefined) return { open: [...routes, ...shared], management: [] }
  return { open: [...briefRoutes, ...shared], management: routes }
}

/** The order of the routes in the reference documents. */
function inDocumentOrder(features: Features): readonly Feature[] {
  return [
    features.reference,
    features.sovereign,
    features.enrollment,
    features.admission,
    features.roster,
    features.crl,
    features.agents,
    features.policy,
    features.operatorKeys,
    features.auditList,
    features.findings,
    features.history,
    features.changes,
    features.attestations,
    features.recognitionPolicy,
    features.recognitionTreaties,
    features.revocationFeeds,
    features.partners,
    features.boundaryPolicies,
    features.connectome,
    features.trustEvidence,
    features.agreements,
    features.boundary,
    features.approvals,
    features.budgets,
    features.evidence,
    features.evidenceLog,
    features.dashboard,
    features.disclosure,
    features.consensus,
    features.dataUsage,
  ]
}

/** Background jobs of the features. Each statement is limited, and any instance may repeat a run at any time. */
export function jobsOf(features: Features, { clockCheck }: Pick<Core, 'clockCheck'>): readonly Job[] {
  const { enrollment, evidence, revocationFeeds } = features
  return [
    ...listFeatures(features).flatMap((feature) => feature.jobs),
    {
      name: 'retention',
      everySeconds: 600,
      run: whenClockIsCorrect(clockCheck, async (signal) => {
        await enrollment.removeEnded(signal)
        await evidence.removeOldRows()
        await revocationFeeds.removeOldImports(signal)
      }),
    },
  ]
}

/** Closes in the reverse order of opening. Queued work is finished first. */
export async function closeFeatures(features: Features): Promise<void> {
  for (const feature of listFeatures(features).toReversed()) await feature.close()
}

function listFeatures({ publishedDocuments: _documents, ...features }: Features): readonly Feature[] {
  return Object.values(features)
}
