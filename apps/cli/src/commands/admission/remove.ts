import { visible } from '@chancery/protocol'
import type { RemovedRule } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { plural } from '../../output/plural.ts'
import type { Result } from '../../output/result.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'

const SHOWN = 10

/** Runs `admission remove`: shows the certificates that stay valid, then asks. */
export async function runAdmissionRemove(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [rule_id, reason] = [args.required('rule_id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const data = await connection.ask((client) => client.admission.remove(rule_id, { reason, dry_run: true }))
      return {
        data: { ...data },
        lines: ['No node could join or renew by this rule any more.', staysText(context, data)],
      }
    },
    question: `Remove the rule ${visible(rule_id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.admission.remove(rule_id, { reason }))
  return {
    data: { ...done },
    ids: done.certificates,
    text: `${context.style.good('Removed')} ${visible(rule_id)}.\n${staysText(context, done)}`,
  }
}

function staysText({ again }: CommandContext, { valid_certificates: count, certificates, more }: RemovedRule): string {
  if (count === 0) return 'No certificate of it is valid.'
  const named = certificates.slice(0, SHOWN).map((id) => `  ${again(`chancery revoke ${visible(id)}`)}`)
  const rest = more || count > SHOWN ? ['  The rest are in --json.'] : []
  const number = more ? `More than ${count} certificates` : plural(count, 'certificate')
  return [
    `${number} of it ${count === 1 ? 'stays valid until it ends' : 'stay valid until they end'}. To end now:`,
    ...named,
    ...rest,
  ].join('\n')
}
