import { visible } from '@chancery/protocol'
import { requireConsent } from '../../prompts/confirm.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `executor-key retire`: permanent, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('id')
  const connection = await connectAsOperator(context, options)
  await requireConsent(
    context,
    options,
    `Retire executor key ${visible(id)} at ${connection.url}? This cannot be undone.`,
  )
  const done = await connection.ask((client) => client.evidence.retireKey(id))
  return {
    data: { ...done },
    text: `${context.style.good('Retired')} ${visible(done.key_id)}. What it signed stays verifiable.`,
  }
}
