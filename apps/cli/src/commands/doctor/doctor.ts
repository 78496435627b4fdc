import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import type { Style } from '../../output/style.ts'
import { visible } from '../../output/visible.ts'
import { toStartArguments } from '../authority/start.ts'

/** As the authority gives it; its types are loaded with it only. */
interface Finding {
  readonly check: string
  readonly status: 'good' | 'warn' | 'bad' | 'skipped'
  readonly found: string
  readonly fix?: string
}

/** doctor: what is wrong with a deployment and what to do about it, the worst first. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const url = options.text('public-url')
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw misuse('--public-url must be an http or https address.')
  const { flags, envFile } = toStartArguments(context, options)
  const own = Object.fromEntries(Object.entries(flags).filter(([flag]) => flag !== '--public-url'))
  const { commands } = await import('@chancery/authority')
  const findings = await withProgress(context, 'Looking at the deployment', () =>
    commands.diagnose({
      flags: own,
      ...(envFile === undefined ? {} : { envFile }),
      ...(url === undefined ? {} : { url }),
    }),
  )
  const count = (status: Finding['status']): number => findings.filter((finding) => finding.status === status).length
  const [bad, warnings] = [count('bad'), count('warn')]
  const text = [...sorted(findings).map((finding) => line(finding, context.style)), summary(bad, warnings)].join('\n')
  return {
    data: { bad, warnings, findings: findings.map((finding) => ({ ...finding })) },
    text,
    exitCode: bad > 0 ? 1 : 0,
  }
}

const ORDER: readonly Finding['status'][] = ['bad', 'warn', 'skipped', 'good']

const TONES = { good: 'good', warn: 'warn', bad: 'bad', skipped: 'quiet' } as const

function sorted(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
}

function line({ check, status, found, fix }: Finding, style: Style): string {
  const head = `${style[TONES[status]](status.padEnd(7))}  ${check.padEnd(18)}  ${visible(found)}`
  return fix === undefined ? head : `${head}\n${' '.repeat(29)}${style.title('fix:')} ${visible(fix)}`
}

function summary(bad: number, warnings: number): string {
  if (bad + warnings === 0) return 'Nothing is wrong.'
  return `${bad} bad, ${warnings} to look at.`
}
