import type { InvitePreview, InviteWithdrawalRequest } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Preview, previewThenConfirm } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `invite withdraw`: withdraws unused invites. */
export async function runInviteWithdraw(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const choice = readChoice(args.list('fingerprint'), options)
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
  const wrong = fingerprints.find((text) => !/^[0-9a-f]{16}$/.test(text))
  if (wrong !== undefined)
    throw usageError(
      `${wrong} is no fingerprint of an invite.`,
      'It has 16 digits, 0 to 9 and a to f; never give the token.',
    )
  return { token_fingerprints: fingerprints }
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
