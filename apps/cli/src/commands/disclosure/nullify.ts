import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadRecord } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { PROOF } from './records.ts'

/** disclose nullify: the verifier remembers the mark, so the text says for how long. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { wire } = await loadRecord(cwd, args.required('proof'), PROOF)
  const connection = await connectAsOperator(context, options)
  const { record: mark, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.disclosure.nullify({ proof: wire })),
  )
  const facts = fields(
    [
      ['mark', mark.nullifier_id],
      ['proof', mark.proof_id],
      ['until', mark.expires_at],
    ],
    style,
  )
  return { data: mark, text: `${style.good('Marked for single use:')}\n${facts}${kept}` }
}
