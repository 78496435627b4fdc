import type { Client, TreatyFilter, TreatyRow } from '@chancery/sdk'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { cutText } from '../../output/cut-text.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'
import { stateText } from './describe.ts'

interface Found {
  readonly rows: readonly TreatyRow[]
  readonly total: number | null | undefined
  readonly isCut: boolean
}

/** Runs `treaty list`: recognised networks, with the end of each treaty. */
export async function runTreatyList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const filter = readFilter(options)
  const connection = await connect(context, options)
  const isAll = options.isSet('all')
  const found = await connection.ask((client) => (isAll ? fetchAll(client, filter) : fetchSome(client, filter, limit)))
  return describe(context, found)
}

function readFilter(options: Options): TreatyFilter {
  const [subject, status, prefix] = [options.text('subject'), options.text('status'), options.text('prefix')]
  // The parser allows these words only.
  const state = options.text('state') as TreatyFilter['lifecycle']
  return {
    ...(subject === undefined ? {} : { subject_sovereign_id: subject }),
    ...(status === undefined ? {} : { status }),
    ...(prefix === undefined ? {} : { q: prefix }),
    ...(state === undefined ? {} : { lifecycle: state }),
    ...(options.isSet('by-end') ? { sort: 'expires_at' } : {}),
  }
}

async function fetchAll(client: Client, filter: TreatyFilter): Promise<Found> {
  const rows: TreatyRow[] = []
  for await (const row of client.recognitionTreaties.all({ ...filter, limit: 1000 })) rows.push(row)
  return { rows, total: rows.length, isCut: false }
}

async function fetchSome(client: Client, filter: TreatyFilter, limit: number): Promise<Found> {
  const page = await client.recognitionTreaties.list({ ...filter, limit })
  const isCut = page.next_cursor !== null && page.next_cursor !== undefined
  return { rows: page.recognition_treaties, total: page.total, isCut }
}

function describe({ style }: CommandContext, { rows, total, isCut }: Found): Result {
  const data = { count: rows.length, total: total ?? null, recognition_treaties: rows }
  if (rows.length === 0) return { data, text: 'No treaty.', ids: [] }
  const lines = rows.map(({ treaty, lifecycle }) => [
    treaty.treaty_id,
    `${treaty.issuer_sovereign_id} ──▶ ${treaty.subject_sovereign_id}`,
    treaty.scope.allowed_roles.join(',') || '-',
    treaty.expires_at,
    stateText(lifecycle),
  ])
  const number = `${rows.length} treat${rows.length === 1 ? 'y' : 'ies'}.`
  const head = ['TREATY', 'RECOGNISES', 'ROLES', 'UNTIL', 'STATE']
  return {
    data,
    ids: rows.map(({ treaty }) => treaty.treaty_id),
    text: `${table(head, lines, style)}\n\n${number}${cutText(isCut, rows.length, total)}`,
  }
}
