import { indentJson } from './indent-json.ts'

/** Times in examples: the first one stands for now, a later one for some time after. */
const TIME = /"(20\d\d)-01-01T00:00:00Z"/g
const FIRST_YEAR = '2026'
const LATER_MS = 24 * 3_600_000

/** An example with fresh times, in lines: those of the catalogue are long over. */
export function freshExample(body: string, nowMs: number): string {
  const at = (ms: number): string => `"${new Date(ms).toISOString().slice(0, 19)}Z"`
  return indentJson(body.replaceAll(TIME, (_, year) => at(year === FIRST_YEAR ? nowMs : nowMs + LATER_MS)))
}
