import { admissionRuleShape } from '../artifacts/admission-rule.ts'
import { agentDescriptorShape } from '../artifacts/agent-descriptor.ts'
import { agreementRecordForm, capabilityCounterForm, capabilityOfferForm } from '../artifacts/capability-offer.ts'
import { approvalRequestForm } from '../artifacts/approval-request.ts'
import { approvalStatementForm } from '../artifacts/approval-statement.ts'
import { attestationShape, recognitionPolicyShape } from '../artifacts/attestation.ts'
import { budgetStatusForm } from '../artifacts/budget-status.ts'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { BOUNDARY_POLICY_FORM } from '../artifacts/boundary-policy.ts'
import { commitmentForm } from '../artifacts/capability-commitment.ts'
import { membershipProofForm, nullifierForm } from '../artifacts/capability-nullifier.ts'
import { consensusForm, voteForm } from '../artifacts/consensus-proof.ts'
import { contextRecordForm } from '../artifacts/context-record.ts'
import { crlShape } from '../artifacts/crl.ts'
import { accessIntentForm, licensePolicyForm } from '../artifacts/data-access-intent.ts'
import { evidenceStoreEntryShape } from '../artifacts/evidence-store-entry.ts'
import { executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { feedIndexShape, feedPartShape } from '../artifacts/feed-index.ts'
import { freshnessProofForm, storeAnchorForm } from '../artifacts/freshness-proof.ts'
import { genesisBlockShape } from '../artifacts/genesis-block.ts'
import { joinCertificateShape } from '../artifacts/join-certificate.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { keyHistoryShape } from '../artifacts/key-history.ts'
import { logIdentityForm } from '../artifacts/log-identity.ts'
import { policyManifestShape } from '../artifacts/policy-manifest.ts'
import { recognitionTreatyShape } from '../artifacts/recognition-treaty.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { revocationFeedShape } from '../artifacts/revocation-feed.ts'
import { trustEvidenceForm } from '../artifacts/trust-evidence.ts'
import type { RecordKindName } from '../offline/record-kind.ts'
import { type Read, type Schema, schemaOf } from '../reading/schema.ts'

/** Records that are exchanged or stored and that {@link detectRecordKind} does not detect. */
type OtherRecordName =
  | 'admission-rule'
  | 'key-history'
  | 'feed-index'
  | 'feed-part'
  | 'budget-status'
  | 'context-record'
  | 'evidence-store-entry'
  | 'log-identity'
  | 'approval-request'
  | 'approval-statement'
export type SchemaName = RecordKindName | OtherRecordName

interface Published {
  readonly description: string
  /** Where the protocol describes it, for example `core 6`. */
  readonly section: string
  readonly read: Read<unknown>
}

function published(section: string, description: string, read: Read<unknown>): Published {
  return { section, description, read }
}

const PUBLISHED: Readonly<Record<SchemaName, Published>> = {
  'genesis-block': published(
    'core 4',
    'The identity of a network: its name, its root key and the key of its authority, signed by the root key.',
    genesisBlockShape,
  ),
  'key-history': published(
    'core 4',
    'The keys an authority had before the one of its genesis block, signed by the root key.',
    keyHistoryShape,
  ),
  'join-certificate': published('core 6', 'Membership of one node key in the network.', joinCertificateShape),
  crl: published('core 9.1', 'One version of the certificate revocation list.', crlShape),
  'policy-manifest': published('core 10.1', 'One version of the policy of the network.', policyManifestShape),
  'admission-rule': published(
    'admission 2',
    'Which identities of another platform may join: of which issuer, with which claims, in which roles.',
    admissionRuleShape,
  ),
  'agent-descriptor': published(
    'core 13.1',
    'Capabilities and address of an agent, signed by the key of its node.',
    agentDescriptorShape,
  ),
  'membership-attestation': published(
    'core 14.1',
    'Portable evidence that a subject is a member of a sovereign network.',
    attestationShape,
  ),
  'recognition-treaty': published(
    'core 15.1',
    'One sovereign recognises members of another: by which keys, in which roles, until when.',
    recognitionTreatyShape,
  ),
  'recognition-policy': published(
    'core 16',
    'Issuers a sovereign recognises without a treaty; not signed.',
    recognitionPolicyShape,
  ),
  'sovereign-revocation-feed': published(
    'core 18.1',
    'Every attestation that a sovereign has revoked, as one signed list.',
    revocationFeedShape,
  ),
  'feed-index': published(
    'core 18.4',
    'Names every part of a revocation feed by its digest, signed by the issuer of the feed.',
    feedIndexShape,
  ),
  'feed-part': published(
    'core 18.4',
    'Revoked attestations whose hash begins with the number of the part; bound by the digest in the index.',
    feedPartShape,
  ),
  'trust-evidence': published(
    'trust-operations 2.1',
    'A finding of one sovereign about another, with the digest of the evaluated graph.',
    trustEvidenceForm.read,
  ),
  'capability-offer': published(
    'trust-operations 3.2',
    'Capabilities one sovereign offers another.',
    capabilityOfferForm.read,
  ),
  'capability-counter': published(
    'trust-operations 3.3',
    'Other terms in response to an offer.',
    capabilityCounterForm.read,
  ),
  'agreement-record': published(
    'trust-operations 3.4',
    'An agreement of two sovereigns. Its id and its two unsigned times grant nothing.',
    agreementRecordForm.read,
  ),
  'budget-status': published(
    'budgets-and-approvals 9',
    'What a member may still use of the budgets that limit it.',
    budgetStatusForm.read,
  ),
  'context-record': published(
    'trust-operations 4.1',
    'What was asked, by whom and when. The authority builds it; decisions bind its digest.',
    contextRecordForm.read,
  ),
  'boundary-decision': published('trust-operations 4.7', 'A signed allow or deny.', boundaryDecisionForm.read),
  'freshness-proof': published(
    'trust-operations 4.8',
    'Proves that a party had a revocation feed with a sequence at a time.',
    freshnessProofForm.read,
  ),
  'justification-proof': published(
    'trust-operations 4.9',
    'Why a decision came out as it did, gate by gate.',
    justificationForm.read,
  ),
  'boundary-policy': published(
    'trust-operations 5.1',
    'A signed rule for boundary decisions: to which requests it applies, and its gates.',
    BOUNDARY_POLICY_FORM.read,
  ),
  'evidence-store-entry': published(
    'trust-operations 6.2',
    'The envelope of one stored record; each names the digest of the one before it.',
    evidenceStoreEntryShape,
  ),
  'execution-evidence': published(
    'trust-operations 6.4',
    'What an executor did on the strength of an allowed decision.',
    executionEvidenceForm.read,
  ),
  'retention-checkpoint': published(
    'trust-operations 6.11',
    'The signed boundary up to which entries of the evidence store were removed.',
    retentionCheckpointForm.read,
  ),
  'store-anchor': published(
    'trust-operations 6.12',
    'The signed head of the evidence store of an authority.',
    storeAnchorForm.read,
  ),
  'approval-request': published(
    'approvals 4',
    'A request that a person must approve, with what it says and who may approve it.',
    approvalRequestForm.read,
  ),
  'approval-statement': published(
    'approvals 5',
    'What a person says to such a request, signed with its own key.',
    approvalStatementForm.read,
  ),
  'log-identity': published(
    'trust-operations 6.13',
    'The name and the keys of the evidence log of an authority.',
    logIdentityForm.read,
  ),
  'capability-commitment': published(
    'trust-operations 7.2',
    'A promise about a set of capabilities that shows none of them.',
    commitmentForm.read,
  ),
  'capability-membership-proof': published(
    'trust-operations 7.3',
    'Proves that one capability is in a commitment; the path is the proof.',
    membershipProofForm.read,
  ),
  'capability-nullifier': published(
    'trust-operations 7.5',
    'A mark by which a verifier takes a proof only once.',
    nullifierForm.read,
  ),
  'validator-vote': published(
    'trust-operations 8.1',
    'The vote of one validator on a justification proof.',
    voteForm.read,
  ),
  'consensus-proof': published(
    'trust-operations 8.2',
    'That enough validators approve a justification.',
    consensusForm.read,
  ),
  'data-license-policy': published(
    'trust-operations 9.1',
    'What a licensor lets its data be used for.',
    licensePolicyForm.read,
  ),
  'data-access-intent': published(
    'trust-operations 9.2',
    'The declared use of data by an agent.',
    accessIntentForm.read,
  ),
}

export const SCHEMA_NAMES: readonly SchemaName[] = Object.keys(PUBLISHED) as SchemaName[]

/** Rules that a schema cannot express; its description names them. */
const LIMITS =
  'Checks the form only. Not checked: signatures, the order of times, rules between members, and that an integer is written without a fraction (168, not 168.0).'

/** The published JSON Schema (draft 2020-12) of a kind of record, made from its reader. */
export function recordSchema(name: SchemaName): Schema {
  const { description, section, read } = PUBLISHED[name]
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:chancery:schema:${name}:v1`,
    title: titleOf(name),
    description,
    $comment: `docs/protocol/${section}. ${LIMITS}`,
    ...schemaOf(read),
  }
}

/** Where the protocol describes a record: the page below docs/protocol, and the section. */
export function recordSection(name: SchemaName): { readonly page: string; readonly section: string } {
  const [page = '', section = ''] = PUBLISHED[name].section.split(' ')
  return { page, section }
}

function titleOf(name: SchemaName): string {
  return name === 'crl'
    ? 'Certificate revocation list'
    : name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ')
}
