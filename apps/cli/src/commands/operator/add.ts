import { dirname, join } from 'node:path'
import { writeInstant } from '@chancery/protocol'
import type { OperatorTier, OperatorsFile } from '@chancery/contract'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findConfig } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, errorCode, readText, replaceFile, typed } from '../../files/files.ts'
import { checkKeyId, loadPublicKey } from '../../files/keys.ts'
import { loadOperators, moveFromSettings, operatorsPath, saveOperators } from '../../files/operators-file.ts'
import type { Result } from '../../output/result.ts'

/** Runs `operator add`: the authority reads the changed file with its next request. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key_id = checkKeyId(args.required('key_id'))
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(context.cwd, options.text('file'), paths.home)
  const { content, moved } = await loadOrMove(path)
  const public_key = await loadPublicKey(context.cwd, '--key', options.required('key'))
  refuseListed(content, key_id, public_key, options.isSet('again'))
  const tier = options.textOrDefault('tier') as OperatorTier
  await saveOperators(path, {
    operators: [...content.operators, { key_id, public_key, tier, added_at: writeInstant(context.now()) }],
    removed: content.removed.filter((each) => each.key_id !== key_id && each.public_key !== public_key),
  })
  if (moved !== undefined) await replaceFile(moved.settings, moved.text, OWNER_ONLY)
  const { style, cwd } = context
  const effect =
    moved === undefined
      ? 'A running authority accepts it from its next request on.'
      : `The operators are in ${typed(cwd, path)} now. Restart the authority once, so that it reads this file.`
  return {
    data: { key_id, public_key, tier, file: path, restart: moved !== undefined },
    ids: [key_id],
    text: `${style.good('Added')} operator ${key_id} (${tier}). ${effect}`,
  }
}

interface Loaded {
  readonly content: OperatorsFile
  /** Set when the operators come from the settings of the authority. */
  readonly moved?: { readonly settings: string; readonly text: string }
}

async function loadOrMove(path: string): Promise<Loaded> {
  try {
    return { content: await loadOperators(path) }
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'no_operators_file') throw error
    const settings = join(dirname(path), 'authority.env')
    const text = await readText(settings).catch((problem: unknown) => {
      if (problem instanceof CommandError && errorCode(problem.cause) === 'ENOENT') return undefined
      throw problem
    })
    const moved = text === undefined ? undefined : moveFromSettings(text, path)
    if (moved === undefined) return { content: { operators: [], removed: [] } }
    return { content: { operators: moved.operators, removed: [] }, moved: { settings, text: moved.text } }
  }
}

function refuseListed(content: OperatorsFile, key_id: string, public_key: string, isAgain: boolean): void {
  const listed = content.operators.find((each) => each.key_id === key_id || each.public_key === public_key)
  if (listed !== undefined)
    throw new CommandError({
      code: 'operator_exists',
      message:
        listed.key_id === key_id
          ? `${key_id} is an operator already.`
          : `This key is operator ${listed.key_id} already.`,
      hint: 'List the operators with: chancery operator list',
    })
  const removed = content.removed.find((each) => each.key_id === key_id || each.public_key === public_key)
  if (removed === undefined || isAgain) return
  throw new CommandError({
    code: 'operator_removed_before',
    message: `${removed.key_id} was removed on ${removed.removed_at}, with this id or key.`,
    hint: 'Give the person a new key and a new id. If the former key is still safe, add --again.',
  })
}
