import type { NetworkFinding } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { report } from './report.ts'

const UNCHECKED = 'the authority could not check it'

/** Runs `findings`: asks a running authority for what doctor would find in its database. */
export async function runFindings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const { findings, count, ...rest } = await connection.ask((client) => client.findings.list())
  const skipped = (rest.not_checked ?? []).map((check) => ({ check, status: 'skipped', found: UNCHECKED }) as const)
  const { data, text, exitCode } = report([...findings.map(toFinding), ...skipped], context.style)
  const more = count > findings.length ? `\n${count - findings.length} more are not listed.` : ''
  return { data: { ...data, ...rest, count }, text: `${text}${more}`, exitCode }
}

function toFinding({ check, status, found, fix, effect, about, at }: NetworkFinding): Parameters<typeof report>[0][0] {
  return {
    check,
    status: status === 'bad' ? 'bad' : 'warn',
    found,
    fix,
    ...(effect === null ? {} : { effect }),
    ...(about === null ? {} : { about }),
    ...(at === null ? {} : { at }),
  }
}
