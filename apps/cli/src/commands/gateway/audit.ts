import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { auditFormat } from '../../arguments/audit-format.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import { withGateway } from './maintain.ts'

/** Runs `gateway audit verify`, `gateway audit export` and `gateway audit prune`. */
export async function runGatewayAuditVerify(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { stdout, command } = context
  return withGateway(options, async ({ audit }, settings): Promise<Result> => {
    const action = command.path.at(-1)
    if (action === 'verify') return audit.verify(settings)
    if (action === 'prune') return audit.prune(settings, wholeNumber(options, 'older-than-days', 0, 36_500) ?? 0)
    const write = async (lines: string): Promise<void> => {
      // Waits for a slow reader, because the events of a year do not fit into memory.
      if (!stdout.write(lines)) await stdout.drained()
    }
    return audit.export(settings, write, auditFormat(options))
  })
}
