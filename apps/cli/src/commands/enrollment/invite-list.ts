import { visible } from '@chancery/protocol'
import type { Client, InviteFilter, InviteRow } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { cutText } from '../../output/cut-text.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

interface Found {
  readonly rows: readonly InviteRow[]
  readonly total: number | null | undefined
  readonly isCut: boolean
}

/** Runs `invite list`: lists invites by the fingerprints of their tokens. */
export async function runInviteList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const [created_by, batch_id] = [options.text('created-by'), options.text('batch')]
  const filter = {
    state: options.textOrDefault('state') as NonNullable<InviteFilter['state']>,
    ...(created_by === undefined ? {} : { created_by }),
    ...(batch_id === undefined ? {} : { batch_id }),
  }
  const connection = await connectAsOperator(context, options)
  const isAll = options.isSet('all')
  const found = await connection.ask((client) => (isAll ? fetchAll(client, filter) : fetchSome(client, filter, limit)))
  return describe(context, found)
}

async function fetchAll(client: Client, filter: InviteFilter): Promise<Found> {
  const rows: InviteRow[] = []
  for await (const row of client.enrollment.allInvites({ ...filter, limit: 1000 })) rows.push(row)
  return { rows, total: rows.length, isCut: false }
}

async function fetchSome(client: Client, filter: InviteFilter, limit: number): Promise<Found> {
  const page = await client.enrollment.inviteList({ ...filter, limit })
  const isCut = page.next_cursor !== null && page.next_cursor !== undefined
  return { rows: page.invites, total: page.total, isCut }
}

function describe({ style }: CommandContext, { rows, total, isCut }: Found): Result {
  const data = { count: rows.length, total: total ?? null, invites: rows }
  if (rows.length === 0) return { data, text: 'No invite.', ids: [] }
  const lines = rows.map((row) =>
    [
      row.token_fingerprint,
      row.state,
      row.roles.join(','),
      row.created_by ?? '-',
      row.created_at,
      row.used_at ?? row.withdrawn_at ?? row.expires_at,
    ].map((text) => visible(text)),
  )
  const head = ['FINGERPRINT', 'STATE', 'ROLES', 'MADE BY', 'MADE AT', 'END']
  const number = `${rows.length} invite${rows.length === 1 ? '' : 's'}.`
  return {
    data,
    ids: rows.map((row) => row.token_fingerprint),
    text: `${table(head, lines, style)}\n\n${number}${cutText(isCut, rows.length, total)}`,
  }
}
