import type { BoundaryPolicyRow } from '@chancery/sdk/authority'
import type { PolicySelector } from '@chancery/protocol'
import type { ShapeName, Tone } from '../../parts/icons.ts'

const DAY_MS = 86_400_000
/** After the end of one active policy the whole set denies, so the page warns early. */
const WATCH_MS = 14 * DAY_MS
const URGENT_MS = 3 * DAY_MS

export interface PolicyState {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly word: string
}

/** Returns the state of a version, by the clock of the authority. */
export function policyState(
  row: Pick<BoundaryPolicyRow, 'active' | 'integrity_ok' | 'valid_until'>,
  nowMs: number,
): PolicyState {
  if (!row.integrity_ok) return { shape: 'square', tone: 'bad', word: 'Text changed' }
  if (!row.active) return { shape: 'dash', tone: 'ended', word: 'Not in force' }
  const left = Date.parse(row.valid_until ?? '') - nowMs
  if (left <= 0) return { shape: 'square', tone: 'bad', word: 'Ended, denies' }
  if (left < WATCH_MS) return { shape: 'half', tone: left < URGENT_MS ? 'urgent' : 'watch', word: 'Ending' }
  return { shape: 'circle', tone: 'good', word: 'In force' }
}

/** One policy in the list: the version in force, or the newest, and how many there are. */
export interface PolicySummary {
  readonly row: BoundaryPolicyRow
  readonly versions: number
}

/** Rows come by policy, newest version first. */
export function summarise(rows: readonly BoundaryPolicyRow[]): readonly PolicySummary[] {
  const found = new Map<string, PolicySummary>()
  for (const row of rows) {
    const before = found.get(row.policy_id)
    found.set(row.policy_id, {
      row: before === undefined || row.active ? row : before.row,
      versions: Math.max(before?.versions ?? 0, row.version),
    })
  }
  return [...found.values()]
}

const SELECTOR_WORDS = [
  ['capabilities', 'capability'],
  ['requester_sovereign_ids', 'requester'],
  ['provider_sovereign_ids', 'provider'],
  ['agreement_ids', 'agreement'],
  ['parent_kinds', 'basis'],
] as const

/** States in words to which requests a policy applies. */
export function selectorText(selector: PolicySelector): string {
  const parts = SELECTOR_WORDS.flatMap(([name, word]) => {
    const [first, ...rest] = selector[name]
    if (first === undefined) return []
    const more = rest.length === 0 ? '' : `, ${rest.length} more`
    return [`${word === 'capability' ? '' : `${word} `}${first}${more}`]
  })
  const parameters = Object.keys(selector.parameter_equals)
  if (parameters.length > 0) parts.push(`${parameters[0] ?? ''} is given`)
  return parts.length === 0 ? 'every request' : parts.join(' · ')
}
