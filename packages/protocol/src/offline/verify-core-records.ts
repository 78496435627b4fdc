import { readAgentDescriptor, verifyAgentDescriptor } from '../artifacts/agent-descriptor.ts'
import { readAttestation } from '../artifacts/attestation.ts'
import { readCrl } from '../artifacts/crl.ts'
import { readGenesisBlock, verifyGenesisBlock } from '../artifacts/genesis-block.ts'
import { readJoinCertificate } from '../artifacts/join-certificate.ts'
import { readPolicyManifest } from '../artifacts/policy-manifest.ts'
import { readRecognitionPolicy } from '../artifacts/recognition-policy.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { hasSortedIds, readRevocationFeed, withSortedIds } from '../artifacts/revocation-feed.ts'
import { VALID, invalid } from '../artifacts/verdict.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { verifyList } from '../signing/forms.ts'
import type { SignedList } from '../signing/forms.ts'
import { checkTime, isOfNetwork, signerKeys } from './trust-inputs.ts'
import type { RecordVerifier, OfflineTrust } from './trust-inputs.ts'
import type { CoreKindName } from './record-kind.ts'

/**
 * A record of protocol/core that its issuer signed: 1. signed, 2. by a key we trust, 3. in the name of its network,
 * 4. in its time.
 */
async function verifySigned(
  record: JsonObject & SignedList,
  trust: OfflineTrust,
  facts: { readonly issuer?: unknown; readonly from?: string; readonly until?: string },
): Promise<Verdict<string>> {
  if (record.signatures.length === 0) return invalid('missing_signature')
  if (!(await verifyList(record, signerKeys(trust, record)))) return invalid('invalid_signature')
  if ('issuer' in facts && !isOfNetwork(facts.issuer, trust)) return invalid('wrong_issuer')
  return checkTime(facts.from, facts.until, trust.now)
}

const genesisBlock: RecordVerifier = async (value, { keys, genesis }) => {
  const block = readGenesisBlock(value)
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok) return verdict
  // It signs for its own root key; the caller must get trust in that key from elsewhere.
  const roots = genesis === undefined ? keys : [genesis.root_public_key]
  return roots.length === 0 || roots.includes(block.root_public_key) ? VALID : invalid('unknown_root_key')
}

const joinCertificate: RecordVerifier = async (value, trust) => {
  const certificate = readJoinCertificate(value)
  const { network_name: issuer, issued_at: from, expires_at: until } = certificate
  return verifySigned(certificate, trust, { issuer, from, until })
}

const crl: RecordVerifier = async (value, trust) => {
  const list = readCrl(value)
  return verifySigned(list, trust, { from: list.issued_at, until: list.next_update })
}

const policyManifest: RecordVerifier = async (value, trust) => {
  const manifest = readPolicyManifest(value)
  return verifySigned(manifest, trust, { from: manifest.issued_at })
}

/** Signed by the node itself; that the node is a member is what its certificate says. */
const agentDescriptor: RecordVerifier = async (value, trust) => {
  const descriptor = readAgentDescriptor(value)
  if (descriptor.signatures.length === 0) return invalid('missing_signature')
  if (!(await verifyAgentDescriptor(descriptor))) return invalid('invalid_signature')
  const { node_public_key: key } = descriptor
  if (trust.keys.length > 0 && !trust.keys.includes(key)) return invalid('unknown_node_key')
  if (!isOfNetwork(descriptor.network_name, trust)) return invalid('wrong_issuer')
  return checkTime(descriptor.registered_at, descriptor.expires_at, trust.now)
}

const attestation: RecordVerifier = async (value, trust) => {
  const record = readAttestation(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return invalid('bad_status')
  return verifySigned(record, trust, { issuer, from, until })
}

const treaty: RecordVerifier = async (value, trust) => {
  const record = readRecognitionTreaty(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return invalid('bad_status')
  return verifySigned(record, trust, { issuer, from, until })
}

/** A local document without a signature: only its form is checked. */
const recognitionPolicy: RecordVerifier = async (value) => {
  readRecognitionPolicy(value)
  return VALID
}

const revocationFeed: RecordVerifier = async (value, trust) => {
  const feed = readRevocationFeed(value)
  // An issuer may serve its ids in another order than the one it signed.
  const isAsReceived = hasSortedIds(feed) || (await verifyList(feed, signerKeys(trust)))
  return verifySigned(isAsReceived ? feed : withSortedIds(feed), trust, {
    issuer: feed.issuer_sovereign_id,
    from: feed.issued_at,
  })
}

export const CORE_JUDGES: Readonly<Record<CoreKindName, RecordVerifier>> = {
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
