import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { auditFormat } from '../../arguments/audit-format.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withGateway } from './maintain.ts'

/** Runs `gateway audit verify` and `gateway audit export`. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { stdout, command } = context
  return withGateway(options, async ({ audit }, settings): Promise<Result> => {
    if (command.path.at(-1) === 'verify') return audit.verify(settings)
    const write = async (lines: string): Promise<void> => {
      // Waits for a slow reader, because the events of a year do not fit into memory.
      if (!stdout.write(lines)) await stdout.drained()
    }
    return audit.export(settings, write, auditFormat(options))
  })
}
