import { resolve } from 'node:path'
import { JsonError, canonicalJson, readJsonBytes } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError } from '../../errors/failure.ts'
import { readBytes } from '../../files/files.ts'
import type { Arguments } from '../../arguments/options.ts'

/** Runs `canonical`: prints the text whose bytes a signature covers. */
export async function runCanonical(context: CommandContext, args: Arguments): Promise<Result> {
  const file = args.required('file')
  try {
    const text = canonicalJson(readJsonBytes(await readBytes(resolve(context.cwd, file))))
    return { text, data: { canonical: text } }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new CommandError(
      { code: 'invalid_json', message: `${file} is not JSON: ${error.message}.` },
      { cause: error },
    )
  }
}
