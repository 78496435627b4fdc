import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SUBJECT_KINDS, writeTrustHistoryPage } from '@chancery/protocol'
import { usageError } from '../../errors/failure.ts'
import type { Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { OWNER_ONLY, refuseExisting, toFailure, typed } from '../../files/files.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'

/** `record history --all`: writes page after page. The statements are verified when the archive is used. */
export async function writeHistory(context: CommandContext, options: Options): Promise<Result> {
  const { cwd, style } = context
  const out = options.text('out')
  if (out === undefined) throw usageError('--all needs --out, the file of the history.')
  const file = resolve(cwd, out)
  await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const handle = await open(file, 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw toFailure(error, file, 'written')
  })
  let records = 0
  try {
    await withProgress(context, 'Writing', async (progress) => {
      const client = await connection.client()
      for (const kind of SUBJECT_KINDS) {
        let cursor: string | null = null
        do {
          const query: { kind: typeof kind; cursor?: string } = cursor === null ? { kind } : { kind, cursor }
          const answer = await client.history.archive(query)
          await handle.appendFile(writeTrustHistoryPage(answer.page))
          records += answer.count
          cursor = answer.next_cursor
          progress.update(`Wrote ${plural(records, 'record')}`)
        } while (cursor !== null)
      }
    })
    await handle.sync()
  } finally {
    await handle.close()
  }
  const name = typed(cwd, file)
  const text = [
    `${style.good('Written:')} ${name}, with ${plural(records, 'record')}.`,
    `It answers without a network: record history with --offline ${name}.`,
  ]
  return { data: { records, file }, text: text.join('\n') }
}
