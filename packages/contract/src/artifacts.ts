export interface Artifact {
  /** The name as written in prose. */
  readonly name: string
  /** signatures: a list, for records several keys may sign. signature: one object, null while unsigned. */
  readonly signatureField: 'signatures' | 'signature'
  readonly stability: 'stable' | 'beta'
}

/** Every signed artifact by its id. Signed bytes are the canonical form without the signature field. */
export const ARTIFACTS = {
  'join-certificate': { name: 'join certificate', signatureField: 'signatures', stability: 'stable' },
  'genesis-block': { name: 'genesis block', signatureField: 'signatures', stability: 'stable' },
  'policy-manifest': { name: 'policy manifest', signatureField: 'signatures', stability: 'stable' },
  crl: { name: 'CRL', signatureField: 'signatures', stability: 'stable' },
  'membership-attestation': { name: 'membership attestation', signatureField: 'signatures', stability: 'stable' },
  'recognition-treaty': { name: 'recognition treaty', signatureField: 'signatures', stability: 'stable' },
  'sovereign-revocation-feed': { name: 'sovereign revocation feed', signatureField: 'signatures', stability: 'stable' },
  'agreement-record': { name: 'agreement record', signatureField: 'signatures', stability: 'stable' },
  'capability-offer': { name: 'capability offer', signatureField: 'signatures', stability: 'stable' },
  'capability-counter': { name: 'capability counter', signatureField: 'signatures', stability: 'stable' },
  'agent-descriptor': { name: 'agent descriptor', signatureField: 'signatures', stability: 'beta' },
  'admission-rule': { name: 'admission rule', signatureField: 'signatures', stability: 'beta' },
  'trust-evidence': { name: 'trust evidence', signatureField: 'signatures', stability: 'beta' },
  'boundary-policy': { name: 'boundary policy', signatureField: 'signature', stability: 'stable' },
  'boundary-decision': { name: 'boundary decision', signatureField: 'signature', stability: 'stable' },
  'data-license-policy': { name: 'data license policy', signatureField: 'signature', stability: 'stable' },
  'data-access-intent': { name: 'data access intent', signatureField: 'signature', stability: 'stable' },
  'retention-checkpoint': { name: 'retention checkpoint', signatureField: 'signature', stability: 'stable' },
  'execution-evidence': { name: 'execution evidence', signatureField: 'signature', stability: 'stable' },
  'freshness-proof': { name: 'freshness proof', signatureField: 'signature', stability: 'stable' },
  'justification-proof': { name: 'justification proof', signatureField: 'signature', stability: 'stable' },
  'consensus-proof': { name: 'consensus proof', signatureField: 'signature', stability: 'beta' },
  'validator-vote': { name: 'validator vote', signatureField: 'signature', stability: 'beta' },
  'capability-commitment': { name: 'capability commitment', signatureField: 'signature', stability: 'beta' },
  'capability-nullifier': { name: 'capability nullifier', signatureField: 'signature', stability: 'beta' },
  'approval-request': { name: 'approval request', signatureField: 'signature', stability: 'beta' },
  'approval-statement': { name: 'approval statement', signatureField: 'signature', stability: 'beta' },
  'store-anchor': { name: 'store anchor', signatureField: 'signature', stability: 'beta' },
} as const

export type ArtifactId = keyof typeof ARTIFACTS

/** The artifact with this id. */
export function artifactOf(id: ArtifactId): Artifact {
  return ARTIFACTS[id]
}
