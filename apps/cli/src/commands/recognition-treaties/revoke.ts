import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { previewLines } from './preview.ts'

/** Runs `treaty revoke`: permanent, so it shows a preview and asks first. */
export async function runTreatyRevoke(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, reason] = [args.required('id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const data = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason, dry_run: true }))
      return { data, lines: previewLines(data) }
    },
    question: `End treaty ${visible(id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason }))
  const text = `${context.style.good('Revoked')} treaty ${visible(done.treaty_id)} (${visible(reason)}).`
  return { data: { ...done, reason, forecast: preview.data }, ids: [done.treaty_id], text }
}
