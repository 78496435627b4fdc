import { indentJson } from './indent-json.ts'

/** Times in examples: the first one means now, later ones mean later. */
const TIME = /"(20\d\d)-01-01T00:00:00Z"/g
const FIRST_YEAR = '2026'
const LATER_MS = 24 * 3_600_000

/** Returns an example with current times, indented. The times of the catalogue are in the past. */
export function freshExample(body: string, nowMs: number): string {
  const at = (ms: number): string => `"${new Date(ms).toISOString().slice(0, 19)}Z"`
  return indentJson(body.replaceAll(TIME, (_, year) => at(year === FIRST_YEAR ? nowMs : nowMs + LATER_MS)))
}
