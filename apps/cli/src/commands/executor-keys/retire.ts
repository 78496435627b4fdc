import { visible } from '@chancery/protocol'
import { missingRecord, requireConsent } from '../../prompts/preview.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKey } from '../../files/keys.ts'

/** Runs `evidence key retire`: permanent, so it asks first. */
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

/** Runs `evidence key list`: with --json in the form that `verify` reads. */
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

/** executor-key register */
export async function runExecutorKeyRegister(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const key = {
    key_id: args.required('id'),
    public_key: await loadPublicKey(context.cwd, '--key', options.required('key')),
    executor_sovereign_id: options.required('executor'),
  }
  const connection = await connectAsOperator(context, options)
  const done = await connection.ask((client) => client.evidence.registerKey(key))
  const text = `${context.style.good('Registered')} ${visible(done.key_id)} for ${visible(done.executor_sovereign_id)}.`
  return { data: { ...done }, ids: [done.key_id], text }
}
