import type { TrustDecision } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadJsonObject } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeEvidence } from './describe.ts'

/** trust-evidence build: the file is sent as it is; what is wrong with it the authority says. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const decision = (await loadJsonObject(cwd, args.required('decision'))) as TrustDecision
  const graph_digest = options.text('graph-digest')
  const connection = await connectAsOperator(context, options)
  const { record, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) =>
      client.trustEvidence.issue({ decision, ...(graph_digest === undefined ? {} : { graph_digest }) }),
    ),
  )
  return { data: record, text: `${style.good('Signed:')}\n${describeEvidence(record, style)}${kept}` }
}
