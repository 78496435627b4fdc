import { Refusal, disclosure } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature, FeatureBase } from '../../core.ts'
import type { Agreements } from '../agreements/index.ts'
import {
  SEED_BYTES,
  asJson,
  buildMerkleTree,
  buildSaltedTree,
  commitmentForm,
  draftCapabilityCommitment,
  draftCapabilityNullifier,
  field,
  form,
  membershipProofForm,
  nullifierForm,
  proveMembership,
  readCapabilityCommitment,
  readReceived,
  saltedLeafCount,
  verifyDisclosure,
} from '@chancery/protocol'
import type { CapabilityMembershipProof, JsonObject, JsonValue } from '@chancery/protocol'
import { readOrRefuse, readTrustKeys, requirePresent, respondVerdict } from '../../requests/read-fields.ts'
import type { Call, HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/signed-record.ts'

interface DisclosureParts extends FeatureBase {
  readonly agreements: Agreements
}

const names = form.listOf(field.label, { min: 1 }).read

/** protocol/trust-operations 7.3, checks in the order of its text. */
function readProveRequest(body: JsonObject) {
  const presented = requirePresent(body, 'commitment', 'missing_prove_fields')
  const named = readOrRefuse('missing_prove_fields', () => ({
    capability: field.label(body['capability'] ?? null, 'capability'),
    capabilities: names(body['capabilities'] ?? null, 'capabilities'),
    prover_sovereign_id: field.identifier(body['prover_sovereign_id'] ?? null, 'prover_sovereign_id'),
    ...((body['seed'] ?? null) === null ? {} : { seed: field.digest(body['seed'] ?? null, 'seed') }),
  }))
  const { record: commitment } = readOrRefuse('invalid_commitment', () => readCapabilityCommitment(presented))
  return { ...named, commitment }
}

/** protocol/trust-operations 7.2: checks only that both are present. Their content is checked later. */
function readCommitRequest(body: JsonObject) {
  const items = body['capabilities']
  const isList = Array.isArray(items) && items.length > 0 && items.length <= form.MAX_ITEMS
  if (!isList) throw new Refusal('missing_commit_fields', { field: 'capabilities' })
  const presented = requirePresent(body, 'agreement', 'missing_commit_fields')
  const { salted = false } = body
  // A word that is not understood must not give a form that hides less.
  if (typeof salted !== 'boolean') throw new Refusal('missing_commit_fields', { field: 'salted' })
  return { items: items as readonly JsonValue[], presented, isSalted: salted }
}

/** Checks the list of a commitment: non-empty names, without repetition, all agreed (protocol/trust-operations 7.2). */
function readCommittable(items: readonly JsonValue[], agreed: readonly string[]): readonly string[] {
  const capabilities = readOrRefuse('commit_failed', () => names(items, 'capabilities'))
  const isDistinct = new Set(capabilities).size === capabilities.length
  const known = new Set(agreed)
  if (!isDistinct || !capabilities.every((capability) => known.has(capability))) throw new Refusal('commit_failed')
  return capabilities
}

function readProof(value: JsonValue): CapabilityMembershipProof {
  return readReceived(membershipProofForm, value).record
}

/**
 * POST /disclosure/prove
 * Builds a membership proof from the request. It uses no stored state and signs nothing: the verifier of the proof also
 * verifies the commitment. The caller gives the seed of a salted commitment: with a stored one this route would confirm
 * guesses of hidden names.
 */
async function prove(call: Call, parts: DisclosureParts): Promise<JsonObject> {
  const request = readProveRequest(call.body)
  const proof = proveMembership({ ...request, proof_id: parts.ids.uuid(), now: parts.clock.now() })
  if (proof === undefined) throw new Refusal('prove_failed')
  return asJson(proof)
}

/**
 * POST /admin/disclosure/commit
 * Signs a Merkle root over capabilities of an agreement. Their holder can later prove one of them without showing the
 * others. The seed of a salted one is answered and not stored: anyone who has it can guess the hidden names, and a route
 * that used a stored one would confirm guesses.
 */
async function commit(call: OperatorCall, parts: DisclosureParts): Promise<HttpResponse> {
  const { items, presented, isSalted } = readCommitRequest(call.body)
  const { agreement_id, agreed_terms } = (await parts.agreements.loadTrustedAgreement(call, presented)).record
  const capabilities = readCommittable(items, agreed_terms.capabilities)
  const seed = isSalted ? parts.ids.hex(SEED_BYTES * 2) : undefined
  const committed =
    seed === undefined
      ? { merkle_root: buildMerkleTree(capabilities).root, capability_count: capabilities.length }
      : {
          merkle_root: buildSaltedTree(capabilities, seed).root,
          capability_count: saltedLeafCount(capabilities.length),
          salted: true as const,
        }
  const [commitment_id, issuer_sovereign_id] = [parts.ids.uuid(), parts.network.name]
  return issueRecord(call, parts, {
    form: commitmentForm,
    failed: 'commit_failed',
    event: 'capability_commitment_created',
    named: ['commitment_id', 'agreement_id'],
    draft: (now) => draftCapabilityCommitment({ commitment_id, ...committed, agreement_id, issuer_sovereign_id, now }),
    // Apart from the record, so that a caller who passes on the record does not pass on the seed.
    answer: (commitment) => (seed === undefined ? commitment : { commitment, seed }),
  })
}

/**
 * POST /disclosure/verify
 * Verifies that a proof shows a capability of a commitment. Writes nothing.
 */
async function verify(call: Call, parts: DisclosureParts): Promise<JsonObject> {
  const [shown, promised] = [
    requirePresent(call.body, 'proof', 'missing_verify_fields'),
    requirePresent(call.body, 'commitment', 'missing_verify_fields'),
  ]
  const proof = readOrRefuse('invalid_input', () => readProof(shown))
  const commitment = readOrRefuse('invalid_input', () => readCapabilityCommitment(promised))
  const keys = readTrustKeys(call.body, 'issuer_public_keys', parts.keys.all)
  const verdict = await verifyDisclosure(proof, commitment, keys)
  const { commitment_id } = commitment.record
  const label = verdict.warning === undefined ? {} : { warning: verdict.warning }
  return { ...respondVerdict(call, parts, verdict, 'valid'), commitment_id, ...label }
}

/**
 * POST /admin/disclosure/nullifier
 * Signs a nullifier, which lets a verifier accept a proof only once. The verifier stores it, not the authority.
 */
async function nullifier(call: OperatorCall, parts: DisclosureParts): Promise<HttpResponse> {
  const shown = requirePresent(call.body, 'proof', 'missing_proof')
  const { proof_id } = readOrRefuse('invalid_proof', () => readProof(shown))
  const named = { nullifier_id: parts.ids.uuid(), proof_id, prover_sovereign_id: parts.network.name }
  return issueRecord(call, parts, {
    form: nullifierForm,
    failed: 'nullifier_failed',
    event: 'capability_nullifier_issued',
    named: ['nullifier_id', 'proof_id'],
    draft: (now) => draftCapabilityNullifier({ ...named, nonce: parts.ids.hex(32), now }),
  })
}

export function openDisclosure(parts: DisclosureParts): Feature {
  return {
    routes: [
      bind(disclosure.commit, (call) => commit(call, parts)),
      bind(disclosure.nullifier, (call) => nullifier(call, parts)),
      bind(disclosure.prove, (call) => prove(call, parts)),
      bind(disclosure.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
