import {
  accessIntentForm,
  asJson,
  declaredSource,
  draftDataAccessIntent,
  draftDataLicensePolicy,
  field,
  form,
  licensePolicyForm,
  shape,
  volumeBytes,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { DeclaredSource, JsonObject, JsonValue, LicenseTerms } from '@chancery/protocol'
import type { HttpResponse, Query } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { FeatureBase } from '../../core.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { insertLicense } from './queries.ts'
import { Refusal } from '@chancery/contract'
import { readOrRefuse, readTime } from '../../requests/read-fields.ts'

const labels = form.listOf(field.label).read

/** protocol/trust-operations 9.1, checks in the order of its text. Unknown members are ignored. */
function readLicenseRequest(body: JsonObject): LicenseTerms {
  const terms = readOrRefuse('missing_policy_fields', () => ({
    licensee_sovereign_id: field.identifier(body['licensee_sovereign_id'] ?? null, 'licensee_sovereign_id'),
    // An empty list is allowed: it licenses nothing, or only reading.
    allowed_source_ids: labels(body['allowed_source_ids'] ?? null, 'allowed_source_ids'),
    allowed_access_types: labels(body['allowed_access_types'] ?? null, 'allowed_access_types'),
    max_volume_bytes_per_session: readVolume(body, 'max_volume_bytes_per_session'),
    prohibited_classification_tags: labels(
      body['prohibited_classification_tags'] ?? [],
      'prohibited_classification_tags',
    ),
  }))
  const [validFrom, validUntil] = [readTime(body, 'valid_from'), readTime(body, 'valid_until')]
  if (validFrom >= validUntil) throw new Refusal('invalid_timestamp_order', { field: 'valid_until' })
  return { ...terms, validFrom, validUntil }
}

/** The filter of GET /data-usage/policy. */
export function readLicensee(query: Query): string | undefined {
  const given = query.first('licensee_sovereign_id')
  if (given === undefined) return undefined
  return readOrRefuse('invalid_input', () => field.identifier(given, 'licensee_sovereign_id'))
}

/** protocol/trust-operations 9.2: lists, then sources, then everything else. */
function readIntentRequest(body: JsonObject) {
  const [sources, types] = [readItems(body, 'sources'), readItems(body, 'access_types')]
  const declared_sources = readOrRefuse('invalid_source', () =>
    sources.map((source, index) => readSource(source, `sources[${index}]`)),
  )
  return readOrRefuse('intent_create_failed', () => ({
    declared_sources,
    declared_access_types: labels(types, 'access_types'),
    estimated_volume_bytes: readVolume(body, 'estimated_volume_bytes'),
    decision_id: readDecisionId(body['decision_id']),
  }))
}

/** Null tags count as absent. Unknown members are dropped, so that only known members are signed. */
function readSource(value: JsonValue, place: string): DeclaredSource {
  const found = shape.object(value, place)
  const { classification_tags: tags, ...rest } = found
  return declaredSource.read(tags === undefined || tags === null ? rest : found, place)
}

function readItems(body: JsonObject, name: string): readonly JsonValue[] {
  const value = body[name]
  const isList = Array.isArray(value) && value.length > 0 && value.length <= form.MAX_ITEMS
  if (!isList) throw new Refusal('missing_intent_fields', { field: name })
  return value as readonly JsonValue[]
}

/** Undefined when the authority chooses one. */
function readDecisionId(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return field.identifier(value, 'decision_id')
}

function readVolume(body: JsonObject, name: string): number | null {
  return shape.nullable(volumeBytes)(body[name] ?? null, name)
}

/**
 * POST /admin/data-usage/policy
 * Signs the permitted uses of this sovereign's data. They replace those of the same licensee, on all instances.
 */
export async function publish(call: OperatorCall, parts: FeatureBase): Promise<HttpResponse> {
  const terms = readLicenseRequest(call.body)
  const named = { policy_id: parts.ids.uuid(), licensor_sovereign_id: parts.network.name }
  return issueRecord(call, parts, {
    form: licensePolicyForm,
    failed: 'policy_sign_failed',
    event: 'data_license_policy_created',
    named: ['policy_id'],
    lock: 'data-usage',
    draft: () => draftDataLicensePolicy({ ...terms, ...named }),
    store: async (tx, record, now) => {
      const previous_policy_id = await insertLicense(tx, {
        policy_id: record.policy_id,
        policy_json: writeJson(asJson(record)),
        in_force_for: record.licensee_sovereign_id,
        created_at: writeSortable(now),
      })
      await tx.raiseVersion('data-usage')
      return { previous_policy_id }
    },
  })
}

/**
 * POST /admin/data-usage/intent
 * Signs, in the name of this sovereign, an intent to use sources.
 */
export async function declareIntent(call: OperatorCall, parts: FeatureBase): Promise<HttpResponse> {
  const request = readIntentRequest(call.body)
  const agent_sovereign_id = parts.network.name
  const named = {
    intent_id: parts.ids.uuid(),
    agent_sovereign_id,
    decision_id: request.decision_id ?? parts.ids.uuid(),
  }
  return issueRecord(call, parts, {
    form: accessIntentForm,
    failed: 'intent_create_failed',
    // The label of the signature is the agent, here this sovereign (protocol/trust-operations 1.3).
    label: agent_sovereign_id,
    event: 'data_access_intent_created',
    named: ['intent_id', 'decision_id'],
    draft: (now) => draftDataAccessIntent({ ...request, ...named, now }),
  })
}
