import { RefusedError } from '@chancery/sdk'
import type { AttestationFilter, AttestationPreview, AttestationRow, Client } from '@chancery/sdk/authority'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, cutText, table } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { visible } from '@chancery/protocol'
import { type Preview, countedText, previewThenConfirm } from '../../prompts/preview.ts'

/** Runs `attestation revoke`: permanent, so it shows a preview and asks first. */
export async function runAttestationRevoke(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const [id, reason] = [args.required('id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: async () =>
      describePreview(await connection.ask((client) => client.attestations.revoke(id, { reason, dry_run: true }))),
    question: `Revoke attestation ${visible(id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.attestations.revoke(id, { reason }))
  const text = `${context.style.good('Revoked')} attestation ${visible(done.attestation_id)}.\nPartner networks refuse it after they import the feed: ${context.again('chancery partner export-feed')}`
  return { data: { ...done, forecast: preview.data }, ids: [done.attestation_id], text }
}

function describePreview(preview: AttestationPreview): Preview {
  const { attestation_id: id, would_change: wouldChange, accepting_sovereigns: accepting } = preview
  if (!wouldChange)
    return { data: preview, lines: [`Attestation ${visible(id)} is ${visible(preview.status)} already.`] }
  const lines = [
    `Would stop being accepted: ${countedText(preview.attestations_no_longer_accepted, 'attestation')}`,
    `Recognised by: ${countedText(accepting, 'sovereign')}`,
    'Other networks may recognise it by treaties that are not stored here.',
  ]
  return { data: preview, lines }
}

interface Found {
  readonly count: number
  /** Undefined when unauthenticated callers get only the count. */
  readonly rows: readonly AttestationRow[] | undefined
  readonly total: number | null | undefined
  readonly isCut: boolean
}

/** Runs `attestation list`: public if the network allows it, else with --signed. */
export async function runAttestationList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const isSigned = options.isSet('signed')
  const [subject, status] = [options.text('subject'), options.text('state')]
  const filter = {
    ...(subject === undefined ? {} : { subject_id: subject }),
    ...(status === undefined ? {} : { status }),
  }
  const connection = await (isSigned ? connectAsOperator : connect)(context, options)
  const found = await connection
    .ask((client) => fetchRows(client, filter, limit, { isAll: options.isSet('all'), isSigned }))
    .catch((error: unknown) => {
      if (isSigned || !(error instanceof RefusedError) || error.code !== 'admin_auth_failed') throw error
      const message = 'This network names its members to operators only.'
      throw new CommandError({ code: error.code, message, hint: 'Add --signed and an operator key.' }, { cause: error })
    })
  return describe(context, found)
}

async function fetchRows(
  client: Client,
  filter: AttestationFilter,
  limit: number,
  { isAll, isSigned }: { readonly isAll: boolean; readonly isSigned: boolean },
): Promise<Found> {
  const signed = isSigned ? { asOperator: true as const } : {}
  const first = await client.attestations.list({ ...filter, limit: isAll ? 1000 : limit }, signed)
  if (first.attestations === undefined) return { count: first.count, rows: undefined, total: first.count, isCut: false }
  const isMore = first.next_cursor !== null && first.next_cursor !== undefined
  if (!isAll || !isMore) return { count: first.count, rows: first.attestations, total: first.total, isCut: isMore }
  const rows: AttestationRow[] = []
  for await (const row of client.attestations.all({ ...filter, limit: 1000 }, signed)) rows.push(row)
  return { count: rows.length, rows, total: rows.length, isCut: false }
}

function describe({ style }: CommandContext, { count, rows, total, isCut }: Found): Result {
  const number = `${count} attestation${count === 1 ? '' : 's'}`
  if (rows === undefined) {
    const text = `${number}. Only operators can list them: add --signed.`
    return { data: { count }, text }
  }
  const data = { count, total: total ?? null, attestations: rows }
  if (rows.length === 0) return { data, text: 'No attestation.', ids: [] }
  const lines = rows.map(({ attestation, status }) => [
    attestation.attestation_id,
    attestation.subject_id,
    attestation.roles.join(','),
    status,
    attestation.expires_at,
  ])
  const head = ['ATTESTATION', 'SUBJECT', 'ROLES', 'STATUS', 'UNTIL']
  return {
    data,
    ids: rows.map(({ attestation }) => attestation.attestation_id),
    text: `${table(head, lines, style)}\n\n${number}.${cutText(isCut, count, total)}`,
  }
}
