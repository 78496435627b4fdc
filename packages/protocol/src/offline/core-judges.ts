import { readAgentDescriptor, verifyAgentDescriptor } from '../artifacts/agent-descriptor.ts'
import { readAttestation } from '../artifacts/attestation.ts'
import { readCrl } from '../artifacts/crl.ts'
import { readGenesisBlock, verifyGenesisBlock } from '../artifacts/genesis-block.ts'
import { readJoinCertificate } from '../artifacts/join-certificate.ts'
import { readPolicyManifest } from '../artifacts/policy-manifest.ts'
import { readRecognitionPolicy } from '../artifacts/recognition-policy.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { hasSortedIds, readRevocationFeed, withSortedIds } from '../artifacts/revocation-feed.ts'
import { HOLDS, fails } from '../artifacts/verdict.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { verifyList } from '../signing/forms.ts'
import type { SignedList } from '../signing/forms.ts'
import { checkTime, isOfNetwork, signerKeys } from './ground.ts'
import type { Judge, OfflineGround } from './ground.ts'
import type { CoreKindName } from './recognise.ts'

/**
 * A record of protocol/core that its issuer signed: 1. signed, 2. by a key we trust, 3. in the name of its network,
 * 4. in its time.
 */
async function judgeSigned(
  record: JsonObject & SignedList,
  ground: OfflineGround,
  facts: { readonly issuer?: unknown; readonly from?: string; readonly until?: string },
): Promise<Verdict<string>> {
  if (record.signatures.length === 0) return fails('missing_signature')
  if (!(await verifyList(record, signerKeys(ground, record)))) return fails('invalid_signature')
  if ('issuer' in facts && !isOfNetwork(facts.issuer, ground)) return fails('wrong_issuer')
  return checkTime(facts.from, facts.until, ground.now)
}

const genesisBlock: Judge = async (value, { keys, genesis }) => {
  const block = readGenesisBlock(value)
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok) return verdict
  // It vouches for its own root key; trust in that key comes from whoever gave it to us.
  const roots = genesis === undefined ? keys : [genesis.root_public_key]
  return roots.length === 0 || roots.includes(block.root_public_key) ? HOLDS : fails('unknown_root_key')
}

const joinCertificate: Judge = async (value, ground) => {
  const certificate = readJoinCertificate(value)
  const { network_name: issuer, issued_at: from, expires_at: until } = certificate
  return judgeSigned(certificate, ground, { issuer, from, until })
}

const crl: Judge = async (value, ground) => {
  const list = readCrl(value)
  return judgeSigned(list, ground, { from: list.issued_at, until: list.next_update })
}

const policyManifest: Judge = async (value, ground) => {
  const manifest = readPolicyManifest(value)
  return judgeSigned(manifest, ground, { from: manifest.issued_at })
}

/** Signed by the node itself; that the node is a member is what its certificate says. */
const agentDescriptor: Judge = async (value, ground) => {
  const descriptor = readAgentDescriptor(value)
  if (descriptor.signatures.length === 0) return fails('missing_signature')
  if (!(await verifyAgentDescriptor(descriptor))) return fails('invalid_signature')
  const { node_public_key: key } = descriptor
  if (ground.keys.length > 0 && !ground.keys.includes(key)) return fails('unknown_node_key')
  if (!isOfNetwork(descriptor.network_name, ground)) return fails('wrong_issuer')
  return checkTime(descriptor.registered_at, descriptor.expires_at, ground.now)
}

const attestation: Judge = async (value, ground) => {
  const record = readAttestation(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return fails('bad_status')
  return judgeSigned(record, ground, { issuer, from, until })
}

const treaty: Judge = async (value, ground) => {
  const record = readRecognitionTreaty(value)
  const { issuer_sovereign_id: issuer, valid_from: from, expires_at: until } = record
  if (record.status !== 'active') return fails('bad_status')
  return judgeSigned(record, ground, { issuer, from, until })
}

/** A local document nobody signs: its form is all there is to check. */
const recognitionPolicy: Judge = async (value) => {
  readRecognitionPolicy(value)
  return HOLDS
}

const revocationFeed: Judge = async (value, ground) => {
  const feed = readRevocationFeed(value)
  // An issuer may serve its ids in another order than the one it signed.
  const isAsReceived = hasSortedIds(feed) || (await verifyList(feed, signerKeys(ground)))
  return judgeSigned(isAsReceived ? feed : withSortedIds(feed), ground, {
    issuer: feed.issuer_sovereign_id,
    from: feed.issued_at,
  })
}

export const CORE_JUDGES: Readonly<Record<CoreKindName, Judge>> = {
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
