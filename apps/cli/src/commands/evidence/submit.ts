import { asJson, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Result } from '../../output/result.ts'
import { fields } from '../../output/table.ts'

/** Runs `evidence submit`. The file is sent unchanged: a dropped field would break the signature. */
export async function runEvidenceSubmit(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const record = await loadJsonObject(context.cwd, args.required('file'))
  const connection = await connect(context, options)
  const done = await connection.ask((client) => client.evidence.execution({ evidence: record }))
  const rows = fields(
    [
      ['entry', String(done.entry.store_sequence)],
      ['decision', visible(done.entry.decision_id ?? '-')],
      ['resource', visible(done.entry.resource_id ?? '-')],
      ['digest', visible(done.entry_digest)],
    ],
    context.style,
  )
  const title = done.status === 'duplicate' ? 'Stored before, unchanged:' : context.style.good('Stored:')
  return { data: asJson(done), ids: [String(done.entry.store_sequence)], text: `${title}\n${rows}` }
}
