import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { firstText, millisecondsOf, operatorOf, subjectOf, textOf } from './audit-record.ts'
import type { AuditOrigin, AuditRecord } from './audit-record.ts'
import { type CallMapping, ENTITY_ACTIVITIES, type EntityMapping, SEVERITIES } from './mapping.ts'

/** The version of OCSF that the events follow. */
export const OCSF_VERSION = '1.8.0'

const BASE = { class: 0, category: 0 } as const
const AUTHENTICATION = { class: 3002, category: 3 } as const
const ENTITY_MANAGEMENT = { class: 3004, category: 3 } as const
const API_ACTIVITY = { class: 6003, category: 6 } as const

const OTHER = 99
const STATUS = { unknown: 0, success: 1, failure: 2 } as const
/** Of the profile security_control: actions, and the dispositions Allowed and Blocked. */
const ALLOWED = { action_id: 1, disposition_id: 1 } as const
const DENIED = { action_id: 2, disposition_id: 2 } as const

/** The characters of an IP address, which the edge has taken from the connection. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-fA-F:.]*:[\da-fA-F:.]*)$/

/** The form of a trace id. An event with another one is not part of a trace. */
const TRACE_ID = /^[0-9a-f]{32}$/
/** Events that stand for several equal ones. In others, `count` counts what the event changed. */
const REPEATED: ReadonlySet<string> = new Set(['refused_requests', 'evidence_rejected', 'evidence_duplicate'])

/** One event as an OCSF event. Everything that has no attribute there is in `unmapped`, as stored. */
export function toOcsf(record: AuditRecord, origin: AuditOrigin): JsonObject {
  const { mapping } = record
  if (mapping === undefined) return build(record, origin, { ...BASE, activity: OTHER, activityName: record.type })
  if (mapping.class === 'entity') return entityEvent(record, mapping, origin)
  if (mapping.class === 'call') return callEvent(record, mapping, origin)
  const uid = subjectOf(record)
  return build(record, origin, {
    ...AUTHENTICATION,
    activity: 1,
    status: 'failure',
    members: {
      user: uid === undefined ? { name: 'unknown' } : { uid },
      service: { name: `chancery-${origin.service}` },
      ...sourceOf(record, false),
    },
  })
}

function entityEvent(record: AuditRecord, mapping: EntityMapping, origin: AuditOrigin): JsonObject {
  const uid = subjectOf(record)
  const version = versionOf(record, mapping)
  const key = operatorOf(record)
  const isOwnWork = key === undefined && record.details['remote_addr'] === undefined
  return build(record, origin, {
    ...ENTITY_MANAGEMENT,
    activity: ENTITY_ACTIVITIES[mapping.activity],
    status: mapping.failed === true ? 'failure' : 'success',
    members: {
      entity: {
        ...(uid === undefined ? { name: mapping.entity } : { uid }),
        type: mapping.entity,
        type_id: OTHER,
        ...(version === undefined ? {} : { version }),
      },
      ...(key === undefined ? {} : { actor: { user: operatorUser(key) } }),
      ...(isOwnWork ? { actor: { app_name: `chancery-${origin.service}` } } : {}),
      ...sourceOf(record, false),
    },
  })
}

function versionOf({ details }: AuditRecord, { version: member }: EntityMapping): string | undefined {
  const value = member === undefined ? undefined : details[member]
  return typeof value === 'number' ? String(value) : textOf(value)
}

function callEvent(record: AuditRecord, mapping: CallMapping, origin: AuditOrigin): JsonObject {
  const { details } = record
  const operation = textOf(details[mapping.operation]) ?? textOf(details['route']) ?? record.type
  const { action, status } = outcomeOf(record, mapping)
  const uid = firstText(details, mapping.caller)
  const key = operatorOf(record)
  const caller = uid === undefined ? undefined : { user: { uid } }
  const operator = key === undefined ? undefined : { user: operatorUser(key) }
  const given = textOf(details['trace_id'])
  const trace = given !== undefined && TRACE_ID.test(given) ? given : undefined
  const authorizations = action === undefined ? [] : authorizationsOf(record, action)
  return build(record, origin, {
    ...API_ACTIVITY,
    activity: activityOf(operation),
    activityName: operation,
    status,
    profiles: [...(action === undefined ? [] : ['security_control']), ...(trace === undefined ? [] : ['trace'])],
    members: {
      actor: caller ?? operator ?? { user: { name: 'unknown' } },
      api: { operation, service: { name: `chancery-${origin.service}` } },
      ...sourceOf(record, true),
      ...action,
      ...(authorizations.length === 0 ? {} : { authorizations }),
      ...(trace === undefined ? {} : { trace: { uid: trace } }),
    },
  })
}

type Action = typeof ALLOWED | typeof DENIED

/** A denial is a decision that succeeded; a refusal without a decision is a failure. */
function outcomeOf(
  { details }: AuditRecord,
  { outcome }: CallMapping,
): { readonly action: Action | undefined; readonly status: keyof typeof STATUS } {
  if (outcome === 'denied') return { action: DENIED, status: 'failure' }
  if (outcome === 'open') return { action: undefined, status: 'unknown' }
  if (outcome === 'authorized') return { action: details['authorized'] === true ? ALLOWED : DENIED, status: 'success' }
  const status = Number(details['status'])
  const verdicts = verdictsOf(details)
  // A response without an error may say no. A batch may say both; then no single action is true.
  if (status < 400 && verdicts.includes(false))
    return { action: verdicts.includes(true) ? undefined : DENIED, status: 'success' }
  if (status < 400) return { action: ALLOWED, status: 'success' }
  return { action: [401, 403, 429].includes(status) ? DENIED : undefined, status: 'failure' }
}

/** What a gateway said about certificates and decisions in one response. */
function verdictsOf({ trust_decision, trust_decisions, decisions }: JsonObject): readonly boolean[] {
  const lists = [trust_decision === undefined ? [] : [trust_decision], trust_decisions, decisions]
  return lists
    .flatMap((list) => (Array.isArray(list) ? (list as readonly JsonValue[]) : []))
    .filter(isJsonObject)
    .map(({ trusted, authorized }) => trusted === true || authorized === true)
}

/** One for each applied policy, `<id>@<version>`; one without a policy when there is none. */
function authorizationsOf({ details }: AuditRecord, action: Action): readonly JsonObject[] {
  const decision = action === ALLOWED ? 'allowed' : 'denied'
  const { applied_policies } = details
  if (!Array.isArray(applied_policies) || applied_policies.length === 0) return [{ decision }]
  return applied_policies.map((name: JsonValue) => {
    const [, uid, version] = /^(.+)@(.+)$/s.exec(textOf(name) ?? '') ?? []
    return { decision, ...(uid === undefined || version === undefined ? {} : { policy: { uid, version } }) }
  })
}

/** The last word of a capability or operation says which of the four kinds it is. Others are Other. */
const VERBS: ReadonlyMap<string, number> = new Map([
  ['create', 1],
  ['read', 2],
  ['get', 2],
  ['list', 2],
  ['update', 3],
  ['delete', 4],
])

function activityOf(operation: string): number {
  return VERBS.get(operation.split(/[.:/-]/).at(-1) ?? '') ?? OTHER
}

function operatorUser(key: string): JsonObject {
  return { uid: key, type: 'operator key', type_id: OTHER }
}

/** Required for calls. The gateway stores no address of its callers. */
function sourceOf({ details }: AuditRecord, isRequired: boolean): JsonObject {
  const address = textOf(details['remote_addr'])
  if (address !== undefined) return { src_endpoint: ADDRESS.test(address) ? { ip: address } : { name: address } }
  if (!isRequired) return {}
  const client = textOf(details['client_id'])
  return { src_endpoint: client === undefined ? { name: 'unknown' } : { uid: client } }
}

interface Parts {
  readonly class: number
  readonly category: number
  readonly activity: number
  /** Required by OCSF for the activity Other. */
  readonly activityName?: string
  readonly status?: keyof typeof STATUS
  readonly profiles?: readonly string[]
  readonly members?: JsonObject
}

function build(record: AuditRecord, origin: AuditOrigin, parts: Parts): JsonObject {
  const { details, mapping } = record
  const { status = 'unknown', profiles = [], members = {} } = parts
  const severity = mapping?.severity ?? (status === 'failure' ? 'low' : 'informational')
  const code = firstText(details, ['reason', 'code', 'denial_reason'])
  const request = textOf(details['request_id'])
  const network = origin.network ?? textOf(details['network'])
  const { count } = details
  return {
    class_uid: parts.class,
    category_uid: parts.category,
    activity_id: parts.activity,
    ...(parts.activity === OTHER ? { activity_name: parts.activityName ?? record.type } : {}),
    type_uid: parts.class * 100 + parts.activity,
    severity_id: SEVERITIES[severity],
    time: millisecondsOf(record),
    status_id: STATUS[status],
    ...(code === undefined ? {} : { status_code: code }),
    message: record.message,
    ...(REPEATED.has(record.type) && typeof count === 'number' && Number.isInteger(count) ? { count } : {}),
    metadata: {
      version: OCSF_VERSION,
      product: {
        name: 'Chancery',
        vendor_name: 'Chancery',
        version: origin.version,
        feature: { name: origin.service },
      },
      ...(profiles.length === 0 ? {} : { profiles }),
      uid: record.id,
      event_code: record.type,
      sequence: record.sequence,
      ...(request === undefined ? {} : { correlation_uid: request }),
      original_time: record.at,
      log_name: 'audit',
      ...(network === undefined ? {} : { tenant_uid: network }),
    },
    ...members,
    unmapped: details,
  }
}
