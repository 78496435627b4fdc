import type { RouteTable } from '@chancery/contract'
import { type AgentsApi, agentsApi } from './api/agents.ts'
import { type AgreementsApi, agreementsApi } from './api/agreements.ts'
import { type AttestationsApi, attestationsApi } from './api/attestations.ts'
import { type BoundaryApi, boundaryApi } from './api/boundary.ts'
import { type BoundaryPoliciesApi, boundaryPoliciesApi } from './api/boundary-policies.ts'
import { type ConnectomeApi, connectomeApi } from './api/connectome.ts'
import { type ConsensusApi, consensusApi } from './api/consensus.ts'
import { type CrlApi, crlApi } from './api/crl.ts'
import { type DashboardApi, dashboardApi } from './api/dashboard.ts'
import { type DataUsageApi, dataUsageApi } from './api/data-usage.ts'
import { type DisclosureApi, disclosureApi } from './api/disclosure.ts'
import { type RosterApi, rosterApi } from './api/roster.ts'
import { type EnrollmentApi, enrollmentApi } from './api/enrollment.ts'
import { type EvidenceLogApi, evidenceLogApi } from './api/evidence-log.ts'
import { type EvidenceApi, evidenceApi } from './api/evidence.ts'
import { type HealthApi, healthApi } from './api/health.ts'
import { type AuditApi, auditApi } from './api/audit.ts'
import { type FindingsApi, findingsApi } from './api/findings.ts'
import { type HistoryApi, historyApi } from './api/history.ts'
import { type ChangesApi, changesApi } from './api/changes.ts'
import { type OperatorKeysApi, operatorKeysApi } from './api/operator-keys.ts'
import { type AdmissionApi, admissionApi } from './api/admission.ts'
import { type PartnersApi, partnersApi } from './api/partners.ts'
import { type PolicyApi, policyApi } from './api/policy.ts'
import { type RecognitionPolicyApi, recognitionPolicyApi } from './api/recognition-policy.ts'
import { type RecognitionTreatiesApi, recognitionTreatiesApi } from './api/recognition-treaties.ts'
import { type ReferenceApi, referenceApi } from './api/reference.ts'
import { type RevocationFeedsApi, revocationFeedsApi } from './api/revocation-feeds.ts'
import { type SovereignApi, sovereignApi } from './api/sovereign.ts'
import { type TrustEvidenceApi, trustEvidenceApi } from './api/trust-evidence.ts'
import { type Connection, type ConnectionOptions, makeCaller, toCallerParts } from './http/call.ts'
import { type NodeKey, type Operator, nodeIdentity, operatorSigning } from './http/node-signing.ts'

export interface ClientOptions extends ConnectionOptions {
  /** Signs admin calls. Without it only public calls work. */
  readonly operator?: Operator
  /** Proves possession of a node key: join, heartbeat, renew, and the registrations of an agent. */
  readonly node?: NodeKey
}

/** A method for each route of the contract, by its name. */
export type RouteMethods = {
  readonly [Feature in keyof RouteTable]: { readonly [Name in keyof RouteTable[Feature]]: unknown }
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
  } satisfies RouteMethods
}
