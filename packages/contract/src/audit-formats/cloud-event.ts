import type { JsonObject } from '@chancery/protocol'
import { type AuditOrigin, type AuditRecord, operatorOf, subjectOf } from './audit-record.ts'

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
