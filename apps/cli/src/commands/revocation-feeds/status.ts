import { type JsonObject, asJson, isJsonObject, verifyList, writeJson } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, connect, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, fields, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { resolve } from 'node:path'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'

/** Runs `partner export-feed`: prints the feed, or writes it to a file. */
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

/** The own feed, and the newest imported feed of each issuer, for `status`. */
export async function feedRows(
  connection: Connection,
  style: Style,
): Promise<{ readonly data: JsonObject; readonly text: string }> {
  const { own_feed: own, revocation_feeds: rows } = await connection.ask((client) => client.dashboard.view())
  const imported = rows.filter(isJsonObject)
  const data = { own_feed: own, imported_feeds: imported }
  const ownText =
    own === null
      ? '  not signed yet'
      : fields(
          [
            ['sequence', String(own.sequence)],
            ['age', hours(own.age_hours)],
            ['ids', `${own.total_ids} of at most ${own.capacity}, ${own.ids} of them in the plain form`],
            ['pruned', own.pruned === null ? 'more than 10000' : String(own.pruned)],
            ['parts', String(own.parts)],
          ],
          style,
        )
  const importedText =
    imported.length === 0
      ? '  none'
      : table(['issuer', 'sequence', 'revoked', 'age', 'complete'], imported.map(toRow), style)
  const text = [style.title('Own feed'), ownText, style.title('Imported feeds'), importedText].join('\n')
  return { data, text }
}

function toRow(row: JsonObject): readonly string[] {
  const { issuer_sovereign_id: issuer, sequence, revoked_count: count, age_hours: age, complete } = row
  return [
    typeof issuer === 'string' ? issuer : '?',
    typeof sequence === 'number' ? String(sequence) : '?',
    typeof count === 'number' ? String(count) : '?',
    typeof age === 'number' ? hours(age) : '?',
    complete === false ? 'no' : 'yes',
  ]
}

function hours(value: number): string {
  return value === 0 ? 'less than 1 h' : `${value} h`
}
