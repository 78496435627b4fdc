import type { AuditFormat } from '../commands/authority.ts'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { type AuditOrigin, readAuthorityEvent, readGatewayEvent, toCloudEvent } from './audit-record.ts'
import { toOcsf } from './ocsf.ts'

export { CLOUD_EVENT_TYPE } from './audit-record.ts'
export type { AuditOrigin } from './audit-record.ts'
export { OCSF_VERSION } from './ocsf.ts'

/** One exported event as one line of JSON without its end. The event must be redacted before. */
export function writeAuditLine(event: JsonObject, format: AuditFormat, origin: AuditOrigin): string {
  if (format === 'json') return writeJson(event)
  const record = origin.service === 'authority' ? readAuthorityEvent(event) : readGatewayEvent(event)
  return writeJson(format === 'ocsf' ? toOcsf(record, origin) : toCloudEvent(record, origin))
}
