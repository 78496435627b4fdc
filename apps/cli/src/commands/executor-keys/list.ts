import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

/** Runs `executor-key list`: with --json in the form that `evidence verify` reads. */
export async function runExecutorKeyList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const data = await connection.ask((client) => client.evidence.executorKeys())
  const { executor_keys: keys } = data
  if (keys.length === 0) return { data, text: 'No executor key.', ids: [] }
  const rows = keys.map((key) => [key.key_id, key.executor_sovereign_id, key.registered_at, key.retired_at ?? '-'])
  return {
    data,
    ids: keys.map((key) => key.key_id),
    text: table(['KEY', 'EXECUTOR', 'REGISTERED', 'RETIRED'], rows, context.style),
  }
}
