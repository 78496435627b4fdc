import { AUDIT_FORMATS, type AuditFormat } from '@chancery/contract'
import { usageError } from '../errors/failure.ts'
import type { Options } from './options.ts'

/** The value of --format. The parser has refused other words. */
export function auditFormat(options: Options): AuditFormat {
  const given = options.textOrDefault('format')
  const format = AUDIT_FORMATS.find((each) => each === given)
  if (format === undefined) throw usageError(`--format: use one of ${AUDIT_FORMATS.join(', ')}.`)
  return format
}
