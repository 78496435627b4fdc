import { type Client, RefusedError } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator, findConfig } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadOperators, operatorsPath } from '../../files/operators-file.ts'
import { plural } from '../../output/plural.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

/** Runs `operator list`. */
export async function runOperatorList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(context.cwd, options.text('file'), paths.home)
  const { operators } = await loadOperators(path)
  const states = options.isSet('check')
    ? await checkStates(
        context,
        options,
        operators.map(({ key_id }) => key_id),
      )
    : undefined
  const stateOf = (id: string): string | null => states?.get(id) ?? null
  const data = {
    file: path,
    count: operators.length,
    operators: operators.map((each) => ({ ...each, state: stateOf(each.key_id) })),
  }
  if (operators.length === 0)
    return { data, ids: [], text: 'No operator. Add one with: chancery operator add <key_id> --key <file>' }
  const head = ['KEY ID', 'TIER', ...(states === undefined ? [] : ['STATE']), 'ADDED', 'PUBLIC KEY']
  const rows = operators.map(({ key_id, tier, added_at, public_key }) => [
    key_id,
    tier,
    ...(states === undefined ? [] : [stateOf(key_id) ?? '-']),
    added_at ?? '-',
    public_key,
  ])
  const text = `${table(head, rows, context.style)}\n\n${plural(operators.length, 'operator')}.`
  return { data, ids: operators.map(({ key_id }) => key_id), text }
}

/** Asks one key after the other, because calls of operators are limited. */
async function checkStates(
  context: CommandContext,
  options: Options,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const connection = await connectAsOperator(context, options)
  return connection.ask(async (client) => {
    const states = new Map<string, string>()
    for (const id of ids) states.set(id, await stateAt(client, id))
    return states
  })
}

async function stateAt(client: Client, id: string): Promise<string> {
  try {
    return (await client.operatorKeys.activity(id, { days: 1 })).revoked ? 'revoked' : 'usable'
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'unknown_operator_key') return 'not read yet'
    throw error
  }
}
