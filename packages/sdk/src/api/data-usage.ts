import { dataUsage } from '@chancery/contract'
import { accessIntentForm, evidenceStoreEntryShape, licensePolicyForm, shape } from '@chancery/protocol'
import type {
  DataAccessIntent,
  DataLicensePolicy,
  DeclaredSource,
  EvidenceStoreEntry,
  JsonObject,
} from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

/** protocol/trust-operations 9.1; absent members get the defaults of the authority. */
export interface LicenseRequest {
  readonly licensee_sovereign_id: string
  /** Empty: nothing is licensed. */
  readonly allowed_source_ids: readonly string[]
  /** Empty: only read. */
  readonly allowed_access_types: readonly string[]
  readonly max_volume_bytes_per_session?: number | null
  readonly prohibited_classification_tags?: readonly string[]
  readonly valid_from: string
  readonly valid_until: string
}

export interface IntentRequest {
  readonly sources: readonly (Omit<DeclaredSource, 'classification_tags'> & Partial<DeclaredSource>)[]
  readonly access_types: readonly string[]
  readonly decision_id?: string
  readonly estimated_volume_bytes?: number | null
}

export type UsageViolation = {
  readonly violation_id: string
  readonly intent_id: string
  readonly agent_sovereign_id: string
  readonly violation_type: string
  readonly detail: string
  readonly detected_at: string
}

/** Without a violation nothing is stored, and entry and digest are null. */
export type RecordedUsage = UsageVerdict & {
  readonly entry: EvidenceStoreEntry | null
  readonly entry_digest: string | null
}

/** protocol/trust-operations 9.3: a violation is a verdict, not an error. */
export type UsageVerdict = {
  readonly valid: boolean
  readonly violation_reason: string | null
  readonly violation_count: number
  readonly violations: readonly UsageViolation[]
}

export interface UsageRequest {
  readonly intent: RecordOrText<DataAccessIntent | JsonObject>
  readonly policy: RecordOrText<DataLicensePolicy | JsonObject>
  readonly agent_public_keys?: readonly string[]
  /** Keys of the licensor; without them only a policy of this authority is checked for its signature. */
  readonly policy_public_keys?: readonly string[]
}

export interface DataUsageApi {
  /** As operator. Replaces the policy in force for the same licensee. */
  publish(request: LicenseRequest | JsonObject, options?: WriteOptions): Promise<DataLicensePolicy>
  /**
   * The policy in force for a licensee, or without a filter the newest, as signed; verify its signature with the key you
   * trust.
   */
  current(options?: CallOptions & { readonly licensee_sovereign_id?: string }): Promise<DataLicensePolicy>
  /** As operator, for this network. */
  declare(request: IntentRequest | JsonObject, options?: WriteOptions): Promise<DataAccessIntent>
  verify(request: UsageRequest, options?: CallOptions): Promise<UsageVerdict>
  /** As operator. The same check; violations are stored as one entry of the evidence store. Beta. */
  record(request: UsageRequest, options?: WriteOptions): Promise<RecordedUsage>
}

const word = shape.required(shape.string)

const readViolation = shape.open({
  violation_id: word,
  intent_id: word,
  agent_sovereign_id: word,
  violation_type: word,
  detail: word,
  detected_at: word,
})

const verdictMembers = {
  valid: shape.required(shape.boolean),
  violation_reason: shape.required(shape.nullable(shape.string)),
  violation_count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  violations: shape.required(shape.arrayOf(readViolation, { max: 10_000 })),
}

const readVerdict = shape.open(verdictMembers)

const readRecorded = shape.open({
  ...verdictMembers,
  entry: shape.required(shape.nullable(evidenceStoreEntryShape)),
  entry_digest: shape.required(shape.nullable(shape.string)),
})

export function dataUsageApi({ call }: Connection): DataUsageApi {
  return {
    publish: (request, options) =>
      call({
        route: dataUsage.publish,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(licensePolicyForm)),
        options,
      }),
    current: ({ licensee_sovereign_id, ...options } = {}) =>
      call({
        route: dataUsage.current,
        query: { licensee_sovereign_id },
        read: json(signedRecord(licensePolicyForm)),
        options,
      }),
    declare: (request, options) =>
      call({
        route: dataUsage.intent,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(accessIntentForm)),
        options,
      }),
    verify: (request, options) =>
      call({
        route: dataUsage.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
    record: (request, options) =>
      call({
        route: dataUsage.record,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json((value) => readRecorded(value, '')),
        options,
      }),
  }
}
