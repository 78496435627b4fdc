import { writeInstant } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findConfig } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { checkKeyId } from '../../files/keys.ts'
import { loadOperators, operatorsPath, refuseUnusedFile, saveOperators } from '../../files/operators-file.ts'
import { plural } from '../../output/plural.ts'
import type { Result } from '../../output/result.ts'
import { requireConsent } from '../../prompts/confirm.ts'

/** Runs `operator remove`: the authority reads the changed file with its next request. */
export async function runOperatorRemove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key_id = checkKeyId(args.required('key_id'))
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(context.cwd, options.text('file'), paths.home)
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
      hint: 'Add another one first: chancery operator add <key_id> --key <file> --tier privileged. Or add --force.',
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
