import type { TrustDecision } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeEvidence } from './describe.ts'

/** Runs `trust-evidence build`: sends the file unchanged; the authority checks it. */
export async function runTrustEvidenceBuild(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const decision = (await loadJsonObject(cwd, args.required('decision'))) as TrustDecision
  const graph_digest = options.text('graph-digest')
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) =>
      client.trustEvidence.issue({ decision, ...(graph_digest === undefined ? {} : { graph_digest }) }),
    ),
  )
  return { data: record, text: `${style.good('Signed:')}\n${describeEvidence(record, style)}${saved}` }
}
