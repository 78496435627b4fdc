import type { NodeSummary } from '@chancery/sdk'

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

/** Quotes a cell. A leading sign would make a spreadsheet compute a text that a node chose. */
function csvCell(value: NodeSummary[keyof NodeSummary]): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
