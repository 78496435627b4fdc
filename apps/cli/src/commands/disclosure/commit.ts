import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeCommitment } from './describe.ts'
import { AGREEMENT } from './records.ts'

/** Runs `disclose commit`. With --json it prints the signed record. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('agreement'), AGREEMENT)
  const chosen = options.list('capability')
  const capabilities = chosen.length === 0 ? record.agreed_terms.capabilities : chosen
  const connection = await connectAsOperator(context, options)
  const { record: commitment, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.disclosure.commit({ capabilities, agreement: wire })),
  )
  return { data: commitment, text: `${style.good('Committed:')}\n${describeCommitment(commitment, style)}${saved}` }
}
