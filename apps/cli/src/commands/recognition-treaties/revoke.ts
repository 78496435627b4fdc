import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { foreseeThenAsk } from '../../foresee.ts'
import type { Arguments, Options } from '../../options.ts'
import { forecastLines } from './forecast.ts'

/** treaty revoke: final, so it shows what is lost and asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, reason] = [args.required('id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { forecast, only } = await foreseeThenAsk(context, options, {
    foresee: async () => {
      const data = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason, dryRun: true }))
      return { data, lines: forecastLines(data) }
    },
    question: `End treaty ${visible(id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason }))
  const text = `${context.style.good('Revoked')} treaty ${visible(done.treaty_id)} (${visible(reason)}).`
  return { data: { ...done, reason, forecast: forecast.data }, text }
}
