import { resolve } from 'node:path'
import { verifyGenesisBlock, visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { loadGenesis } from '../../files/genesis-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeGenesis, windowOf } from './describe.ts'

const REASONS = {
  missing_signature: 'it carries no signature. Sign it with: chancery genesis sign',
  invalid_signature: 'a signature is not that of its root key. Do not use it',
  root_key_reused: 'root and authority key are the same. Make a block with two keys',
} as const

/** Runs `genesis verify`; the exit code is 1 when the block is not valid. */
export async function runGenesisVerify(context: CommandContext, args: Arguments, _options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, args.required('file'))
  const shown = visible(typed(cwd, file))
  const block = await loadGenesis(file).catch((error: unknown) => {
    if (error instanceof CommandError && error.code === 'invalid_genesis') return error
    throw error
  })
  if (block instanceof CommandError) {
    const data = { valid: false, reason: 'malformed', message: block.message }
    return { data, text: `${style.bad('Not valid:')} ${visible(block.message)}`, exitCode: 1 }
  }
  const verdict = await verifyGenesisBlock(block)
  const facts = describeGenesis(block, context.now(), style)
  if (!verdict.ok) {
    const text = `${style.bad('Not valid:')} ${shown}: ${REASONS[verdict.reason]}.\n${facts}`
    return { data: { valid: false, reason: verdict.reason }, text, exitCode: 1 }
  }
  const data = { valid: true, window: windowOf(block, context.now()), genesis: block }
  const hint = 'It proves only that its root key signed it: compare that key with the one you were given.'
  return { data, text: `${style.good('Valid:')} ${shown}\n${facts}\n\n${hint}` }
}
