import { type Instant, asJson, visible } from '@chancery/protocol'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { type Result, table } from '../../output/screen.ts'
import { readAll } from '../../connection/read-all.ts'
import type { Client, ListedPartner, PartnerState } from '@chancery/sdk/authority'
import { ago, stateText } from './partners.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'

/** `partner show --treaties`: what the partner reports. */
export async function showReported(context: CommandContext, options: Options, sovereign: string): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { rows, isCut } = await connection.ask((client) =>
    readAll(most, async (size, cursor) => {
      const query = { limit: size, ...(cursor === undefined ? {} : { cursor }) }
      const page = await client.partners.treaties(sovereign, query)
      return { rows: page.treaties, next: page.next_cursor }
    }),
  )
  const data = asJson({ count: rows.length, treaties: rows })
  if (rows.length === 0) return { data, text: 'It reports no treaty.', ids: [] }
  const lines = rows.map(({ treaty, as_of }) => [
    treaty.treaty_id,
    `${treaty.issuer_sovereign_id} ──▶ ${treaty.subject_sovereign_id}`,
    treaty.scope.allowed_roles.join(',') || '-',
    treaty.expires_at,
    as_of ?? '-',
  ])
  const number = `${rows.length} reported treat${rows.length === 1 ? 'y' : 'ies'}, which decide nothing here.`
  const head = ['TREATY', 'RECOGNISES', 'ROLES', 'UNTIL', 'AS OF']
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  return {
    data,
    ids: rows.map(({ treaty }) => treaty.treaty_id),
    text: `${table(head, lines, context.style)}\n\n${number}${more}`,
  }
}

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

/** Runs `partner remove`: shows the treaties that stay in force, then asks. */
export async function runPartnerRemove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [sovereign, reason] = [args.required('partner'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const data = await connection.ask((client) => client.partners.remove(sovereign, { reason, dry_run: true }))
      return { data: { ...data, dry_run: true }, lines: [staysText(context, data.treaties_in_force)] }
    },
    question: `Remove the partner ${visible(sovereign)} at ${connection.url}?`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.partners.remove(sovereign, { reason }))
  return { data: { ...done }, ids: [sovereign], text: `${context.style.good('Removed')} ${visible(sovereign)}.` }
}

function staysText({ again }: CommandContext, treaties: readonly string[]): string {
  if (treaties.length === 0) return 'No own treaty with it is in force. Imported revocations stay.'
  const lines = treaties.map((id) => `  ${again(`chancery treaty revoke ${visible(id)}`)}`)
  return `Imported revocations stay, and these treaties stay in force. To end them:\n${lines.join('\n')}`
}
