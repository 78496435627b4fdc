import { stat } from 'node:fs/promises'
import { isPlainText, verifyGenesisBlock, verifySuccession } from '@chancery/protocol'
import type { GenesisBlock, KeyHistory } from '@chancery/protocol'
import type { Config } from '../../files/config.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Pin, genesisFingerprint, pinOf, readPin } from '../../files/genesis-file.ts'
import { resolve } from 'node:path'
import type { CommandContext, Input } from '../../context.ts'
import { readText } from '../../files/files.ts'
import type { Options } from '../../arguments/options.ts'

const MAX_CHARACTERS = 4096

/** Returns the invite token: from a file, standard input, or a hidden prompt. Never from the command line. */
export async function readToken(context: CommandContext, options: Options): Promise<string> {
  const file = options.text('token-file')
  const hint = 'Give --token-file <file>, or write the token to standard input.'
  if (file !== undefined && file !== '-')
    return checkToken(await readText(resolve(context.cwd, file)), `${file} does not contain a token.`)
  if (file === undefined && context.isInteractive)
    return checkToken(await context.prompts.secret('Invite token'), 'That is not a token.')
  return checkToken(await readAll(context.stdin), 'No token was given.', hint)
}

/** A token is one word. The error does not repeat the text, because it may be a token in the wrong option. */
function checkToken(text: string, problem: string, hint?: string): string {
  const token = text.trim()
  if (!isPlainText(token, 256) || /\s/.test(token)) throw usageError(problem, hint)
  return token
}

/** Reads a short secret from standard input; a longer input is an error. */
export async function readAll(input: Input): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MAX_CHARACTERS) throw usageError('Standard input contains more than a token.')
  }
  return text
}

export interface PinSources {
  readonly cwd: string
  /** --genesis: a file or a fingerprint. */
  readonly given: string | undefined
  /** Where an earlier join saved the block. */
  readonly saved: string
  readonly config: Config
}

/** Every source that names the network; --genesis stands for the configured one. All must agree with the served block. */
export async function findPins({ cwd, given, saved, config }: PinSources): Promise<readonly Pin[]> {
  const pins: Pin[] = []
  if (given !== undefined) pins.push(await readPin(cwd, given))
  if (await exists(saved)) pins.push(await pinOf(saved))
  const configured = given === undefined ? config.paths.genesis : undefined
  if (configured !== undefined && configured !== saved) pins.push(await pinOf(configured))
  return pins
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Accepts the block of an authority only when its root signed it and no other block is pinned. A later block of the
 * same root, with a history that contains its key, is the same network after a succession.
 */
export async function requirePinned(
  served: GenesisBlock,
  pins: readonly Pin[],
  url: string,
  findHistory: () => Promise<KeyHistory | undefined> = () => Promise.resolve(undefined),
): Promise<void> {
  const verdict = await verifyGenesisBlock(served)
  if (!verdict.ok) {
    throw new CommandError({
      code: verdict.reason,
      message: `The genesis block that ${url} serves does not verify (${verdict.reason}).`,
      hint: 'Nothing was sent. Do not use this address; ask an operator for the right one.',
    })
  }
  const fingerprint = genesisFingerprint(served)
  const others = pins.filter((pin) => pin.fingerprint !== fingerprint)
  let other: Pin | undefined
  for (const pin of others) if (!(await isSucceeded(pin, served, findHistory))) other ??= pin
  if (other === undefined) return
  throw new CommandError({
    code: 'genesis_mismatch',
    message: `${url} is not the authority of the pinned network: its genesis block is ${fingerprint}, but ${other.source} is ${other.fingerprint}.`,
    hint: 'The invite was not sent. To join the other network, use another folder.',
  })
}

async function isSucceeded(
  { block }: Pin,
  served: GenesisBlock,
  findHistory: () => Promise<KeyHistory | undefined>,
): Promise<boolean> {
  const history = block === undefined ? undefined : await findHistory()
  if (block === undefined || history === undefined) return false
  return (await verifySuccession({ genesis: block }, { genesis: served, history })).ok
}
