import type { NetworkFinding, NetworkFindings } from '@chancery/sdk/authority'
import { isForLater } from '../../findings.ts'
import type { ShapeName, Tone } from '../../parts/icons.ts'
import { linkOf } from './links.ts'

/** One thing to do. */
export interface Need {
  readonly check: string
  readonly shape: ShapeName
  readonly tone: Tone
  readonly title: string
  readonly text: string
  readonly at?: string
  readonly action: string
  readonly href: string
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Findings about something that ends, with the time before the end at which it is urgent, and from which it is shown. */
const ENDING: Readonly<Record<string, { readonly urgentMs: number; readonly watchMs: number }>> = {
  treaty: { urgentMs: DAY_MS, watchMs: 3 * DAY_MS },
  'policy-end': { urgentMs: 3 * DAY_MS, watchMs: 14 * DAY_MS },
  'key-window': { urgentMs: 3 * DAY_MS, watchMs: 14 * DAY_MS },
}

const SHAPES: Readonly<Record<string, ShapeName>> = {
  treaty: 'half',
  'policy-end': 'half',
  'key-window': 'half',
  'certificates-ending': 'half',
  'nodes-silent': 'ring',
  'evidence-anchors': 'dashed',
  'operator-keys': 'dashed',
  backup: 'dashed',
}

/** Problems of one partner. They stop its members, not the network. */
const OF_ONE_PARTNER: readonly string[] = [
  'treaty',
  'peer-feed',
  'partner-alarm',
  'partner-contact',
  'partner-key',
  'treaty-keys',
]

const TONES: readonly Tone[] = ['bad', 'urgent', 'watch', 'ended']

/** Returns what needs attention: the worst first, then what ends first. */
export function findNeeds(found: readonly NetworkFinding[], nowMs: number): readonly Need[] {
  return found
    .map((finding) => toNeed(finding, nowMs))
    .toSorted((a, b) => TONES.indexOf(a.tone) - TONES.indexOf(b.tone) || rankOf(a) - rankOf(b) || timeOf(a) - timeOf(b))
}

/** What ends by itself comes first. */
const rankOf = ({ check }: Need): number => (check in ENDING ? 0 : 1)
/** What has no time comes after what has one. */
const timeOf = ({ at }: Need): number => (at === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(at))

function toNeed(finding: NetworkFinding, nowMs: number): Need {
  const { check, status, found, effect, fix, at } = finding
  const tone = toneOf(finding, nowMs)
  const isBad = status === 'bad' && !OF_ONE_PARTNER.includes(check)
  return {
    check,
    shape: isBad ? 'square' : (SHAPES[check] ?? 'triangle'),
    tone,
    // The time has its own column.
    title: at === null ? found : found.replace(` ${at}`, ''),
    text: effect ?? fix,
    ...(at === null ? {} : { at }),
    ...linkOf(finding),
  }
}

function toneOf(finding: NetworkFinding, nowMs: number): Tone {
  const { check, status, at } = finding
  // A feed is a warning at any age: a partner may have revoked no member since.
  if (check === 'peer-feed') return 'watch'
  if (status === 'bad') return OF_ONE_PARTNER.includes(check) ? 'urgent' : 'bad'
  if (isForLater(finding)) return 'ended'
  const limits = ENDING[check]
  if (limits === undefined || at === null) return 'watch'
  const left = Date.parse(at) - nowMs
  return left < limits.urgentMs ? 'urgent' : left < limits.watchMs ? 'watch' : 'ended'
}

const NUMBERS = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine']

const counted = (count: number, one: string, many: string): string =>
  `${NUMBERS[count] ?? count} ${count === 1 ? one : many}`

/**
 * The state of the network in one sentence, from the worst thing. Several of one kind are counted. With checks that
 * could not run, it does not say that there are no problems.
 */
export function headlineOf(needs: readonly Need[], notChecked: readonly string[], nowMs: number): string {
  const calm = notChecked.length === 0 ? 'No problems.' : 'No problems in what was checked.'
  const of = (...checks: readonly string[]): readonly Need[] => needs.filter(({ check }) => checks.includes(check))
  const isBad = (need: Need | undefined): boolean => need?.tone === 'bad'
  if (of('ready').length > 0) return 'The authority is not ready.'
  if (of('policies').some(isBad)) return 'The policies in force have problems. All decisions are denied.'
  if (of('evidence-here', 'evidence-store', 'evidence-log').length > 0) return 'Stored evidence is missing or changed.'
  if (of('crl').length > 0) return 'The revocation list is not current.'
  const [worst] = needs
  if (worst === undefined || worst.tone === 'ended') return calm
  if (isBad(worst)) return `${worst.title}.`
  return endingHeadline(of('treaty'), nowMs) ?? laterHeadline(of('peer-feed'), worst)
}

function endingHeadline(treaties: readonly Need[], nowMs: number): string | undefined {
  const within = (hours: number): number =>
    treaties.filter(({ at = '' }) => Date.parse(at) > nowMs && Date.parse(at) - nowMs < hours * HOUR_MS).length
  if (within(24) > 0) return `${counted(within(24), 'treaty ends', 'treaties end')} within a day.`
  return within(72) > 0 ? `${counted(within(72), 'treaty ends', 'treaties end')} within three days.` : undefined
}

function laterHeadline(feeds: readonly Need[], worst: Need): string {
  if (feeds.length > 0) return `${counted(feeds.length, 'revocation feed is', 'revocation feeds are')} old.`
  return `${worst.title}.`
}

/** What is in order, and what could not be checked. */
export function calmOf({ passed, not_checked: notChecked, first_steps: steps }: NetworkFindings): string {
  const facts = [
    ['ready', 'the authority is ready'],
    ['crl', 'the revocation list is current'],
    ...(steps.policy_active ? [['policies', 'the policies in force can decide']] : []),
    ['evidence-anchors', 'anchors are on time'],
    ...(steps.backup_at === null ? [] : [['backup', 'the last backup is recent']]),
  ].flatMap(([check = '', text = '']) => (passed.includes(check) ? [text] : []))
  const last = facts.at(-1) ?? ''
  const text = facts.length < 2 ? last : `${facts.slice(0, -1).join(', ')} and ${last}`
  const inOrder = text === '' ? [] : [`${text.charAt(0).toUpperCase()}${text.slice(1)}.`]
  const unknown = notChecked ?? []
  return [...inOrder, ...(unknown.length === 0 ? [] : [`Not checked: ${unknown.join(', ')}.`])].join(' ')
}
