import type { Client, InviteFilter, InvitePreview, InviteRow, InviteWithdrawalRequest } from '@chancery/sdk/authority'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, cutText, table } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Preview, previewThenConfirm } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { visible } from '@chancery/protocol'
import { listRules, removeRule } from '../admission/remove.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'

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
  if (options.isSet('rules')) return listRules(context, connection, filter.state !== 'open')
  const found = await connection.ask((client) => (isAll ? fetchAll(client, filter) : fetchSome(client, filter, limit)))
  const invites = describe(context, found)
  const isNarrow = options.isSet('tokens') || created_by !== undefined || batch_id !== undefined
  if (isNarrow || (filter.state !== 'open' && filter.state !== 'all')) return invites
  const rules = await listRules(context, connection, filter.state === 'all')
  const [ids, text] = [[...(invites.ids ?? []), ...(rules.ids ?? [])], `${invites.text ?? ''}\n\n${rules.text ?? ''}`]
  return { data: { ...invites.data, rules: rules.data?.['rules'] ?? [] }, ids, text }
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

/** Runs `invite withdraw`: withdraws unused invites. */
export async function runInviteWithdraw(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [first, ...others] = args.list('invite')
  if (first !== undefined && !isFingerprint(first)) {
    if (others.length > 0) throw usageError('Name one admission rule at a time.')
    return removeRule(context, options, first)
  }
  const choice = readChoice(args.list('invite'), options)
  const request = { ...choice, reason: options.textOrDefault('reason') }
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: async () =>
      describePreview(
        await connection.ask((client) => client.enrollment.inviteWithdraw({ ...request, dry_run: true })),
      ),
    question: `Withdraw these invites at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.enrollment.inviteWithdraw(request))
  if (done.withdrawn === 0 && done.unknown_fingerprints.length > 0)
    throw new CommandError({
      code: 'invite_not_found',
      message: `No such invite: ${done.unknown_fingerprints.join(', ')}.`,
      hint: 'chancery invite list --state all shows them with their fingerprints.',
    })
  const unknown = unknownText(done.unknown_fingerprints)
  const text = `${context.style.good('Withdrew')} ${invitesText(done.withdrawn)}.${unknown === '' ? '' : `\n${unknown}`}`
  return { data: { ...done, forecast: preview.data }, text }
}

function readChoice(fingerprints: readonly string[], options: Options): InviteWithdrawalRequest {
  const [created_by, batch_id] = [options.text('created-by'), options.text('batch')]
  const given = [fingerprints.length > 0, created_by !== undefined, batch_id !== undefined].filter(Boolean)
  if (given.length !== 1)
    throw usageError(
      'Give fingerprints, --created-by or --batch, one of them.',
      'chancery invite list shows fingerprints, makers and, with --json, batches.',
    )
  if (created_by !== undefined) return { created_by }
  if (batch_id !== undefined) return { batch_id }
  const wrong = fingerprints.find((text) => !isFingerprint(text))
  if (wrong !== undefined)
    throw usageError(
      `${wrong} is no fingerprint of an invite.`,
      'It has 16 digits, 0 to 9 and a to f; never give the token.',
    )
  return { token_fingerprints: fingerprints }
}

function isFingerprint(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text)
}

function describePreview(preview: InvitePreview): Preview {
  const unknown = unknownText(preview.unknown_fingerprints)
  const lines = [
    `${invitesText(preview.open_invites)} could not be used any more. Nodes that joined stay.`,
    ...(unknown === '' ? [] : [unknown]),
  ]
  return { data: preview, lines }
}

function invitesText(count: number): string {
  return `${count} invite${count === 1 ? '' : 's'}`
}

function unknownText(fingerprints: readonly string[]): string {
  return fingerprints.length === 0 ? '' : `Unknown here: ${fingerprints.join(', ')}.`
}
