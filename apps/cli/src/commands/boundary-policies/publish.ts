import { findPolicyWarnings, visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describePolicy } from './describe.ts'
import { loadIntent } from './policy-file.ts'

/** boundary-policy publish: signed and stored; nothing binds before it is activated. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const intent = await loadIntent(cwd, args.required('file'))
  const connection = await connectAsOperator(context, options)
  const { record, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.boundaryPolicies.publish(intent)),
  )
  const { policy_id, version } = record
  const next = `Not in force yet: chancery boundary-policy activate ${visible(policy_id)} ${version}`
  const warnings = findPolicyWarnings(record).map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
  const text = `${style.good('Published:')}\n${describePolicy(record, style)}${kept}${warnings.join('')}\n${next}`
  return { data: record, text }
}
