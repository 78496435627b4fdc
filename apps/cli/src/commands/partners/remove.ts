import { visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'

/** Runs `partner remove`: shows the treaties that stay in force, then asks. */
export async function runPartnerRemove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [sovereign, reason] = [args.required('sovereign'), options.textOrDefault('reason')]
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
