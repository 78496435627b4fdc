import { RefusedError } from '@chancery/sdk'
import type { Client } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { loadOperators, operatorsPath, refuseUnusedFile, saveOperators } from '../../files/operators-file.ts'
import { type Result, plural, table } from '../../output/screen.ts'
import { writeInstant } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { checkKeyId } from '../../files/keys.ts'
import { requireConsent } from '../../prompts/preview.ts'
import { showActivity } from './revoke.ts'

/** Runs `operator remove`: the authority reads the changed file with its next request. */
export async function runOperatorRemove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key_id = checkKeyId(args.required('key_id'))
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(paths.home)
  const before = await loadOperators(path)
  const { operators, removed } = before
  const found = operators.find((each) => each.key_id === key_id)
  if (found === undefined)
    throw new CommandError({
      code: 'unknown_operator_key',
      message: `${key_id} is not an operator.`,
      hint: 'List the operators with: chancery operator list',
    })
  await refuseUnusedFile(path)
  const left = operators.filter((each) => each.key_id !== key_id)
  const isLast = found.tier === 'privileged' && !left.some(({ tier }) => tier === 'privileged')
  if (isLast && !options.isSet('force'))
    throw new CommandError({
      code: 'last_privileged_operator',
      message: `${key_id} is the last operator with the tier privileged.`,
      hint: 'Add another one first: chancery operator add ops-2 --create --tier privileged',
    })
  await requireConsent(context, options, `Remove operator ${key_id} from ${path}?`)
  const { public_key, tier } = found
  const removed_at = writeInstant(context.now())
  await saveOperators(path, before, { operators: left, removed: [...removed, { key_id, public_key, removed_at }] })
  const effect = 'A running authority refuses its key from the next request on.'
  return {
    data: { key_id, public_key, tier, file: path, operators: left.length },
    ids: [key_id],
    text: `${context.style.good('Removed')} operator ${key_id}. ${effect} ${plural(left.length, 'operator')} left.`,
  }
}

/** Runs `operator list`. */
export async function runOperatorList(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [keyId] = args.list('key_id')
  if (keyId !== undefined) return showActivity(context, options, keyId)
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(paths.home)
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
    return { data, ids: [], text: 'No operator. Add one with: chancery operator add ops-1 --create --tier privileged' }
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
