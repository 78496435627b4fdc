import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields, table } from '../../output/table.ts'

/** Runs `feed status`: the own feed, and the newest imported feed of each issuer. */
export async function runFeedStatus(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connect(context, options)
  const { own_feed: own, revocation_feeds: rows } = await connection.ask((client) => client.dashboard.view())
  const imported = rows.filter(isJsonObject)
  const data = { own_feed: own, imported }
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
