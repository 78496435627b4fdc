import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'
import { PROOF } from './records.ts'

/** Runs `disclose nullify`: the verifier stores the nullifier, so the text states its lifetime. */
export async function runDiscloseNullify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { wire } = await loadRecord(cwd, args.required('proof'), PROOF)
  const connection = await connectAsOperator(context, options)
  const { record: mark, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.disclosure.nullifier({ proof: wire })),
  )
  const facts = fields(
    [
      ['mark', mark.nullifier_id],
      ['proof', mark.proof_id],
      ['until', mark.expires_at],
    ],
    style,
  )
  return { data: mark, text: `${style.good('Marked for single use:')}\n${facts}${saved}` }
}
