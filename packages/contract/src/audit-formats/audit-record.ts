import { AUDIT_EVENTS } from '../audit-events.ts'
import { GATEWAY_AUDIT_EVENTS } from '../gateway/audit-events.ts'
import { type JsonObject, type JsonValue, isJsonObject, readInstant } from '@chancery/protocol'
import { AUTHORITY_EVENT_MAPPINGS, type EventMapping, GATEWAY_EVENT_MAPPINGS } from './mapping.ts'

/** The service that recorded an event. */
export interface AuditOrigin {
  readonly service: 'authority' | 'gateway'
  /** The network of an authority. A gateway may serve several: its events name theirs. */
  readonly network: string | undefined
  /** Version of the product that writes the export. */
  readonly version: string
}

/** An event of either service in one form. Texts in it may come from a caller. */
export interface AuditRecord {
  readonly id: string
  readonly type: string
  /** Undefined for a type that this release does not know. */
  readonly mapping: EventMapping | undefined
  readonly message: string
  readonly sequence: number
  /** As stored. */
  readonly at: string
  readonly details: JsonObject
}

/** An exported event of an authority: already redacted, with its sequence. */
export function readAuthorityEvent({ sequence, event_id, event_type, details, created_at }: JsonObject): AuditRecord {
  const type = textOf(event_type) ?? ''
  return {
    id: textOf(event_id) ?? '',
    type,
    mapping: own(AUTHORITY_EVENT_MAPPINGS, type),
    message: own(AUDIT_EVENTS, type)?.when ?? 'An event of another release.',
    sequence: Number(sequence),
    at: textOf(created_at) ?? '',
    details: isJsonObject(details) ? details : {},
  }
}

/** An exported event of a gateway. Its members and those of its context become details; its links stay among them. */
export function readGatewayEvent(event: JsonObject): AuditRecord {
  const { event_id, event: name, phase, sequence, at, context, ...facts } = event
  const type = textOf(name) ?? textOf(phase) ?? ''
  // Events of the first release have no event_id; theirs is request_id and phase (protocol/gateway 16.2).
  return {
    id: textOf(event_id) ?? `${textOf(facts['request_id']) ?? ''}:${type}`,
    type,
    mapping: own(GATEWAY_EVENT_MAPPINGS, type),
    message: own(GATEWAY_AUDIT_EVENTS, type)?.when ?? 'An event of another release.',
    sequence: Number(sequence),
    at: textOf(at) ?? '',
    details: { ...(isJsonObject(context) ? context : {}), ...facts },
  }
}

/** Milliseconds since 1970. */
export function millisecondsOf({ at, id }: AuditRecord): number {
  const instant = readInstant(at)
  if (instant === undefined) throw new TypeError(`audit event ${id} has no time`)
  return Number(instant / 1000n)
}

/** The id of what the event is about. */
export function subjectOf({ mapping, details }: AuditRecord): string | undefined {
  return firstText(details, mapping?.id ?? [])
}

/** The operator that acted. The key id of a failed authentication is only a claim. */
export function operatorOf({ mapping, details }: AuditRecord): string | undefined {
  if (mapping?.class === 'authentication') return undefined
  const member = mapping?.class === 'entity' ? (mapping.operator ?? 'key_id') : 'key_id'
  return textOf(details[member])
}

export function firstText(details: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const found = textOf(details[name])
    if (found !== undefined) return found
  }
  return undefined
}

/** Undefined for an empty text, too: no id is empty. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** The media type of one event in structured mode. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8'

/** Digits of the largest sequence. The extension `sequence` is compared as text. */
const SEQUENCE_DIGITS = 16

/** One event as a CloudEvent 1.0 in structured mode. `source` and `id` together are unique. */
export function toCloudEvent(record: AuditRecord, origin: AuditOrigin): JsonObject {
  const subject = attributeText(subjectOf(record))
  const key = attributeText(operatorOf(record))
  return {
    specversion: '1.0',
    id: record.id,
    source: [
      'urn:chancery',
      origin.service,
      ...(origin.network === undefined ? [] : [encodeURIComponent(origin.network)]),
    ].join(':'),
    type: `chancery.${origin.service}.audit.${record.type}`,
    time: record.at,
    ...(subject === undefined ? {} : { subject }),
    datacontenttype: 'application/json',
    sequence: String(record.sequence).padStart(SEQUENCE_DIGITS, '0'),
    ...(key === undefined ? {} : { authtype: 'api_key', authid: key }),
    data: record.details,
  }
}

/** A text that an attribute may have. An id that a caller claimed may have other characters; `data` has it then. */
function attributeText(text: string | undefined): string | undefined {
  return text === undefined || /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(text) ? undefined : text
}
