import { type JsonObject, visible } from '@chancery/protocol'
import { type Result, type Style, table } from '../../output/screen.ts'

/** What a service explains. Its types are not imported, because the services are loaded on demand. */
interface Explained {
  readonly settings: readonly {
    readonly name: string
    readonly value: string | null
    readonly default: string | null
    readonly origin: string
    readonly changed: boolean
  }[]
  readonly problems: readonly string[]
}

/** Lists of keys are longer than a line; `--json` has the whole value. */
const MAX_SHOWN = 80

/** Returns the table of settings, with the problems that would stop a start. */
export function describeSettings(
  { settings, problems }: Explained,
  onlyChanged: boolean,
  style: Style,
): Result & { readonly text: string } {
  const shown = onlyChanged ? settings.filter(({ changed }) => changed) : settings
  const rows = shown.map(({ name, value, origin, changed }) => [changed ? '*' : '', name, cut(value ?? '-'), origin])
  const number = settings.filter(({ changed }) => changed).length
  const lines = [
    ...(rows.length === 0 ? [] : [table(['', 'SETTING', 'VALUE', 'ORIGIN'], rows, style), '']),
    `${number} of ${settings.length} settings differ from their default.`,
    ...problems.map((problem) => `${style.bad('bad')}  ${problem}`),
  ]
  return {
    data: { settings: shown.map((row) => ({ ...row })), changed: number, problems: [...problems] },
    text: lines.join('\n'),
    exitCode: problems.length > 0 ? 1 : 0,
  }
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1)}…`
}

/** Report of a service. Its types are not imported, because the services are loaded on demand. */
interface Finding {
  readonly check: string
  readonly status: 'good' | 'warn' | 'bad' | 'skipped'
  readonly found: string
  readonly fix?: string
  readonly effect?: string
  readonly about?: string
  readonly at?: string
}

/** Returns the findings, the most severe first, and the exit code. */
export function report(
  findings: readonly Finding[],
  style: Style,
): Result & { readonly data: JsonObject; readonly text: string; readonly exitCode: number } {
  const count = (status: Finding['status']): number => findings.filter((finding) => finding.status === status).length
  const [bad, warnings] = [count('bad'), count('warn')]
  const skipped = findings.filter(({ status }) => status === 'skipped')
  const lines = sorted(findings).map((finding) => line(finding, style))
  const text = [...lines, ...summary(bad, warnings, skipped)].join('\n')
  return {
    data: { bad, warnings, skipped: skipped.length, findings: findings.map((finding) => ({ ...finding })) },
    text,
    exitCode: bad > 0 ? 1 : 0,
  }
}

const ORDER: readonly Finding['status'][] = ['bad', 'warn', 'skipped', 'good']

const TONES = { good: 'good', warn: 'warn', bad: 'bad', skipped: 'quiet' } as const

function sorted(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
}

function line({ check, status, found, fix, effect }: Finding, style: Style): string {
  const what = visible(effect === undefined ? found : `${found}. ${effect}`)
  const head = `${style[TONES[status]](status.padEnd(7))}  ${check.padEnd(18)}  ${what}`
  return fix === undefined ? head : `${head}\n${' '.repeat(29)}${style.title('fix:')} ${visible(fix)}`
}

/** A check that did not run found nothing, which is not the same as nothing wrong. */
function summary(bad: number, warnings: number, skipped: readonly Finding[]): readonly string[] {
  const left = skipped.length === 0 ? [] : [`Not checked: ${skipped.map(({ check }) => check).join(', ')}.`]
  if (bad + warnings > 0) return [...left, `${bad} bad, ${warnings} to check.`]
  return [...left, left.length === 0 ? 'Nothing is wrong.' : 'Nothing that was checked is wrong.']
}
