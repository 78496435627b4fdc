import { resolve } from 'node:path'
import { isPlainText } from '@chancery/protocol'
import type { CommandContext, Input } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import type { Options } from '../../arguments/options.ts'

const MAX_CHARACTERS = 4096

/** Returns the invite token from the safest source: a file, standard input, a hidden prompt, last the command line. */
export async function readToken(context: CommandContext, options: Options): Promise<string> {
  const [given, file] = [options.text('token'), options.text('token-file')]
  if (given !== undefined && file !== undefined) throw usageError('Give --token or --token-file, not both.')
  if (file !== undefined)
    return checkToken(await readText(resolve(context.cwd, file)), `${file} does not contain a token.`)
  if (given !== undefined) {
    context.note('the token is in the shell history and in the list of processes; next time use --token-file')
    return checkToken(given, '--token is not a token.')
  }
  if (context.isInteractive) return checkToken(await context.prompts.secret('Invite token'), 'That is not a token.')
  const hint = 'Give --token-file <file>, or write the token to standard input.'
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
