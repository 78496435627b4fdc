import { CommandError } from '../../errors/failure.ts'
import type { CommandContext } from '../../context.ts'

/** Checks of doctor that cannot pass before the first start of the gateway. */
const AFTER_START: readonly string[] = ['ready', 'state-lock']

/**
 * Runs the checks of `gateway start --check-config --online` and of `gateway doctor` on the files of a gateway. Returns
 * the number of passed checks of doctor, and throws an error with every problem.
 */
export async function checkGateway(context: CommandContext, settings: string): Promise<number> {
  const { commands } = await import('@chancery/gateway')
  await checkPolicy(context, settings)
  const findings = (await commands.diagnoseFiles(settings)).filter(({ check }) => !AFTER_START.includes(check))
  const bad = findings.filter(({ status }) => status === 'bad')
  if (bad.length > 0) throw failed(bad.map(({ check, found, fix }) => `${check}: ${found}. ${fix ?? ''}`.trim()))
  return findings.filter(({ status }) => status === 'good').length
}

/** Runs the checks of `gateway start --check-config --online`, also on a draft of the policy. */
export async function checkPolicy(context: CommandContext, settings: string, draftPolicy?: string): Promise<void> {
  const { commands } = await import('@chancery/gateway')
  const report = await commands.checkFiles(settings, draftPolicy)
  for (const warning of report.warnings) context.note(warning)
  if (report.lines.length > 0) throw failed(report.lines)
}

function failed(problems: readonly string[]): CommandError {
  return new CommandError({
    code: 'gateway_check_failed',
    message: 'The gateway would not start with these files. Nothing was changed.',
    problems,
    hint: 'Fix each listed problem, then run the command again. See: chancery gateway doctor --help',
  })
}

/** Variables of the shell override the settings file at a start, so an operator must see them. */
export function noteOverrides(context: CommandContext): void {
  const names = Object.keys(context.env).filter((name) => name.startsWith('GATEWAY_'))
  if (names.length === 0) return
  context.note(`${names.join(', ')} in this shell override the settings file; unset them before you start the gateway`)
}
