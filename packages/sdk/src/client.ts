import { agentsArea } from './areas/agents.ts'
import type { AgentsArea } from './areas/agents.ts'
import { agreementsArea } from './areas/agreements.ts'
import type { AgreementsArea } from './areas/agreements.ts'
import { attestationsArea } from './areas/attestations.ts'
import type { AttestationsArea } from './areas/attestations.ts'
import { boundaryArea } from './areas/boundary.ts'
import type { BoundaryArea } from './areas/boundary.ts'
import { boundaryPoliciesArea } from './areas/boundary-policies.ts'
import type { BoundaryPoliciesArea } from './areas/boundary-policies.ts'
import { connectomeArea } from './areas/connectome.ts'
import type { ConnectomeArea } from './areas/connectome.ts'
import { consensusArea } from './areas/consensus.ts'
import type { ConsensusArea } from './areas/consensus.ts'
import { crlArea } from './areas/crl.ts'
import type { CrlArea } from './areas/crl.ts'
import { dashboardArea } from './areas/dashboard.ts'
import type { DashboardArea } from './areas/dashboard.ts'
import { dataUsageArea } from './areas/data-usage.ts'
import type { DataUsageArea } from './areas/data-usage.ts'
import { disclosureArea } from './areas/disclosure.ts'
import type { DisclosureArea } from './areas/disclosure.ts'
import { enrollmentArea } from './areas/enrollment.ts'
import type { EnrollmentArea } from './areas/enrollment.ts'
import { evidenceLogArea } from './areas/evidence-log.ts'
import type { EvidenceLogArea } from './areas/evidence-log.ts'
import { evidenceArea } from './areas/evidence.ts'
import type { EvidenceArea } from './areas/evidence.ts'
import { healthArea } from './areas/health.ts'
import type { HealthArea } from './areas/health.ts'
import { operatorKeysArea } from './areas/operator-keys.ts'
import type { OperatorKeysArea } from './areas/operator-keys.ts'
import { policyArea } from './areas/policy.ts'
import type { PolicyArea } from './areas/policy.ts'
import { recognitionPolicyArea } from './areas/recognition-policy.ts'
import type { RecognitionPolicyArea } from './areas/recognition-policy.ts'
import { recognitionTreatiesArea } from './areas/recognition-treaties.ts'
import type { RecognitionTreatiesArea } from './areas/recognition-treaties.ts'
import { referenceArea } from './areas/reference.ts'
import type { ReferenceArea } from './areas/reference.ts'
import { revocationFeedsArea } from './areas/revocation-feeds.ts'
import type { RevocationFeedsArea } from './areas/revocation-feeds.ts'
import { sovereignArea } from './areas/sovereign.ts'
import type { SovereignArea } from './areas/sovereign.ts'
import { trustEvidenceArea } from './areas/trust-evidence.ts'
import type { TrustEvidenceArea } from './areas/trust-evidence.ts'
import { makeCaller } from './call.ts'
import type { Connection } from './call.ts'
import { toCallerParts } from './connection-options.ts'
import type { ConnectionOptions } from './connection-options.ts'
import { nodeIdentity } from './node-key.ts'
import type { NodeKey } from './node-key.ts'
import { operatorSigning } from './operator.ts'
import type { Operator } from './operator.ts'

export interface ClientOptions extends ConnectionOptions {
  /** Signs admin calls. Without it only public calls work. */
  readonly operator?: Operator
  /** Proves possession of a node key: join, heartbeat, renew, and the announcements of an agent. */
  readonly node?: NodeKey
}

/** The areas of an authority, one per feature of the contract. A new one adds a file in areas/ and a line here. */
export interface Client {
  readonly health: HealthArea
  readonly sovereign: SovereignArea
  readonly enrollment: EnrollmentArea
  readonly crl: CrlArea
  readonly agents: AgentsArea
  readonly policy: PolicyArea
  readonly attestations: AttestationsArea
  readonly recognitionPolicy: RecognitionPolicyArea
  readonly recognitionTreaties: RecognitionTreatiesArea
  readonly revocationFeeds: RevocationFeedsArea
  readonly agreements: AgreementsArea
  readonly boundary: BoundaryArea
  readonly boundaryPolicies: BoundaryPoliciesArea
  readonly evidence: EvidenceArea
  readonly evidenceLog: EvidenceLogArea
  readonly disclosure: DisclosureArea
  readonly consensus: ConsensusArea
  readonly dataUsage: DataUsageArea
  readonly trustEvidence: TrustEvidenceArea
  readonly connectome: ConnectomeArea
  readonly dashboard: DashboardArea
  readonly operatorKeys: OperatorKeysArea
  readonly reference: ReferenceArea
}

/** A client of one authority. It opens nothing and calls nobody until a method is used. */
export function createClient(options: ClientOptions): Client {
  return toAreas(openConnection(options))
}

/** What the areas of a client share. `headers` are sent with every call. */
export function openConnection(options: ClientOptions, headers: Readonly<Record<string, string>> = {}): Connection {
  const { operator } = options
  const parts = { ...toCallerParts(options), headers: () => Promise.resolve(headers) }
  const { addresses, clock } = parts
  const open = sovereignArea({
    call: makeCaller({ ...parts, sign: undefined }),
    clock,
    node: undefined,
    addresses: addresses.all,
  })
  const fetchAudience = async (): Promise<string> => (await open.metadata()).network_authority.public_key
  const sign = operator === undefined ? undefined : operatorSigning(operator, fetchAudience)
  const node = options.node === undefined ? undefined : nodeIdentity(options.node, fetchAudience)
  return { call: makeCaller({ ...parts, sign }), clock, node, addresses: addresses.all }
}

export function toAreas(connection: Connection): Client {
  return {
    health: healthArea(connection),
    sovereign: sovereignArea(connection),
    enrollment: enrollmentArea(connection),
    crl: crlArea(connection),
    agents: agentsArea(connection),
    policy: policyArea(connection),
    attestations: attestationsArea(connection),
    recognitionPolicy: recognitionPolicyArea(connection),
    recognitionTreaties: recognitionTreatiesArea(connection),
    revocationFeeds: revocationFeedsArea(connection),
    agreements: agreementsArea(connection),
    boundary: boundaryArea(connection),
    boundaryPolicies: boundaryPoliciesArea(connection),
    evidence: evidenceArea(connection),
    evidenceLog: evidenceLogArea(connection),
    disclosure: disclosureArea(connection),
    consensus: consensusArea(connection),
    dataUsage: dataUsageArea(connection),
    trustEvidence: trustEvidenceArea(connection),
    connectome: connectomeArea(connection),
    dashboard: dashboardArea(connection),
    operatorKeys: operatorKeysArea(connection),
    reference: referenceArea(connection),
  }
}
