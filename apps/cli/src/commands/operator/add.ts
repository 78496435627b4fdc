import { writeInstant } from '@chancery/protocol'
import { dirname, join } from 'node:path'
import type { OperatorTier, OperatorsFile } from '@chancery/contract'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { replaceServiceFile, typed } from '../../files/files.ts'
import { checkKeyId, loadPublicKey, makeKeyPair } from '../../files/keys.ts'
import {
  NO_OPERATORS,
  loadOperators,
  moveFromSettings,
  operatorsPath,
  readIfExists,
  refuseUnusedFile,
  saveOperators,
  settingsPath,
} from '../../files/operators-file.ts'
import type { Result } from '../../output/screen.ts'

/** Runs `operator add`: the authority reads the changed file with its next request. */
export async function runOperatorAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key_id = checkKeyId(args.required('key_id'))
  const { paths } = await findConfig(context, options)
  const path = operatorsPath(paths.home)
  const { content, moved } = await loadOrMove(path)
  const public_key = await findKey(context, options, key_id, dirname(path))
  refuseListed(content, key_id, public_key, options.isSet('again'))
  const tier = options.textOrDefault('tier') as OperatorTier
  await saveOperators(path, moved === undefined ? content : NO_OPERATORS, {
    operators: [...content.operators, { key_id, public_key, tier, added_at: writeInstant(context.now()) }],
    removed: content.removed.filter((each) => each.key_id !== key_id && each.public_key !== public_key),
  })
  if (moved !== undefined) await replaceServiceFile(moved.settings, moved.text)
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

/** The given key; with --create a new pair, whose private half is for the operator. */
async function findKey(context: CommandContext, options: Options, keyId: string, folder: string): Promise<string> {
  const given = options.text('key')
  if ((given === undefined) !== options.isSet('create')) throw usageError('Give --key <key>, or --create.')
  if (given !== undefined) return loadPublicKey(context.cwd, '--key', given)
  const made = await makeKeyPair({ base: join(folder, 'keys', keyId), keyId })
  context.note(`the private key is ${typed(context.cwd, made.privateFile)}; give it to the operator`)
  return made.publicKey
}

interface Loaded {
  readonly content: OperatorsFile
  /** Set when the operators come from the settings of the authority. */
  readonly moved?: { readonly settings: string; readonly text: string }
}

async function loadOrMove(path: string): Promise<Loaded> {
  try {
    const content = await loadOperators(path)
    await refuseUnusedFile(path)
    return { content }
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'no_operators_file') throw error
    const settings = settingsPath(path)
    const text = await readIfExists(settings)
    const moved = text === undefined ? undefined : moveFromSettings(text, path)
    if (moved === undefined) return { content: NO_OPERATORS }
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
