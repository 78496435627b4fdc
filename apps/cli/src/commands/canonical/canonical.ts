import { resolve } from 'node:path'
import { JsonError, canonicalJson, readJsonBytes } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { readBytes } from '../../files.ts'
import type { Arguments } from '../../options.ts'

/** canonical: the text whose bytes a signature would cover. */
export async function run(context: CommandContext, args: Arguments): Promise<Result> {
  const file = args.required('file')
  try {
    const text = canonicalJson(readJsonBytes(await readBytes(resolve(context.cwd, file))))
    return { text, data: { canonical: text } }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new Failure({ code: 'invalid_json', message: `${file} is not JSON: ${error.message}.` }, { cause: error })
  }
}
