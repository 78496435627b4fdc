import { crl, members } from '@chancery/contract'
import { asJson, readCrl, shape } from '@chancery/protocol'
import type { CompactCrl, Crl, JoinCertificate, JsonObject, RevocationReason } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { RefusedError, RequestError } from '../errors.ts'
import { compactCrl, scannedList } from '../trust/scanned-list.ts'
import type { OfferedList } from '../verify/relying-party.ts'
import { type CountedSample, type DryRun, type RealRun, preview } from '../http/dry-run.ts'

/**
 * Certificates by id, up to 1000 in one version of the list; an unknown id among them changes nothing. One that a
 * restored database lacks is named by id and node key, or by its signed text, up to 100 of them.
 */
export type RevokedCertificates =
  | { readonly cert_ids: readonly [string, ...string[]]; readonly certificates?: never; readonly nodeKey?: never }
  | { readonly cert_ids: readonly [string]; readonly nodeKey: string; readonly certificates?: never }
  | {
      readonly certificates: readonly [JoinCertificate, ...JoinCertificate[]]
      readonly cert_ids?: never
      readonly nodeKey?: never
    }

export type RevocationRequest = RevokedCertificates & {
  readonly reason?: RevocationReason
  /** Keeps the other valid certificates of the same node keys, with which the node can go on. Not with key_compromise. */
  readonly onlyThis?: boolean
}

export interface RevocationResult {
  readonly crl_sequence: number
  /** Entries of the current list, not of this request. */
  readonly revoked_count: number
  /** Other certificates of the same node keys that this request revoked. */
  readonly also_revoked: CountedSample
  /** Certificates of the same node keys that are still valid. */
  readonly other_certificates: CountedSample
  /** Admission rules in force that admitted these node keys: a workload with evidence can join with a new key. */
  readonly admission_rules: readonly string[] | undefined
}

export type RevocationPreview = {
  readonly dry_run: true
  readonly would_change: boolean
  /** Without `onlyThis` also the other certificates of the node keys. */
  readonly certificates_revoked: CountedSample
  /** Certificates of the same node keys that would stay valid. */
  readonly other_certificates: CountedSample
  /** Revoked before; only their reason would become key_compromise. */
  readonly reasons_raised: CountedSample
  /** Agents that would be removed from the registry, by node key. */
  readonly agents_dropped: CountedSample
}

export interface CrlApi {
  /** The active list as served; a verifier checks signature, next_update and sequence (checkListAdvance) itself. */
  current(options?: CallOptions): Promise<Crl>
  /** The active list as one byte array with look-ups: for lists of many megabytes. */
  compact(options?: CallOptions): Promise<CompactCrl>
  /** The active list for {@link RelyingParty.install}, without objects for its entries: for lists of many megabytes. */
  scanned(options?: CallOptions): Promise<OfferedList>
  /** As {@link ofKey}, in the form of {@link scanned}. */
  scannedOfKey(keyId: string, options?: CallOptions): Promise<OfferedList>
  /**
   * What changed since the list with this sequence, for {@link CompactCrl.withDelta}. Undefined when the authority has no
   * delta from it: load the full list then. Verify the rebuilt list as any other: a delta has no signature.
   */
  delta(from: number, issuer: string, options?: CallOptions): Promise<Uint8Array | undefined>
  /** One version of the list. Its address never gets other content, so a cache may have it. */
  version(sequence: number, options?: CallOptions): Promise<Crl>
  /** The list of one key: the current one, or a former one while its certificates are in use. */
  ofKey(keyId: string, options?: CallOptions): Promise<Crl>
  /** Previews what would be revoked; an unknown id is refused as in the revocation itself. */
  revoke(request: RevocationRequest & DryRun, options?: CallOptions): Promise<RevocationPreview>
  /** Permanent, and in force from the next request on. A repeat changes nothing. */
  revoke(request: RevocationRequest & RealRun, options?: WriteOptions): Promise<RevocationResult>
}

const MAX_IDS = 1000
const MAX_TEXTS = 100

const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

/** Present when there are any. */
const namedOthers = shape.withDefault<CountedSample>(members.countedSample, { count: 0, sample: [] })

const numbers = { crl_sequence: count, revoked_count: count }
const rules = shape.withDefault<readonly string[] | undefined>(shape.arrayOf(shape.string, { max: 1000 }), undefined)
const more = { also_revoked: namedOthers, admission_rules: rules }
const readResult = shape.open({ ...numbers, other_certificates: namedOthers, ...more })
/** Required: an authority that does not name them does not support `all_of_key`, and left them in use. */
const readResultOfKey = shape.open({ ...numbers, other_certificates: shape.required(members.countedSample), ...more })

const readPreview = shape.open({
  dry_run: shape.required(shape.isTrue),
  would_change: shape.required(shape.boolean),
  certificates_revoked: shape.required(members.countedSample),
  other_certificates: namedOthers,
  reasons_raised: shape.withDefault<CountedSample>(members.countedSample, { count: 0, sample: [] }),
  agents_dropped: shape.required(members.countedSample),
})

function nameCertificates({ cert_ids, certificates, nodeKey }: RevokedCertificates): JsonObject {
  const [given, most] = certificates === undefined ? [cert_ids, MAX_IDS] : [certificates, MAX_TEXTS]
  if (given.length > most) throw new RequestError(`at most ${most} certificates can be revoked at once`)
  if (certificates !== undefined) return { certificates: certificates.map((each) => asJson(each)) }
  const [first, ...others] = cert_ids
  if (others.length > 0) return { cert_ids }
  return { cert_id: first, ...(nodeKey === undefined ? {} : { node_public_key: nodeKey }) }
}

export function crlApi(connection: Connection): CrlApi {
  const { call } = connection
  async function revoke(request: RevocationRequest & DryRun, options?: CallOptions): Promise<RevocationPreview>
  async function revoke(request: RevocationRequest & RealRun, options?: WriteOptions): Promise<RevocationResult>
  async function revoke(
    { reason, onlyThis = false, dryRun, ...named }: RevocationRequest & { readonly dryRun?: boolean },
    options?: WriteOptions,
  ): Promise<RevocationPreview | RevocationResult> {
    const body = {
      ...nameCertificates(named),
      ...(reason === undefined ? {} : { reason }),
      // Stated, because an authority of an earlier release left the other certificates in use by default.
      ...(onlyThis ? { only_this: true } : { all_of_key: true }),
    }
    const facts = { route: crl.revoke, repeatable: true, options }
    if (dryRun === true)
      return preview(connection, {
        ...facts,
        body: { ...body, dry_run: true },
        read: json((value) => readPreview(value, '')),
      })
    return call({
      ...facts,
      body,
      idempotencyKey: options?.idempotencyKey,
      read: json((value) => (onlyThis ? readResult : readResultOfKey)(value, '')),
    })
  }
  return {
    current: (options) => call({ route: crl.current, read: json(readCrl), options }),
    compact: (options) => call({ route: crl.current, read: compactCrl, options }),
    scanned: (options) => call({ route: crl.current, read: scannedList, options }),
    scannedOfKey: (keyId, options) => call({ route: crl.keys, params: { key_id: keyId }, read: scannedList, options }),
    ofKey: (keyId, options) => call({ route: crl.keys, params: { key_id: keyId }, read: json(readCrl), options }),
    delta: (from, issuer, options) =>
      orNone(call({ route: crl.delta, query: { from: String(from), issuer }, read: ({ body }) => body, options })),
    version: (sequence, options) =>
      call({ route: crl.version, params: { sequence: String(sequence) }, read: json(readCrl), options }),
    revoke,
  }
}

/** Also for an authority of an earlier release, which has no such route. */
async function orNone<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  }
}
