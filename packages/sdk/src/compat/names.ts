import type { PolicyActivation, PolicyDeactivation } from '@chancery/contract'
import type { ExplainedPath } from '@chancery/protocol'
import type { CallOptions } from '../http/call.ts'
import type { Client } from '../client.ts'
import type { EvidenceSender } from '../governed/evidence-sender.ts'
import { type EvidenceStoreNames, evidenceStoreNames } from './sub-clients.ts'

/**
 * The sub-clients and methods of other libraries of this protocol. Each is the matching method of this library;
 * requests and responses are unchanged. They are separate from the API groups because `policy` and `evidence` have
 * another meaning there.
 */
export interface ExistingNames {
  readonly agreement: Client['agreements']
  readonly boundary: Client['boundary']
  readonly policy: Omit<Client['boundaryPolicies'], 'activate' | 'deactivate'> & {
    activate(policyId: string, version: number, options?: CallOptions): Promise<PolicyActivation>
    deactivate(policyId: string, version: number, options?: CallOptions): Promise<PolicyDeactivation>
  }
  readonly evidence: {
    readonly build: Client['trustEvidence']['issue']
    readonly verify: Client['trustEvidence']['verify']
  }
  readonly evidenceStore: EvidenceStoreNames
  readonly attestation: {
    readonly issue: Client['attestations']['issue']
    readonly revoke: Client['attestations']['revoke']
    readonly get: Client['attestations']['find']
    readonly list: Client['attestations']['list']
    readonly verify: Client['attestations']['verify']
    readonly savePolicy: Client['recognitionPolicy']['publish']
    readonly getPolicy: Client['recognitionPolicy']['current']
    readonly revocationFeed: Client['revocationFeeds']['current']
  }
  readonly disclosure: {
    readonly commit: Client['disclosure']['commitUnsalted']
    readonly prove: Client['disclosure']['prove']
    readonly nullifier: Client['disclosure']['nullifier']
    readonly verify: Client['disclosure']['verify']
  }
  readonly consensus: {
    readonly vote: Client['consensus']['vote']
    readonly proof: Client['consensus']['proof']
    readonly verify: Client['consensus']['verify']
  }
  readonly dataUsage: {
    readonly createPolicy: Client['dataUsage']['publish']
    readonly createIntent: Client['dataUsage']['intent']
    getPolicy(
      options?: CallOptions & { readonly licensee_sovereign_id?: string },
    ): ReturnType<Client['dataUsage']['current']>
    readonly verify: Client['dataUsage']['verify']
  }
  readonly health: {
    readonly liveness: Client['health']['healthz']
    readonly readiness: Client['health']['readyz']
    readonly health: Client['health']['health']
    readonly endpoints: Client['health']['endpoints']
  }
  readonly enrollment: Client['enrollment']
  readonly discovery: {
    readonly register: Client['agents']['register']
    readonly list: Client['agents']['search']
    readonly get: Client['agents']['find']
    readonly delete: Client['agents']['remove']
  }
  readonly treaties: {
    readonly issue: Client['recognitionTreaties']['issue']
    readonly revoke: Client['recognitionTreaties']['revoke']
    readonly get: Client['recognitionTreaties']['find']
    readonly list: Client['recognitionTreaties']['list']
    readonly verify: Client['recognitionTreaties']['verify']
    readonly verifyAttestation: Client['attestations']['verifyWithTreaty']
    readonly importFeed: Client['revocationFeeds']['import']
    graph(options?: CallOptions): ReturnType<Client['connectome']['graph']>
    readonly connectome: Client['connectome']['summary']
    readonly trustPath: (from: string, to: string, options?: CallOptions) => Promise<ExplainedPath>
  }
  readonly admin: {
    readonly invite: Client['enrollment']['invite']
    readonly revokeCertificate: Client['crl']['revoke']
    readonly revokeOperatorKey: Client['operatorKeys']['revoke']
    readonly publishPolicy: Client['policy']['publish']
    readonly policyHistory: Client['policy']['history']
    readonly rollbackPolicy: (policyId: string, options?: CallOptions) => ReturnType<Client['policy']['rollback']>
  }
  readonly network: {
    readonly genesis: Client['sovereign']['genesis']
    readonly sovereign: Client['sovereign']['metadata']
    readonly policy: Client['policy']['current']
    readonly crl: Client['crl']['current']
    readonly nodes: Client['enrollment']['nodes']
    readonly dashboard: Client['dashboard']['view']
    readonly atlas: Client['connectome']['atlas']
  }
}

/** Returns the client under those names; with a sender, `evidenceStore` has an outbox. */
export function withExistingNames(client: Client, sender?: EvidenceSender): ExistingNames {
  const { agents, attestations, connectome, consensus, dataUsage, disclosure, enrollment } = client
  return {
    agreement: client.agreements,
    boundary: client.boundary,
    policy: policyNames(client),
    evidence: { build: client.trustEvidence.issue, verify: client.trustEvidence.verify },
    evidenceStore: evidenceStoreNames(client, sender),
    attestation: {
      issue: attestations.issue,
      revoke: attestations.revoke,
      get: attestations.find,
      list: attestations.list,
      verify: attestations.verify,
      savePolicy: client.recognitionPolicy.publish,
      getPolicy: client.recognitionPolicy.current,
      revocationFeed: client.revocationFeeds.current,
    },
    disclosure: {
      commit: disclosure.commitUnsalted,
      prove: disclosure.prove,
      nullifier: disclosure.nullifier,
      verify: disclosure.verify,
    },
    consensus: { vote: consensus.vote, proof: consensus.proof, verify: consensus.verify },
    dataUsage: {
      createPolicy: dataUsage.publish,
      createIntent: dataUsage.intent,
      getPolicy: ({ licensee_sovereign_id, ...options } = {}) =>
        dataUsage.current(licensee_sovereign_id === undefined ? {} : { licensee_sovereign_id }, options),
      verify: dataUsage.verify,
    },
    health: {
      liveness: client.health.healthz,
      readiness: client.health.readyz,
      health: client.health.health,
      endpoints: client.health.endpoints,
    },
    enrollment,
    discovery: { register: agents.register, list: agents.search, get: agents.find, delete: agents.remove },
    treaties: treatyNames(client),
    admin: {
      invite: enrollment.invite,
      revokeCertificate: client.crl.revoke,
      revokeOperatorKey: client.operatorKeys.revoke,
      publishPolicy: client.policy.publish,
      policyHistory: client.policy.history,
      rollbackPolicy: (policy_id, options) => client.policy.rollback({ policy_id }, options),
    },
    network: {
      genesis: client.sovereign.genesis,
      sovereign: client.sovereign.metadata,
      policy: client.policy.current,
      crl: client.crl.current,
      nodes: enrollment.nodes,
      dashboard: client.dashboard.view,
      atlas: connectome.atlas,
    },
  }
}

function policyNames({ boundaryPolicies }: Client): ExistingNames['policy'] {
  return {
    ...boundaryPolicies,
    activate: (id, version, options) => boundaryPolicies.activate(id, { version }, options),
    deactivate: (id, version, options) => boundaryPolicies.deactivate(id, { version }, options),
  }
}

function treatyNames(client: Client): ExistingNames['treaties'] {
  const { attestations, connectome, recognitionTreaties, revocationFeeds } = client
  return {
    issue: recognitionTreaties.issue,
    revoke: recognitionTreaties.revoke,
    get: recognitionTreaties.find,
    list: recognitionTreaties.list,
    verify: recognitionTreaties.verify,
    verifyAttestation: attestations.verifyWithTreaty,
    importFeed: revocationFeeds.import,
    graph: (options) => connectome.graph({}, options),
    connectome: connectome.summary,
    trustPath: (from, to, options) => connectome.trustPath({ from, to }, options),
  }
}
