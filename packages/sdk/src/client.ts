import {
  type RouteTable,
  admission,
  audit,
  budgets,
  changes,
  consensus,
  dataUsage,
  findings,
  history,
  operatorKeys,
  partners,
  recognitionPolicy,
  sovereign,
  trustEvidence,
} from '@chancery/contract'
import { type AgentsApi, agentsApi } from './api/agents.ts'
import { type AgreementsApi, type DisclosureApi, agreementsApi, disclosureApi } from './api/agreements.ts'
import { type ApprovalsApi, approvalsApi } from './api/approvals.ts'
import { type BoundaryApi, boundaryApi } from './api/boundary.ts'
import { type BoundaryPoliciesApi, boundaryPoliciesApi } from './api/boundary-policies.ts'
import { type CrlApi, crlApi } from './api/crl.ts'
import { type EnrollmentApi, enrollmentApi } from './api/enrollment.ts'
import { type EvidenceLogApi, evidenceLogApi } from './api/evidence-log.ts'
import { type EvidenceApi, evidenceApi } from './api/evidence.ts'
import { type HealthApi, healthApi } from './api/health.ts'
import { type RosterApi, rosterApi } from './api/nodes.ts'
import { type PolicyApi, policyApi } from './api/policy.ts'
import {
  type AttestationsApi,
  type RecognitionTreatiesApi,
  type RevocationFeedsApi,
  attestationsApi,
  recognitionTreatiesApi,
  revocationFeedsApi,
} from './api/recognition.ts'
import {
  type ConnectomeApi,
  type DashboardApi,
  type ReferenceApi,
  connectomeApi,
  dashboardApi,
  referenceApi,
} from './api/views.ts'
import type { Connection } from './http/call.ts'
import { type RouteApi, routeApi } from './http/route-api.ts'

/** As operator. The same rule added again gives the stored one. */
export type AdmissionApi = RouteApi<typeof admission>

/** Beta. As operator. */
export type AuditApi = RouteApi<typeof audit>

/** Beta. `status` is for a node: its proof is the body. The others are as operator. */
export type BudgetsApi = RouteApi<typeof budgets>

/** Beta. As operator. `current` returns what changed since the joint version of an earlier call. */
export type ChangesApi = RouteApi<typeof changes>

/**
 * `vote`: as operator, the vote of this authority on a justification that it or another authority issued; `castVote`
 * votes without an authority. `proof`: as operator, the collected votes as one signed proof.
 */
export type ConsensusApi = RouteApi<typeof consensus>

/**
 * `publish` and `intent`: as operator, for this network; `publish` replaces the policy in force for the same licensee.
 * `current` returns the policy in force for a licensee, or without a filter the newest, as signed: verify its signature
 * with the key you trust. `record`: as operator, the same check as `verify`; violations are stored as one entry of the
 * evidence store. Beta.
 */
export type DataUsageApi = RouteApi<typeof dataUsage>

/** Beta. As operator. */
export type FindingsApi = RouteApi<typeof findings>

/** Beta. As operator. Write all pages of `archive` for an archive. */
export type HistoryApi = RouteApi<typeof history>

/** As operator. A revocation is permanent, and in force from the next request on; a repeat changes nothing. */
export type OperatorKeysApi = RouteApi<typeof operatorKeys>

/** As operator. After an unknown outcome `add` is repeated only with an idempotency key. */
export type PartnersApi = RouteApi<typeof partners>

/** `publish`: as operator. It becomes the only active policy. */
export type RecognitionPolicyApi = RouteApi<typeof recognitionPolicy>

/**
 * Documents as served. Check a block with protocol's verifyGenesisBlock and against the root key you trust, former keys
 * with verifyKeyHistory, and a succession with verifySuccession against your stored block.
 */
export type SovereignApi = RouteApi<typeof sovereign>

/** `issue`: as operator. For `verify` keys default to those of the called authority. */
export type TrustEvidenceApi = RouteApi<typeof trustEvidence>

/** A method for each route of the contract, by its name. */
export type RouteMethods = {
  readonly [Feature in keyof RouteTable]: { readonly [Name in keyof RouteTable[Feature]]: unknown }
}

/** The API groups of an authority, one per feature of the contract. A new one needs a line here, and a file in api/ for separate methods. */
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
  readonly approvals: ApprovalsApi
  readonly boundaryPolicies: BoundaryPoliciesApi
  readonly budgets: BudgetsApi
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

/** Every area over one connection. */
export function toAreas(connection: Connection): Client {
  return {
    health: healthApi(connection),
    sovereign: routeApi(sovereign, connection),
    enrollment: enrollmentApi(connection),
    roster: rosterApi(connection),
    crl: crlApi(connection),
    agents: agentsApi(connection),
    policy: policyApi(connection),
    attestations: attestationsApi(connection),
    recognitionPolicy: routeApi(recognitionPolicy, connection),
    recognitionTreaties: recognitionTreatiesApi(connection),
    revocationFeeds: revocationFeedsApi(connection),
    partners: routeApi(partners, connection),
    admission: routeApi(admission, connection),
    agreements: agreementsApi(connection),
    boundary: boundaryApi(connection),
    approvals: approvalsApi(connection),
    boundaryPolicies: boundaryPoliciesApi(connection),
    budgets: routeApi(budgets, connection),
    evidence: evidenceApi(connection),
    evidenceLog: evidenceLogApi(connection),
    disclosure: disclosureApi(connection),
    consensus: routeApi(consensus, connection),
    dataUsage: routeApi(dataUsage, connection),
    trustEvidence: routeApi(trustEvidence, connection),
    connectome: connectomeApi(connection),
    dashboard: dashboardApi(connection),
    operatorKeys: routeApi(operatorKeys, connection),
    audit: routeApi(audit, connection),
    findings: routeApi(findings, connection),
    history: routeApi(history, connection),
    changes: routeApi(changes, connection),
    reference: referenceApi(connection),
  } satisfies RouteMethods
}
