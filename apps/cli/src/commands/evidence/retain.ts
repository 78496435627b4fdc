import { resolve } from 'node:path'
import { asJson, writeJson } from '@chancery/protocol'
import { requireConsent } from '../../prompts/confirm.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `evidence retain`: removes entries permanently, so it asks first. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const days = wholeNumber(options, 'older-than-days', 1, 36_500) ?? 0
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  await requireConsent(
    context,
    options,
    `Remove evidence older than ${days} days at ${connection.url}? This cannot be undone.`,
  )
  const { removed_count, checkpoint } = await connection.ask((client) => client.evidence.applyRetention(days))
  if (checkpoint === null)
    return { data: { removed_count, checkpoint }, text: 'Nothing was old enough; nothing was removed.' }
  if (file !== undefined) await writeNewFile(file, `${writeJson(asJson(checkpoint))}\n`, FOR_ALL)
  const saved = file === undefined ? '' : `\nCheckpoint written to ${typed(context.cwd, file)}.`
  const text = `${context.style.good('Removed')} ${removed_count} entries, through ${checkpoint.removed_through_sequence}.${saved}`
  return { data: { removed_count, checkpoint: asJson(checkpoint) }, text }
}
