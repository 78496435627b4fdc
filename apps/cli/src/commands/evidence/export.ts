import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { OWNER_ONLY, refuseExisting, toFailure, typed } from '../../files/files.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { plural } from '../../output/plural.ts'

/**
 * Runs `evidence export`: writes page after page into a file that only the owner can read, because it names members.
 */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, options.required('out'))
  await refuseExisting([file])
  const since = wholeNumberOrDefault(options, 'since', 0, Number.MAX_SAFE_INTEGER)
  const connection = await connectAsOperator(context, options)
  const handle = await open(file, 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw toFailure(error, file, 'written')
  })
  let count = 0
  try {
    await withProgress(context, 'Exporting', async (progress) => {
      let waiting: string[] = []
      for await (const line of connection.client().evidence.export(since)) {
        waiting.push(`${line}\n`)
        count += 1
        if (waiting.length < 1000) continue
        await handle.appendFile(waiting.join(''))
        waiting = []
        progress.update(`Exported ${plural(count, 'entry', 'entries')}`)
      }
      await handle.appendFile(waiting.join(''))
    })
    await handle.sync()
  } finally {
    await handle.close()
  }
  const entries = `${count} ${count === 1 ? 'entry' : 'entries'}`
  const text = `${style.good('Exported')} ${entries} to ${typed(cwd, file)}.\nVerify it: chancery evidence verify ${typed(cwd, file)}`
  return { data: { entries: count, file }, text }
}
