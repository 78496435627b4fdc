import { type Instant, asJson } from '@chancery/protocol'
import type { Client, ListedPartner, PartnerState } from '@chancery/sdk'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'
import { ago, stateText } from './describe.ts'
import { readAll } from '../../connection/read-all.ts'

/** Runs `partner list`. */
export async function runPartnerList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const state = options.text('state') as PartnerState | undefined
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { rows, isCut } = await connection.ask((client) => fetchRows(client, state, most))
  const data = asJson({ count: rows.length, partners: rows })
  if (rows.length === 0) return { data, text: 'No partner.', ids: [] }
  const lines = rows.map((row) => lineOf(row, context.now()))
  const head = ['PARTNER', 'STATE', 'LAST PULL', 'OUTCOME', 'FEED', 'IMPORT', 'TREATIES', 'ADDRESS']
  const number = `${rows.length} partner${rows.length === 1 ? '' : 's'}.`
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  return {
    data,
    ids: rows.map((row) => row.sovereign_id),
    text: `${table(head, lines, context.style)}\n\n${number}${more}`,
  }
}

function fetchRows(
  client: Client,
  state: PartnerState | undefined,
  most: number,
): Promise<{ readonly rows: readonly ListedPartner[]; readonly isCut: boolean }> {
  return readAll(most, async (limit, cursor) => {
    const page = await client.partners.list({
      limit,
      ...(state === undefined ? {} : { state }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    return { rows: page.partners, next: page.next_cursor }
  })
}

function lineOf(row: ListedPartner, now: Instant): readonly string[] {
  return [
    row.sovereign_id,
    stateText(row),
    row.last_pull === null ? '-' : ago(row.last_pull.at, now),
    row.last_pull?.outcome ?? '-',
    row.feed === null ? '-' : String(row.feed.sequence),
    row.import_feeds,
    row.treaties === null ? '-' : String(row.treaties.active),
    row.url,
  ]
}
