import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'

/** evidence status */
export async function runEvidenceStatus(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const status = await connection.ask((client) => client.evidence.status())
  const { latest_anchor: anchor } = status
  const text = (value: number | null): string => String(value ?? '-')
  const rows: [string, string][] = [
    ['entries', text(status.entries)],
    ['last sequence', text(status.last_store_sequence)],
    ['rejected', text(status.rejections)],
    ['executor keys', text(status.active_executor_keys)],
    ['removed through', text(status.retention_checkpoint)],
    ['last anchor', anchor === null ? '-' : `${anchor.anchor_sequence} at ${anchor.anchored_at}`],
    ['not anchored', text(status.unanchored_entries)],
  ]
  return { data: status, text: fields(rows, context.style) }
}
