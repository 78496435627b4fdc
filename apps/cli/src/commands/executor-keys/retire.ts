import { visible } from '@chancery/protocol'
import { requireConsent } from '../../prompts/confirm.ts'
import { missingRecord } from '../../prompts/missing-record.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `executor-key retire`: permanent, so it asks first. */
export async function runExecutorKeyRetire(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const id = args.required('id')
  const connection = await connectAsOperator(context, options)
  await requireConsent(
    context,
    options,
    `Retire executor key ${visible(id)} at ${connection.url}? This cannot be undone.`,
    async () => {
      const { executor_keys: keys } = await connection.ask((client) => client.evidence.executorKeys())
      if (!keys.some(({ key_id }) => key_id === id)) throw missingRecord('executor_key_not_found')
    },
  )
  const done = await connection.ask((client) => client.evidence.retireKey(id))
  return {
    data: { ...done },
    ids: [done.key_id],
    text: `${context.style.good('Retired')} ${visible(done.key_id)}. What it signed stays verifiable.`,
  }
}
