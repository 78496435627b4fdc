import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadRecord } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeCommitment } from './describe.ts'
import { AGREEMENT } from './records.ts'

/** disclose commit: what it prints with --json is the signed record itself. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('agreement'), AGREEMENT)
  const chosen = options.list('capability')
  const capabilities = chosen.length === 0 ? record.agreed_terms.capabilities : chosen
  const connection = await connectAsOperator(context, options)
  const { record: commitment, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.disclosure.commit({ capabilities, agreement: wire })),
  )
  return { data: commitment, text: `${style.good('Committed:')}\n${describeCommitment(commitment, style)}${kept}` }
}
