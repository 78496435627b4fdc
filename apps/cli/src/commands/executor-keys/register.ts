import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** executor-key register */
export async function runExecutorKeyRegister(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const key = {
    key_id: args.required('id'),
    public_key: await loadPublicKey(context.cwd, '--public-key', options.required('public-key')),
    executor_sovereign_id: options.required('executor'),
  }
  const connection = await connectAsOperator(context, options)
  const done = await connection.ask((client) => client.evidence.registerKey(key))
  const text = `${context.style.good('Registered')} ${visible(done.key_id)} for ${visible(done.executor_sovereign_id)}.`
  return { data: { ...done }, ids: [done.key_id], text }
}
