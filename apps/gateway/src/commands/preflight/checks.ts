import {
  canonicalBytes,
  isAuthenticList,
  isJsonObject,
  listProblems,
  positionOfList,
  readInstant,
  readOrUndefined,
  readPublicKey,
  readRevocationList,
  readTrustedPublicKey,
  seconds,
  verifySignature,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, RevocationList } from '@chancery/protocol'
import type { PublishedDocuments } from './documents.ts'

/** What the operator received out of band. */
export interface Expected {
  readonly network: string
  readonly authorityKey: string
  /** Undefined: the root key of the genesis block is used, which proves consistency only. */
  readonly rootKey: string | undefined
  readonly now: Instant
}

export type PreflightCheck = { readonly check: string; readonly passed: boolean }

/** Runs and reports every check of protocol/gateway 19. */
export async function checkPublished(
  published: PublishedDocuments,
  expected: Expected,
): Promise<readonly PreflightCheck[]> {
  const { genesis, crl, feed, metadata } = published
  const delegated = member(genesis, 'network_authority')
  const list = readList(crl)
  const results: readonly (readonly [string, boolean])[] = [
    ['network_identity', genesis?.['network_name'] === expected.network],
    [
      'pinned_authority_key',
      delegated?.['public_key'] === expected.authorityKey && readPublicKey(expected.authorityKey) !== undefined,
    ],
    ['genesis_signature', await hasGenesisSignature(genesis, expected)],
    ['authority_delegation_window', isWithin(expected.now, delegated?.['valid_from'], delegated?.['valid_to'])],
    ...(await listChecks(list, expected)),
    ...(await feedChecks(feed, expected)),
    ['recognition_catalog', Array.isArray(published.treaties?.['recognition_treaties'])],
    ['sovereign_metadata', isSameSovereign(metadata, expected)],
    ['key_strength', readTrustedPublicKey(expected.authorityKey) !== undefined],
    ['clock_offset', isNear(published.theirClock, expected.now)],
  ]
  return results.map(([check, passed]) => ({ check, passed }))
}

async function listChecks(list: RevocationList | undefined, { authorityKey, now }: Expected) {
  return [
    ['crl_signature', list !== undefined && (await isAuthentic(list, authorityKey))],
    ['crl_window', list !== undefined && isCurrent(list, now)],
    // The reader accepts only whole numbers from 0.
    ['crl_sequence', list !== undefined],
    ['crl_entries', list !== undefined && list.revoked_certificates.every(({ issuer }) => issuer === list.issuer)],
  ] as const
}

export async function isAuthentic(list: RevocationList, publicKey: string): Promise<boolean> {
  const key = readPublicKey(publicKey)
  return key !== undefined && isAuthenticList(list, new Map([[list.issuer, key]]))
}

export function isCurrent(list: RevocationList, now: Instant): boolean {
  return listProblems(positionOfList(list), 0, { maxAge: seconds(31_536_000), clockSkew: 0n }, now).length === 0
}

async function feedChecks(feed: JsonObject | undefined, { network, authorityKey, now }: Expected) {
  const at = textInstant(feed?.['issued_at'])
  const sequence = feed?.['sequence']
  return [
    ['feed_identity', feed?.['issuer_sovereign_id'] === network],
    ['feed_signature', feed !== undefined && (await isSignedBy(feed, authorityKey, feed['issued_by']))],
    ['feed_window', at !== undefined && at <= now + seconds(300) && now - at <= seconds(86_400)],
    ['feed_sequence', typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence >= 0],
  ] as const
}

async function hasGenesisSignature(genesis: JsonObject | undefined, { rootKey }: Expected): Promise<boolean> {
  const root = genesis?.['root_public_key']
  if (genesis === undefined || typeof root !== 'string' || (rootKey !== undefined && rootKey !== root)) return false
  return isSignedBy(genesis, root)
}

/**
 * Returns whether a signature of the record verifies under the key. With `keyId`, only signatures with that id count.
 */
async function isSignedBy(record: JsonObject, key: string, keyId?: JsonValue): Promise<boolean> {
  const { signatures, ...rest } = record
  const message = canonicalBytes(rest)
  for (const signature of Array.isArray(signatures) ? (signatures as readonly JsonValue[]) : []) {
    const { key_id, sig } = isJsonObject(signature) ? signature : {}
    if (typeof sig !== 'string' || (keyId !== undefined && key_id !== keyId)) continue
    if (await verifySignature(key, message, sig)) return true
  }
  return false
}

export function readList(value: JsonObject | undefined): RevocationList | undefined {
  return value === undefined ? undefined : readOrUndefined(() => readRevocationList(value))
}

function isSameSovereign(metadata: JsonObject | undefined, { network, authorityKey }: Expected): boolean {
  const delegated = member(metadata, 'network_authority')
  return metadata?.['network_name'] === network && delegated?.['public_key'] === authorityKey
}

function isWithin(now: Instant, from: JsonValue | undefined, to: JsonValue | undefined): boolean {
  const [start, end] = [textInstant(from), textInstant(to)]
  return start !== undefined && end !== undefined && start <= now && now < end
}

function isNear(theirs: Instant | undefined, now: Instant): boolean {
  if (theirs === undefined) return false
  const offset = theirs > now ? theirs - now : now - theirs
  return offset <= seconds(60)
}

function textInstant(value: JsonValue | undefined): Instant | undefined {
  return typeof value === 'string' ? readInstant(value) : undefined
}

function member(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = object?.[name]
  return isJsonObject(value) ? value : undefined
}
