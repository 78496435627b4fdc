import type { Result } from '../../output/result.ts'
import type { Style } from '../../output/style.ts'
import { table } from '../../output/table.ts'

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
