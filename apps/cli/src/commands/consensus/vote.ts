import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeVote } from './describe.ts'
import { JUSTIFICATION } from './records.ts'

/** Runs `consensus vote`. With --json it prints the signed vote. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { wire } = await loadRecord(cwd, args.required('justification'), JUSTIFICATION)
  const reason = options.text('reason')
  const request = {
    justification_proof: wire,
    vote: args.required('vote') === 'approve',
    ...(reason === undefined ? {} : { reason }),
  }
  const connection = await connectAsOperator(context, options)
  const { record: vote, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.consensus.vote(request)),
  )
  return { data: vote, text: `${style.good('Voted:')}\n${describeVote(vote, style)}${saved}` }
}
