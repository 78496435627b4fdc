import { type RevocationAnswer, type RevocationPreview, type RevocationTerms, crl } from '@chancery/contract'
import { type CompactCrl, type JoinCertificate, asJson } from '@chancery/protocol'
import { RefusedError, UsageError, ResponseError } from '../errors.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { type CountedSample, type RouteApi, routeApi } from '../http/route-api.ts'
import { json } from '../http/read-response.ts'
import type { Incoming } from '../http/transport.ts'
import { compactCrl, scannedList } from '../trust/scanned-list.ts'
import type { OfferedList } from '../verify/relying-party.ts'

/**
 * Certificates by id, up to 1000 in one version of the list; an unknown id among them changes nothing. One that a
 * restored database lacks is named by id and node key, or by its signed text, up to 100 of them.
 */
export type RevokedCertificates =
  | {
      readonly cert_ids: readonly [string, ...string[]]
      readonly certificates?: never
      readonly node_public_key?: never
    }
  | { readonly cert_ids: readonly [string]; readonly node_public_key: string; readonly certificates?: never }
  | {
      readonly certificates: readonly [JoinCertificate, ...JoinCertificate[]]
      readonly cert_ids?: never
      readonly node_public_key?: never
    }

export type RevocationRequest = RevokedCertificates & RevocationTerms

export type RevocationResult = RevocationAnswer & { readonly other_certificates: CountedSample }

/**
 * A verifier checks signature, next_update and sequence (checkListAdvance) of a list itself. `keys`: the list of one key,
 * the current one, or a former one while its certificates are in use. `version`: its address never gets other content,
 * so a cache may have it.
 */
export interface CrlApi extends Omit<RouteApi<typeof crl>, 'revoke'> {
  /** The active list as one byte array with look-ups: for lists of many megabytes. */
  compact(options?: CallOptions): Promise<CompactCrl>
  /** The active list for {@link RelyingParty.install}, without objects for its entries: for lists of many megabytes. */
  scanned(options?: CallOptions): Promise<OfferedList>
  /** The list of one key, in the form of {@link scanned}. */
  scannedOfKey(keyId: string, options?: CallOptions): Promise<OfferedList>
  /**
   * What changed since the list with this sequence, for {@link CompactCrl.withDelta}. Undefined when the authority has no
   * delta from it: load the full list then. Verify the rebuilt list as any other: a delta has no signature.
   */
  delta(from: number, issuer: string, options?: CallOptions): Promise<Uint8Array | undefined>
  /** Previews what would be revoked; an unknown id is refused as in the revocation itself. */
  revoke(request: RevocationRequest & { readonly dry_run: true }, options?: CallOptions): Promise<RevocationPreview>
  /** Permanent, and in force from the next request on. A repeat changes nothing. */
  revoke(request: RevocationRequest & { readonly dry_run?: false }, options?: WriteOptions): Promise<RevocationResult>
}

const MAX_IDS = 1000
const MAX_TEXTS = 100

function nameCertificates({ cert_ids, certificates, node_public_key }: RevokedCertificates) {
  const [given, most] = certificates === undefined ? [cert_ids, MAX_IDS] : [certificates, MAX_TEXTS]
  if (given.length > most) throw new UsageError(`at most ${most} certificates can be revoked at once`)
  if (certificates !== undefined) return { certificates }
  const [cert_id, ...others] = cert_ids
  if (others.length > 0) return { cert_ids }
  return { cert_id, ...(node_public_key === undefined ? {} : { node_public_key }) }
}

export function crlApi(connection: Connection): CrlApi {
  const { call } = connection
  const api = routeApi(crl, connection)
  async function revoke(
    request: RevocationRequest & { readonly dry_run: true },
    options?: CallOptions,
  ): Promise<RevocationPreview>
  async function revoke(
    request: RevocationRequest & { readonly dry_run?: false },
    options?: WriteOptions,
  ): Promise<RevocationResult>
  async function revoke(
    { reason, only_this = false, dry_run, ...named }: RevocationRequest & { readonly dry_run?: boolean },
    options?: WriteOptions,
  ): Promise<RevocationPreview | RevocationResult> {
    // Names of an earlier release. An authority would carry out another change than they ask for.
    const former = ['dryRun', 'onlyThis', 'nodeKey'].find((name) => name in named)
    if (former !== undefined) throw new UsageError(`${former} is the name of an earlier release`)
    const body = {
      ...nameCertificates(named),
      ...(reason === undefined ? {} : { reason }),
      // Stated, because an authority of an earlier release left the other certificates in use by default.
      ...(only_this ? { only_this } : { all_of_key: true }),
    }
    if (dry_run === true) return api.revoke({ ...body, dry_run }, options)
    return call({
      route: crl.revoke,
      body: asJson(body),
      idempotencyKey: options?.idempotencyKey,
      repeatable: true,
      read: (incoming) => readResult(incoming, only_this),
      options,
    })
  }
  return {
    ...api,
    compact: (options) => call({ route: crl.current, read: compactCrl, options }),
    scanned: (options) => call({ route: crl.current, read: scannedList, options }),
    scannedOfKey: (keyId, options) => call({ route: crl.keys, params: { key_id: keyId }, read: scannedList, options }),
    delta: (from, issuer, options) =>
      orNone(call({ route: crl.delta, query: { from, issuer }, read: ({ body }) => body, options })),
    revoke,
  }
}

const readAnswer = json((value) => crl.revoke.answer(value, ''))

function readResult(incoming: Incoming, isOnlyThis: boolean): RevocationResult {
  const { other_certificates, ...done } = readAnswer(incoming)
  if (other_certificates !== undefined) return { ...done, other_certificates }
  if (isOnlyThis) return { ...done, other_certificates: { count: 0, sample: [] } }
  // An authority that does not name them does not support `all_of_key`, and left them in use.
  const problem = 'it does not name the other certificates of the node keys'
  throw new ResponseError({ status: incoming.status, problem, requestId: incoming.requestId })
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
