import { invalid } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { requireInstant } from '../canonical/time.ts'
import { FormError } from '../reading/schema.ts'
import { type Held, type OfflineTrust, type RecordVerifier, holdSigned, signerKeys } from './trust-inputs.ts'
import type { OfflineVerdict, RecordsByKind, Unproven } from './offline-verdict.ts'
import type { CoreKindName, RecordKindName } from './record-kind.ts'
import { TRUST_JUDGES } from './verify-trust-records.ts'
import { readAgentDescriptor, verifyAgentDescriptor } from '../artifacts/agent-descriptor.ts'
import { readAttestation, readRecognitionPolicy } from '../artifacts/attestation.ts'
import { readCrl } from '../artifacts/crl.ts'
import { readGenesisBlock, verifyGenesisBlock } from '../artifacts/genesis-block.ts'
import { hasOnlyTrustedSignatures, readJoinCertificate } from '../artifacts/join-certificate.ts'
import { readPolicyManifest } from '../artifacts/policy-manifest.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { hasSortedIds, readRevocationFeed, withSortedIds } from '../artifacts/revocation-feed.ts'
import { type SignedList, verifyList } from '../signing/verify-any.ts'

type Verifies<Kind extends CoreKindName> = RecordVerifier<RecordsByKind[Kind]>

/**
 * A record of protocol/core that its issuer signed: 1. signed, 2. by a key we trust, 3. in the name of its network,
 * 4. in its time.
 */
async function verifySigned<Value extends JsonObject & SignedList>(
  record: Value,
  trust: OfflineTrust,
  facts: Parameters<typeof holdSigned>[2],
): Promise<Held<Value>> {
  if (record.signatures.length === 0) return invalid('missing_signature')
  if (!(await verifyList(record, signerKeys(trust, record)))) return invalid('invalid_signature')
  return holdSigned(record, trust, facts)
}

const genesisBlock: Verifies<'genesis-block'> = async (value, { keys, genesis }) => {
  const block = readGenesisBlock(value)
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok) return verdict
  // It signs for its own root key; the caller must get trust in that key from elsewhere.
  const roots = genesis === undefined ? keys : [genesis.root_public_key]
  if (roots.length === 0) return { ok: true, record: block, checked: ['signature'], unproven: ['root_key'] }
  if (!roots.includes(block.root_public_key)) return invalid('unknown_root_key')
  return { ok: true, record: block, checked: ['signature', 'root_key'] }
}

const joinCertificate: Verifies<'join-certificate'> = async (value, trust) => {
  const certificate = readJoinCertificate(value)
  const { network_name: issuer, issued_at: from, expires_at: until } = certificate
  if (certificate.signatures.length === 0) return invalid('missing_signature')
  const isSigned = await hasOnlyTrustedSignatures(certificate, signerKeys(trust, certificate))
  return isSigned ? holdSigned(certificate, trust, { issuer, from, until }) : invalid('invalid_signature')
}

const crl: Verifies<'crl'> = async (value, trust) => {
  const list = readCrl(value)
  return verifySigned(list, trust, { from: list.issued_at, until: list.next_update })
}

const policyManifest: Verifies<'policy-manifest'> = async (value, trust) => {
  const manifest = readPolicyManifest(value)
  return verifySigned(manifest, trust, { from: manifest.issued_at })
}

/** Signed by the node itself; that the node is a member is what its certificate says. */
const agentDescriptor: Verifies<'agent-descriptor'> = async (value, trust) => {
  const descriptor = readAgentDescriptor(value)
  if (descriptor.signatures.length === 0) return invalid('missing_signature')
  if (!(await verifyAgentDescriptor(descriptor))) return invalid('invalid_signature')
  const { node_public_key: key, network_name: issuer, registered_at: from, expires_at: until } = descriptor
  const isKeyGiven = trust.keys.length > 0
  if (isKeyGiven && !trust.keys.includes(key)) return invalid('unknown_node_key')
  const held = holdSigned(descriptor, trust, { issuer, from, until })
  if (!held.ok) return held
  return isKeyGiven
    ? { ...held, checked: [...held.checked, 'node_key'] }
    : { ...held, unproven: ['node_key', ...(held.unproven ?? [])] }
}

const attestation: Verifies<'membership-attestation'> = async (value, trust) => {
  const record = readAttestation(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return invalid('bad_status')
  return verifySigned(record, trust, { issuer, from, until })
}

const treaty: Verifies<'recognition-treaty'> = async (value, trust) => {
  const record = readRecognitionTreaty(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return invalid('bad_status')
  return verifySigned(record, trust, { issuer, from, until })
}

/** A local document without a signature: only its form is checked. */
const recognitionPolicy: Verifies<'recognition-policy'> = async (value) => ({
  ok: true,
  record: readRecognitionPolicy(value),
  checked: [],
})

const revocationFeed: Verifies<'sovereign-revocation-feed'> = async (value, trust) => {
  const feed = readRevocationFeed(value)
  // An issuer may serve its ids in another order than the one it signed.
  const isAsReceived = hasSortedIds(feed) || (await verifyList(feed, signerKeys(trust)))
  return verifySigned(isAsReceived ? feed : withSortedIds(feed), trust, {
    issuer: feed.issuer_sovereign_id,
    from: feed.issued_at,
  })
}

const CORE_JUDGES: { readonly [Kind in CoreKindName]: Verifies<Kind> } = {
  'genesis-block': genesisBlock,
  'join-certificate': joinCertificate,
  crl,
  'policy-manifest': policyManifest,
  'agent-descriptor': agentDescriptor,
  'membership-attestation': attestation,
  'recognition-treaty': treaty,
  'recognition-policy': recognitionPolicy,
  'sovereign-revocation-feed': revocationFeed,
}

const JUDGES: { readonly [Kind in RecordKindName]: RecordVerifier<RecordsByKind[Kind]> } = {
  ...CORE_JUDGES,
  ...TRUST_JUDGES,
}

/** Kinds whose signature names the key it was made with: they can be looked at without a key from elsewhere. */
const SELF_SIGNED: ReadonlySet<RecordKindName> = new Set(['genesis-block', 'agent-descriptor', 'recognition-policy'])

/** What no valid record of a kind proves, whatever the caller gives. */
const OPEN: Readonly<Partial<Record<Unproven, readonly RecordKindName[]>>> = {
  node_membership: ['agent-descriptor'],
  authorship: ['recognition-policy'],
  revocation: ['join-certificate', 'membership-attestation', 'recognition-treaty'],
  newest: [
    'genesis-block',
    'crl',
    'policy-manifest',
    'sovereign-revocation-feed',
    'trust-evidence',
    'boundary-policy',
    'data-license-policy',
  ],
  basis: ['boundary-decision', 'justification-proof', 'execution-evidence', 'consensus-proof', 'data-access-intent'],
  first_use: ['capability-nullifier'],
}

const openIn = (kind: RecordKindName): readonly Unproven[] =>
  (Object.keys(OPEN) as Unproven[]).filter((part) => OPEN[part]?.includes(kind))

/**
 * Checks whether a record of this kind is valid, from the given inputs only: `unproven` names what stays open. A
 * record with a wrong form is `malformed`; `problem` then names the field and the rule. Throws InstantError when
 * the time given cannot be meant.
 */
export async function verifyRecordOfKind<Kind extends RecordKindName>(
  kind: Kind,
  value: JsonObject,
  trust: OfflineTrust,
): Promise<OfflineVerdict<Kind>> {
  requireInstant(trust.now)
  if (needsSignerKeys(kind) && signerKeys(trust).length === 0) return invalid('keys_needed')
  try {
    const held = await JUDGES[kind](value, trust)
    if (!held.ok) return held
    const { record, checked, unproven = [] } = held
    return { ok: true, kind, record, checked, unproven: [...unproven, ...openIn(kind)] }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}

/** An agreement has separate keys for each party. */
function needsSignerKeys(kind: RecordKindName): boolean {
  return kind !== 'agreement-record' && !SELF_SIGNED.has(kind)
}
