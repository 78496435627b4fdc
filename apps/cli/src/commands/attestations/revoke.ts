import { visible } from '@chancery/protocol'
import type { AttestationPreview } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { type Preview, countedText, previewThenConfirm } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

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
  const text = `${context.style.good('Revoked')} attestation ${visible(done.attestation_id)}.\nPartner networks refuse it after they import the feed: ${context.again('chancery feed export')}`
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
