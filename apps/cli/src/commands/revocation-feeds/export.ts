import { resolve } from 'node:path'
import { asJson, verifyList, writeJson } from '@chancery/protocol'
import { FOLLOW_HINT, connect, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'

/** Runs `feed export`: prints the feed, or writes it to a file. */
export async function runFeedExport(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const connection = await connect(context, options)
  const feed = await connection.ask((client) => client.revocationFeeds.current())
  const keys = signersAt(connection, feed)
  if (keys !== undefined && !(await verifyList(feed, keys))) {
    throw new CommandError({
      code: 'invalid_signature',
      message: `The feed that ${connection.url} serves is not signed by the authority the genesis block names.`,
      hint: `Do not pass it on. Check --url and paths.genesis. ${FOLLOW_HINT}`,
    })
  }
  const [text, out] = [writeJson(asJson(feed)), options.text('out')]
  if (out === undefined) return { data: feed, text }
  const file = resolve(cwd, out)
  await writeNewFile(file, `${text}\n`, FOR_ALL)
  const rows = fields(
    [
      ['issuer', feed.issuer_sovereign_id],
      ['sequence', String(feed.sequence)],
      ['revoked', String(feed.revoked_attestation_ids.length)],
      ['issued', feed.issued_at],
    ],
    style,
  )
  return { data: feed, text: `${style.good('Written')} to ${typed(cwd, file)}.\n${rows}` }
}
