import { LIMITS, attestations } from '@chancery/contract'
import { readAttestation, shape } from '@chancery/protocol'
import type { Attestation, JsonObject, RecognitionPolicy, RecognitionTreaty } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { ResponseError } from '../errors.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { preview } from '../http/dry-run.ts'
import { type CountedSample, type DryRun, type RealRun, isDryRun, readCounted } from './dry-run.ts'
import { type PageQuery, type Paging, paging } from './page.ts'
import { allRows } from './pages.ts'

/** protocol/core 14.2; absent members get the defaults of the authority. */
export interface AttestationRequest {
  readonly subject_id: string
  readonly roles: readonly string[]
  readonly validity_hours?: number
  readonly subject_public_key?: string
  readonly claims?: JsonObject
}

/** The unchanged signed record and its state. */
export type AttestationRow = {
  readonly attestation: Attestation
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

export interface AttestationFilter {
  readonly issuer_sovereign_id?: string
  readonly subject_id?: string
  readonly status?: string
  /** Signed by the operator, for a network that shows unauthenticated callers only the count. */
  readonly asOperator?: true
}

export interface AttestationPage extends Paging {
  readonly count: number
  /** By time of issue; undefined when this network shows unauthenticated callers only the count. */
  readonly attestations: readonly AttestationRow[] | undefined
}

export type AttestationPreview = {
  readonly dry_run: true
  readonly attestation_id: string
  readonly status: string
  readonly would_change: boolean
  readonly attestations_no_longer_accepted: CountedSample
  /** Networks that accept members of this network today and read its feed. */
  readonly accepting_sovereigns: CountedSample
}

/** protocol/core 17.1: a negative result is a verdict, not an error. */
export type AttestationVerdict = {
  readonly accepted: boolean
  readonly reason: string
  readonly issuer_sovereign_id: string
  readonly attestation_id: string
}

export type TreatyAttestationVerdict = {
  readonly accepted: boolean
  readonly reason: string
  readonly trust_basis: string
  /**
   * True when the authority itself accepts it, by its own treaty. False when the caller chose the keys. Check this
   * field unless you chose the keys. False for an older authority that does not report it.
   */
  readonly counts_here: boolean
  readonly treaty_id: string
  readonly attestation_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
}

export interface AttestationsApi {
  /** As operator. After an unknown outcome it is repeated only with an idempotency key. */
  issue(request: AttestationRequest, options?: WriteOptions): Promise<Attestation>
  /** Previews what would no longer be accepted. */
  revoke(id: string, request: { readonly reason?: string } & DryRun, options?: CallOptions): Promise<AttestationPreview>
  /** Permanent: the feed reports it to other networks. A repeat does not change the first time and reason. */
  revoke(
    id: string,
    request?: { readonly reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<{ readonly attestation_id: string; readonly status: string }>
  page(query?: AttestationFilter & PageQuery, options?: CallOptions): Promise<AttestationPage>
  /** Returns all of them, page after page. */
  list(
    query?: AttestationFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<AttestationRow, void, undefined>
  /** `asOperator`: signed, for a network that shows its members to operators only. */
  find(id: string, options?: CallOptions & { readonly asOperator?: true }): Promise<AttestationRow>
  /** With the given policy, else with the active policy of the authority. */
  verify(
    request: { readonly attestation: RecordOrText<Attestation>; readonly recognition_policy?: RecognitionPolicy },
    options?: CallOptions,
  ): Promise<AttestationVerdict>
  /**
   * Based on one direct treaty. Without keys only a treaty of the authority itself counts, because recognition is not
   * transitive.
   */
  verifyWithTreaty(
    request: {
      readonly attestation: RecordOrText<Attestation>
      readonly treaty: RecordOrText<RecognitionTreaty>
      readonly treaty_issuer_public_keys?: readonly string[]
    },
    options?: CallOptions,
  ): Promise<TreatyAttestationVerdict>
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)

const readRow = known({
  attestation: shape.required((value): Attestation => readAttestation(value)),
  status: word,
  revoked_at: wordOrNull,
  revocation_reason: wordOrNull,
})

const readPage = known({
  count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  attestations: shape.withDefault<readonly AttestationRow[] | undefined>(
    shape.arrayOf(readRow, { max: LIMITS.listPageRows }),
    undefined,
  ),
  ...paging,
})

const readDone = known({ attestation_id: word, status: word })

const readPreview = known({
  dry_run: shape.required(isDryRun),
  attestation_id: word,
  status: word,
  would_change: flag,
  attestations_no_longer_accepted: shape.required(readCounted),
  accepting_sovereigns: shape.required(readCounted),
})

const readVerdict = known({ accepted: flag, reason: word, issuer_sovereign_id: word, attestation_id: word })

const readTreatyVerdict = known({
  accepted: flag,
  reason: word,
  trust_basis: word,
  counts_here: shape.withDefault(shape.boolean, false),
  treaty_id: word,
  attestation_id: word,
  issuer_sovereign_id: word,
  subject_sovereign_id: word,
})

// oxlint-disable-next-line max-lines-per-function -- one member per call
export function attestationsApi(connection: Connection): AttestationsApi {
  const { call } = connection
  const page: AttestationsApi['page'] = ({ asOperator, ...query } = {}, options) =>
    call({
      route: attestations.list,
      query,
      ...(asOperator === true ? { asOperator } : {}),
      read: json((value) => readPage(value, '')),
      options,
    })

  function revoke(id: string, request: { reason?: string } & DryRun, options?: CallOptions): Promise<AttestationPreview>
  function revoke(
    id: string,
    request?: { reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<{ attestation_id: string; status: string }>
  function revoke(
    id: string,
    { reason, dryRun }: { reason?: string; dryRun?: boolean } = {},
    options?: CallOptions,
  ): Promise<AttestationPreview | { attestation_id: string; status: string }> {
    const facts = { route: attestations.revoke, params: { attestation_id: id }, repeatable: true, options }
    if (dryRun === true)
      return preview(connection, {
        ...facts,
        body: omitUndefined({ reason, dry_run: true }),
        read: json((value) => readPreview(value, '')),
      })
    return call({ ...facts, body: omitUndefined({ reason }), read: json((value) => readDone(value, '')) })
  }

  return {
    issue: (request, options) =>
      call({
        route: attestations.issue,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(readAttestation),
        options,
      }),
    revoke,
    page,
    list: ({ limit, ...filter } = {}, options) =>
      allRows((bounds) => page({ ...filter, ...bounds }, options), rowsOf, limit),
    find: (id, { asOperator, ...options } = {}) =>
      call({
        route: attestations.find,
        params: { attestation_id: id },
        ...(asOperator === true ? { asOperator } : {}),
        read: json((value) => readRow(value, '')),
        options,
      }),
    verify: (request, options) =>
      call({
        route: attestations.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
    verifyWithTreaty: (request, options) =>
      call({
        route: attestations.verifyWithTreaty,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readTreatyVerdict(value, '')),
        options,
      }),
  }
}

/** An empty list would be wrong where the rows are not public. */
function rowsOf({ attestations: rows }: AttestationPage): readonly AttestationRow[] {
  if (rows !== undefined) return rows
  const problem = 'this authority names attestations to operators only (asOperator)'
  throw new ResponseError({ status: 200, problem, requestId: undefined })
}
