import { type CheckedPart, type RecordKindName, UNSALTED, type Unproven } from '@chancery/protocol'

interface KindWords {
  readonly name: string
  /** What a valid record proves, and what it does not prove. */
  readonly proves: string
}

const SINCE = 'Later changes cannot be checked offline.'

/** Texts for every kind of record. */
export const KIND_WORDS: Readonly<Record<RecordKindName, KindWords>> = {
  'genesis-block': {
    name: 'genesis block',
    proves: 'Its root key signed it. Compare that key with the one you were given.',
  },
  'join-certificate': {
    name: 'join certificate',
    proves: 'The authority admitted this node key to its network. Check the revocation list for revocations.',
  },
  crl: {
    name: 'certificate revocation list',
    proves: 'The authority had revoked these certificates when it signed. A newer list may name more.',
  },
  'policy-manifest': {
    name: 'policy manifest',
    proves: 'The authority signed this policy. GET /policy shows whether it is active.',
  },
  'agent-descriptor': {
    name: 'agent descriptor',
    proves: 'The node key signed the endpoint of its agent. The certificate proves the membership of the node.',
  },
  'membership-attestation': {
    name: 'membership attestation',
    proves: 'The issuer attested this subject. Check the revocation feed of the issuer for revocations.',
  },
  'recognition-treaty': {
    name: 'recognition treaty',
    proves: `The issuer recognised the subject within this scope. ${SINCE}`,
  },
  'recognition-policy': {
    name: 'recognition policy',
    proves: 'Its form is valid. It is a local document without a signature.',
  },
  'sovereign-revocation-feed': {
    name: 'revocation feed',
    proves: 'The issuer had revoked these attestations when it signed. A newer feed may contain more.',
  },
  'trust-evidence': {
    name: 'trust evidence',
    proves: 'The issuer signed this verdict for the graph it names. The verdict may be outdated.',
  },
  'capability-offer': {
    name: 'capability offer',
    proves: 'The offerer offered these terms. They are not agreed yet.',
  },
  'capability-counter': {
    name: 'capability counter',
    proves: 'The responder proposed these terms. They are not agreed yet.',
  },
  'agreement-record': {
    name: 'agreement record',
    proves:
      'Both parties signed these terms, each by its own key. Its id and its dates outside the terms are unsigned.',
  },
  'boundary-decision': {
    name: 'boundary decision',
    proves: 'The operator decided so. Only a decision with authorized true permits anything.',
  },
  'boundary-policy': {
    name: 'boundary policy',
    proves: 'The issuer signed this version. Its authority shows whether it is active.',
  },
  'freshness-proof': {
    name: 'freshness proof',
    proves: 'The issuer had seen the feed up to this sequence.',
  },
  'justification-proof': {
    name: 'justification proof',
    proves: 'The issuer signed these reasons. Compare them with the decision they name.',
  },
  'execution-evidence': {
    name: 'execution evidence',
    proves: 'The executor signed that it did this. The decision shows whether it was allowed.',
  },
  'retention-checkpoint': {
    name: 'retention checkpoint',
    proves: 'The authority removed entries up to this sequence of its evidence store.',
  },
  'store-anchor': {
    name: 'store anchor',
    proves: 'The evidence store of the authority ended with this entry at that time.',
  },
  'capability-commitment': {
    name: 'capability commitment',
    proves: 'The issuer committed to capabilities without showing them.',
  },
  'capability-membership-proof': {
    name: 'proof of a capability',
    proves: 'The shown capability is one of the commitment, which a given key signed.',
  },
  'capability-nullifier': {
    name: 'capability nullifier',
    proves: 'The mark is fresh. Take the proof it names only when you have not seen this mark before.',
  },
  'validator-vote': {
    name: 'validator vote',
    proves: 'The validator voted so. One vote is not a consensus.',
  },
  'consensus-proof': {
    name: 'consensus proof',
    proves: 'Enough of the named validators approved, each under the key you gave.',
  },
  'data-license-policy': {
    name: 'data license policy',
    proves: `The licensor licensed this use. ${SINCE}`,
  },
  'data-access-intent': {
    name: 'data access intent',
    proves: 'The agent declared this use. Whether it is licensed: give the license with --with.',
  },
}

/** What a valid record does not prove. */
export const UNPROVEN_WORDS: Readonly<Record<Unproven, string>> = {
  root_key: 'that this root key is the one of the network. Compare it, or give it with --key.',
  node_key: 'that this key is the one of the node. Compare it, or give it with --key.',
  node_membership: 'that the node is a member now. Check its certificate and the revocation list.',
  authorship: 'who wrote it. It has no signature.',
  network: 'that it is of the network you mean. Give --genesis to compare the name in it.',
  revocation: 'that it was not revoked since. Check the current list or feed of its issuer.',
  newest: 'that no later one replaced it. Ask its issuer for the newest.',
  basis: 'the records that it names. Verify them, too, or verify an evidence pack.',
  first_use: 'that it is used for the first time. Compare it with those you have seen.',
  time: 'that it is valid now.',
  hidden_names: `that the other names are hidden. ${UNSALTED}.`,
}

export const CHECKED_WORDS: Readonly<Record<CheckedPart, string>> = {
  signature: 'signature',
  network: 'network',
  time: 'time',
  revocation: 'revocation',
  root_key: 'root key',
  node_key: 'node key',
  commitment: 'commitment',
  validators: 'validators',
  basis: 'the records it names',
}
