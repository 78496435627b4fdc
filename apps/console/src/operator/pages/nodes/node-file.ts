import type { NodeSummary } from '@chancery/sdk/authority'

export type FileFormat = 'csv' | 'jsonl'

const COLUMNS = [
  'label',
  'node_public_key',
  'cert_id',
  'state',
  'roles',
  'last_heartbeat',
  'issued_at',
  'expires_at',
  'agent_id',
  'capabilities',
  'remote_addr',
] as const satisfies readonly (keyof NodeSummary)[]

/** Writes rows as a part of the file; the first part of a CSV file has the names of the columns. */
export function writeNodes(rows: readonly NodeSummary[], format: FileFormat, isFirst: boolean): string {
  if (format === 'jsonl') return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const lines = rows.map((row) => COLUMNS.map((name) => csvCell(row[name])).join(','))
  return [...(isFirst ? [COLUMNS.join(',')] : []), ...lines].map((line) => `${line}\r\n`).join('')
}

/** Signs that begin a formula, also in full width, which some spreadsheets take as the narrow ones. */
const SIGN = '[=+\\-@\uFF1D\uFF0B\uFF0D\uFF20]'
const FORMULA = new RegExp(`^(?:[\\t\\r\\n]|\\s*${SIGN})`)
/** A spreadsheet of another region splits at other characters. It removes quotes at the begin of the cells it makes. */
const INNER_FORMULA = new RegExp(`([;,|\\t\\r\\n][\\s"]*)(?=${SIGN})`, 'g')

/** Quotes a cell. A node chooses some of these texts, and a spreadsheet must not compute them. */
function csvCell(value: NodeSummary[keyof NodeSummary]): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
  const inner = text.replaceAll(INNER_FORMULA, "$1'")
  const safe = FORMULA.test(inner) ? `'${inner}` : inner
  return /^'|[",;|\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
