import { agentsApi } from './api/agents.ts'
import type { AgentsApi } from './api/agents.ts'
import { agreementsApi } from './api/agreements.ts'
import type { AgreementsApi } from './api/agreements.ts'
import { attestationsApi } from './api/attestations.ts'
import type { AttestationsApi } from './api/attestations.ts'
import { boundaryApi } from './api/boundary.ts'
import type { BoundaryApi } from './api/boundary.ts'
import { boundaryPoliciesApi } from './api/boundary-policies.ts'
import type { BoundaryPoliciesApi } from './api/boundary-policies.ts'
import { connectomeApi } from './api/connectome.ts'
import type { ConnectomeApi } from './api/connectome.ts'
import { consensusApi } from './api/consensus.ts'
import type { ConsensusApi } from './api/consensus.ts'
import { crlApi } from './api/crl.ts'
import type { CrlApi } from './api/crl.ts'
import { dashboardApi } from './api/dashboard.ts'
import type { DashboardApi } from './api/dashboard.ts'
import { dataUsageApi } from './api/data-usage.ts'
import type { DataUsageApi } from './api/data-usage.ts'
import { disclosureApi } from './api/disclosure.ts'
import type { DisclosureApi } from './api/disclosure.ts'
import { rosterApi } from './api/roster.ts'
import type { RosterApi } from './api/roster.ts'
import { enrollmentApi } from './api/enrollment.ts'
import type { EnrollmentApi } from './api/enrollment.ts'
import { evidenceLogApi } from './api/evidence-log.ts'
import type { EvidenceLogApi } from './api/evidence-log.ts'
import { evidenceApi } from './api/evidence.ts'
import type { EvidenceApi } from './api/evidence.ts'
import { healthApi } from './api/health.ts'
import type { HealthApi } from './api/health.ts'
import { auditApi } from './api/audit.ts'
import type { AuditApi } from './api/audit.ts'
import { findingsApi } from './api/findings.ts'
import type { FindingsApi } from './api/findings.ts'
import { historyApi } from './api/history.ts'
import type { HistoryApi } from './api/history.ts'
import { changesApi } from './api/changes.ts'
import type { ChangesApi } from './api/changes.ts'
import { operatorKeysApi } from './api/operator-keys.ts'
import type { OperatorKeysApi } from './api/operator-keys.ts'
import { admissionApi } from './api/admission.ts'
import type { AdmissionApi } from './api/admission.ts'
import { partnersApi } from './api/partners.ts'
import type { PartnersApi } from './api/partners.ts'
import { policyApi } from './api/policy.ts'
import type { PolicyApi } from './api/policy.ts'
import { recognitionPolicyApi } from './api/recognition-policy.ts'
import type { RecognitionPolicyApi } from './api/recognition-policy.ts'
import { recognitionTreatiesApi } from './api/recognition-treaties.ts'
import type { RecognitionTreatiesApi } from './api/recognition-treaties.ts'
import { referenceApi } from './api/reference.ts'
import type { ReferenceApi } from './api/reference.ts'
import { revocationFeedsApi } from './api/revocation-feeds.ts'
import type { RevocationFeedsApi } from './api/revocation-feeds.ts'
import { sovereignApi } from './api/sovereign.ts'
import type { SovereignApi } from './api/sovereign.ts'
import { trustEvidenceApi } from './api/trust-evidence.ts'
import type { TrustEvidenceApi } from './api/trust-evidence.ts'
import { makeCaller } from './http/call.ts'
import type { Connection } from './http/call.ts'
import { toCallerParts } from './http/options.ts'
import type { ConnectionOptions } from './http/options.ts'
import { nodeIdentity } from './http/node-signing.ts'
import type { NodeKey } from './http/node-signing.ts'
import { operatorSigning } from './http/operator-signing.ts'
import type { Operator } from './http/operator-signing.ts'

export interface ClientOptions extends ConnectionOptions {
  /** Signs admin calls. Without it only public calls work. */
  readonly operator?: Operator
  /** Proves possession of a node key: join, heartbeat, renew, and the registrations of an agent. */
  readonly node?: NodeKey
}

/** The API groups of an authority, one per feature of the contract. A new one needs a file in api/ and a line here. */
export interface Client {
  readonly health: HealthApi
  readonly sovereign: SovereignApi
  readonly enrollment: EnrollmentApi
  readonly roster: RosterApi
  readonly crl: CrlApi
  readonly agents: AgentsApi
  readonly policy: PolicyApi
  readonly attestations: AttestationsApi
  readonly recognitionPolicy: RecognitionPolicyApi
  readonly recognitionTreaties: RecognitionTreatiesApi
  readonly revocationFeeds: RevocationFeedsApi
  readonly partners: PartnersApi
  readonly admission: AdmissionApi
  readonly agreements: AgreementsApi
  readonly boundary: BoundaryApi
  readonly boundaryPolicies: BoundaryPoliciesApi
  readonly evidence: EvidenceApi
  readonly evidenceLog: EvidenceLogApi
  readonly disclosure: DisclosureApi
  readonly consensus: ConsensusApi
  readonly dataUsage: DataUsageApi
  readonly trustEvidence: TrustEvidenceApi
  readonly connectome: ConnectomeApi
  readonly dashboard: DashboardApi
  readonly operatorKeys: OperatorKeysApi
  readonly audit: AuditApi
  readonly findings: FindingsApi
  readonly history: HistoryApi
  readonly changes: ChangesApi
  readonly reference: ReferenceApi
}

/** Creates a client of one authority. It opens no connection until a method is used. */
export function createClient(options: ClientOptions): Client {
  return toAreas(openConnection(options))
}

/** Shared parts of the API groups of a client. `headers` are sent with every call. */
export function openConnection(options: ClientOptions, headers: Readonly<Record<string, string>> = {}): Connection {
  const { operator } = options
  const parts = { ...toCallerParts(options), headers: () => Promise.resolve(headers) }
  const { endpoints, clock } = parts
  const open = sovereignApi({
    call: makeCaller({ ...parts, sign: undefined }),
    clock,
    node: undefined,
    endpoints: endpoints.all,
  })
  const fetchAudience = async (): Promise<string> => (await open.metadata()).network_authority.public_key
  const sign = operator === undefined ? undefined : operatorSigning(operator, fetchAudience)
  const node = options.node === undefined ? undefined : nodeIdentity(options.node, fetchAudience)
  return { call: makeCaller({ ...parts, sign }), clock, node, endpoints: endpoints.all }
}

export function toAreas(connection: Connection): Client {
  return {
    health: healthApi(connection),
    sovereign: sovereignApi(connection),
    enrollment: enrollmentApi(connection),
    roster: rosterApi(connection),
    crl: crlApi(connection),
    agents: agentsApi(connection),
    policy: policyApi(connection),
    attestations: attestationsApi(connection),
    recognitionPolicy: recognitionPolicyApi(connection),
    recognitionTreaties: recognitionTreatiesApi(connection),
    revocationFeeds: revocationFeedsApi(connection),
    partners: partnersApi(connection),
    admission: admissionApi(connection),
    agreements: agreementsApi(connection),
    boundary: boundaryApi(connection),
    boundaryPolicies: boundaryPoliciesApi(connection),
    evidence: evidenceApi(connection),
    evidenceLog: evidenceLogApi(connection),
    disclosure: disclosureApi(connection),
    consensus: consensusApi(connection),
    dataUsage: dataUsageApi(connection),
    trustEvidence: trustEvidenceApi(connection),
    connectome: connectomeApi(connection),
    dashboard: dashboardApi(connection),
    operatorKeys: operatorKeysApi(connection),
    audit: auditApi(connection),
    findings: findingsApi(connection),
    history: historyApi(connection),
    changes: changesApi(connection),
    reference: referenceApi(connection),
  }
}
