import {
  BOUNDARY_POLICY_FORM,
  agreementRecordForm,
  allAuthorityKeys,
  asJson,
  cedarTexts,
  checkForeignBasis,
  digestOf,
  instantOf,
  isJsonObject,
  keysInPeriod,
  policySetDigest,
  readAttestation,
  readOrUndefined,
  readReceived,
  readRecognitionTreaty,
  receivedBytes,
  receivedDigest,
  sha256Hex,
  signedBytes,
  trustAgreement,
  verifyAny,
  verifyReceived,
} from '@chancery/protocol'
import type {
  Attestation,
  AuthorityKeys,
  BoundaryPolicy,
  JsonObject,
  JsonValue,
  PartyKeys,
  RecognitionTreaty,
} from '@chancery/protocol'
import type { PackDecision } from './check-entries.ts'
import { type Finding, PASSED, failed, missing } from './report.ts'
import type { EvidencePack } from './format.ts'

/** One for each party; more would only cost time. */
const MAX_SIGNATURES = 8
const UNREAD: Finding = missing('the decision cannot be read')

/** Every applied policy is in the pack, with the digest that the decision names and a signature of its authority. */
export async function checkPolicies(
  { policies }: EvidencePack,
  keys: AuthorityKeys,
  decision: PackDecision | undefined,
): Promise<Finding> {
  if (decision === undefined) return UNREAD
  const binding = decision.record.policy_binding
  if (binding === undefined) return policies.length === 0 ? PASSED : failed('policy_not_applied')
  if (policySetDigest(binding.policies) !== binding.policy_set_digest) return failed('policy_set_digest_mismatch')
  let left = binding.policies
  let absent: string | undefined
  for (const value of policies) {
    const policy = tryRead((each) => readReceived(BOUNDARY_POLICY_FORM, each), value)
    if (policy === undefined) return failed('policy_malformed')
    // In the order of the decision: what comes before this one is not in the pack.
    const at = left.findIndex(({ policy_id }) => policy_id === policy.record.policy_id)
    const applied = left[at]
    if (applied === undefined) return failed('policy_not_applied')
    if (at > 0) absent ??= left[0]?.policy_id
    left = left.slice(at + 1)
    const { version, signature } = policy.record
    const isSame = receivedDigest(policy) === applied.policy_digest && version === applied.version
    if (!isSame || signature?.key_id !== applied.signed_by) return failed('policy_digest_mismatch')
    const verdict = await verifyReceived(policy, keysInPeriod(keys, policy.record.issued_at))
    if (!verdict.ok) return failed(`policy_${verdict.reason}`)
  }
  absent ??= left[0]?.policy_id
  return absent === undefined ? PASSED : missing(`the pack does not have policy ${absent}`)
}

/** Digests of the texts that policies name, in their order, each once. */
export function namedTexts(policies: readonly BoundaryPolicy[]): readonly string[] {
  const digests = policies
    .flatMap(({ gates }) => gates)
    .filter(({ gate_type }) => gate_type === 'cedar.v1')
    .flatMap(({ config }) => Object.values(cedarTexts(config)))
  return [...new Set(digests)]
}

/** Every text is named by a policy, and every named text is in the pack. */
export function checkTexts({ policies, policy_texts }: EvidencePack): Finding {
  const readNamed = (): readonly string[] =>
    namedTexts(policies.map((value) => readReceived(BOUNDARY_POLICY_FORM, value).record))
  const named = tryRead(readNamed, null)
  if (named === undefined) return failed('policy_malformed')
  const given = policy_texts.map((text) => sha256Hex(text))
  const inOrder = named.filter((digest) => given.includes(digest))
  if (given.join() !== inOrder.join()) return failed('text_not_named')
  const absent = named.find((digest) => !given.includes(digest))
  return absent === undefined ? PASSED : missing(`the pack does not have the text ${absent}`)
}

/** The treaty is signed by the authority, and the decision rests on it. */
export async function checkTreaty(
  { treaty, attestation, agreement }: EvidencePack,
  keys: AuthorityKeys,
  decision: PackDecision | undefined,
): Promise<Finding> {
  if (decision === undefined) return UNREAD
  const recognition = recognitionIn(decision.contextWire)
  if (treaty === null) return missing('the pack does not have the treaty with the partner')
  const record = tryRead(readRecognitionTreaty, treaty)
  if (record === undefined) return failed('treaty_malformed')
  const { network_name } = keys.genesis
  if (record.issuer_sovereign_id !== network_name) return failed('treaty_of_another_network')
  const isSigned = record.signatures.length > 0 && (await isSignedOnlyBy(record, keysInPeriod(keys, record.issued_at)))
  if (!isSigned) return failed('treaty_invalid_signature')
  if (record.signatures.some(({ key_id }) => key_id !== record.issued_by)) return failed('treaty_issuer_mismatch')
  if (recognition !== undefined) {
    const isNamed =
      recognition['treaty_id'] === record.treaty_id && recognition['treaty_digest'] === unsignedDigest(treaty)
    if (!isNamed) return failed('treaty_not_named')
    const issuer = attestation?.['issuer_sovereign_id'] ?? recognition['issuer_sovereign_id']
    return record.subject_sovereign_id === issuer ? PASSED : failed('treaty_of_another_partner')
  }
  const parties = agreement === null ? [] : [agreement['offerer_sovereign_id'], agreement['responder_sovereign_id']]
  if (!parties.includes(record.subject_sovereign_id)) return failed('treaty_not_used')
  const at = instantOf(decision.record.decision_made_at)
  const isInForce = instantOf(record.valid_from) <= at && at < instantOf(record.expires_at)
  return isInForce ? PASSED : failed('treaty_not_in_force')
}

/** The id of the treaty that the context of a decision names; undefined when it names none. */
export function namedTreaty(context: JsonValue): string | undefined {
  const id = isJsonObject(context) ? recognitionIn(context)?.['treaty_id'] : undefined
  return typeof id === 'string' ? id : undefined
}

/** Whether a decision needs a treaty: it is on a member of a partner, or the pack has one. */
export function needsTreaty({ treaty }: EvidencePack, decision: PackDecision | undefined): boolean {
  return treaty !== null || (decision !== undefined && namedTreaty(decision.contextWire) !== undefined)
}

/**
 * The attestation has the digest that the decision names. An agreement has the id and the parties; its id is not signed,
 * so another agreement of the same parties may have been given this id, and the check never passes.
 */
export function checkBasis({ attestation, agreement }: EvidencePack, decision: PackDecision | undefined): Finding {
  if (decision === undefined) return UNREAD
  const binding = decision.record.attestation_binding
  if (attestation !== null && agreement !== null) return failed('two_bases')
  if (attestation !== null) {
    if (binding === undefined) return failed('attestation_mismatch')
    const isSame =
      unsignedDigest(attestation) === binding.attestation_digest &&
      attestation['attestation_id'] === binding.attestation_id
    return isSame ? PASSED : failed('attestation_digest_mismatch')
  }
  if (agreement !== null) {
    const isSame = binding === undefined && agreement['agreement_id'] === decision.record.agreement_id
    if (!isSame) return failed('agreement_mismatch')
    const { provider_sovereign_id: provider, requester_sovereign_id: requester } = decision.context
    const isBetween =
      agreement['offerer_sovereign_id'] === provider && agreement['responder_sovereign_id'] === requester
    return isBetween ? missing('the id of an agreement is not signed') : failed('agreement_of_other_parties')
  }
  if (binding === undefined) return missing('the pack does not have the agreement')
  return missing(
    binding.attestation_digest === null
      ? 'the authority found no attestation'
      : 'the pack does not have the attestation',
  )
}

/** Who signed the attestation or the agreement. Every signature must verify: another one would cover nothing. */
export async function checkBasisSignature(
  pack: EvidencePack,
  keys: AuthorityKeys,
  decision: PackDecision | undefined,
): Promise<Finding> {
  const { attestation, agreement } = pack
  if (decision === undefined) return UNREAD
  if (attestation !== null) return checkAttestation(pack, attestation, keys, decision)
  return agreement === null ? missing('the pack has no basis') : checkAgreement(pack, agreement, keys)
}

async function checkAttestation(
  pack: EvidencePack,
  attestation: JsonObject,
  keys: AuthorityKeys,
  decision: PackDecision,
): Promise<Finding> {
  const record = tryRead(readAttestation, attestation)
  if (record === undefined) return failed('attestation_malformed')
  const { signatures } = record
  if (!(await isSignedOnlyBy(record, attestationKeys(pack, record, keys))))
    return failed('attestation_invalid_signature')
  const isOwn = record.issuer_sovereign_id === keys.genesis.network_name
  if (signatures.length === 0)
    return isOwn
      ? failed('attestation_not_signed')
      : missing('the key of the issuer of the attestation, which a treaty names')
  if (isOwn)
    return signatures.every(({ key_id }) => key_id === record.issued_by)
      ? PASSED
      : failed('attestation_issuer_mismatch')
  // A denial may rest on an attestation that has expired, or has another role.
  if (!decision.record.authorized) return PASSED
  const treaty = pack.treaty ?? {}
  const given = { context: decision.contextWire, attestation, treaty }
  const issuedAt = tryRead(readRecognitionTreaty, treaty)?.issued_at
  const signers = issuedAt === undefined ? [] : keysInPeriod(keys, issuedAt)
  const fault = await checkForeignBasis(given, decision.record, signers)
  return fault === undefined ? PASSED : failed(fault)
}

/** The keys of the authority, or those that its treaty names for a partner (protocol/trust-operations 4.13). */
export function attestationKeys(
  { treaty }: Pick<EvidencePack, 'treaty'>,
  record: Attestation,
  keys: AuthorityKeys,
): readonly string[] {
  if (record.issuer_sovereign_id === keys.genesis.network_name) return keysInPeriod(keys, record.issued_at)
  const read = treaty === null ? undefined : tryRead(readRecognitionTreaty, treaty)
  return read?.subject_sovereign_id === record.issuer_sovereign_id ? read.subject_public_keys : []
}

async function checkAgreement(pack: EvidencePack, agreement: JsonObject, keys: AuthorityKeys): Promise<Finding> {
  const received = tryRead((value) => readReceived(agreementRecordForm, value), agreement)
  if (received === undefined) return failed('agreement_malformed')
  const { offerer_sovereign_id: offerer, responder_sovereign_id: responder, signatures } = received.record
  if (signatures.length === 0) return failed('agreement_not_signed')
  if (signatures.length > MAX_SIGNATURES) return failed('agreement_too_many_signatures')
  const keysOf = partyKeys(pack, keys)
  const parties = { offerer: keysOf(offerer), responder: keysOf(responder) }
  const known = [...parties.offerer.keys, ...parties.responder.keys]
  for (const signature of signatures)
    if (!(await verifyAny(receivedBytes(received), [signature], known))) return failed('agreement_invalid_signature')
  const own = { sovereign_id: keys.genesis.network_name, keys: allAuthorityKeys(keys) }
  const trust = await trustAgreement(received, { own, ...parties })
  if (trust.ok) return PASSED
  return trust.reason === 'unknown_party'
    ? missing('the key of the other party of the agreement')
    : failed(`agreement_${trust.reason}`)
}

/** Agreements have no date of signature, so any key of the authority may have signed. */
export function partyKeys({ treaty }: Pick<EvidencePack, 'treaty'>, keys: AuthorityKeys): (party: string) => PartyKeys {
  const partner = treaty === null ? undefined : tryRead(readRecognitionTreaty, treaty)
  return (party) => {
    if (party === keys.genesis.network_name) return { keys: allAuthorityKeys(keys), hasTreaty: false }
    const isNamed = partner?.subject_sovereign_id === party
    return { keys: isNamed ? partner.subject_public_keys : [], hasTreaty: isNamed }
  }
}

/** True when each signature verifies under one of the keys. */
async function isSignedOnlyBy(record: Attestation | RecognitionTreaty, keys: readonly string[]): Promise<boolean> {
  const message = signedBytes(asJson(record), 'signatures')
  for (const signature of record.signatures) if (!(await verifyAny(message, [signature], keys))) return false
  return true
}

function recognitionIn(context: JsonObject): JsonObject | undefined {
  const attributes = context['attributes']
  const found = attributes !== undefined && isJsonObject(attributes) ? attributes['chancery_recognition'] : undefined
  return found !== undefined && isJsonObject(found) ? found : undefined
}

function unsignedDigest({ signatures: _signatures, ...body }: JsonObject): string {
  return digestOf(body)
}

export function tryRead<Value>(read: (value: JsonValue) => Value, value: JsonValue): Value | undefined {
  return readOrUndefined(() => read(value))
}
