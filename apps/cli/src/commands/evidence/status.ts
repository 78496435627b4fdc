import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'

/** evidence status */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const status = await connection.ask((client) => client.evidence.status())
  const text = (name: string): string => {
    const value = status[name]
    return typeof value === 'number' ? String(value) : '-'
  }
  const anchor = status['latest_anchor'] as { anchor_sequence: number; anchored_at: string } | null
  const rows: [string, string][] = [
    ['entries', text('entries')],
    ['last sequence', text('last_store_sequence')],
    ['rejected', text('rejections')],
    ['executor keys', text('active_executor_keys')],
    ['removed through', text('retention_checkpoint')],
    ['last anchor', anchor === null ? '-' : `${anchor.anchor_sequence} at ${anchor.anchored_at}`],
    ['not anchored', text('unanchored_entries')],
  ]
  return { data: status, text: fields(rows, context.style) }
}
