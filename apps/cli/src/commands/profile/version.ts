import type { Arguments, Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { packageVersion } from '../../process.ts'

/** Runs `version`. */
export async function runVersion(_context: CommandContext, _args: Arguments, _options: Options): Promise<Result> {
  const [version, node] = [packageVersion(), process.versions.node]
  return { data: { version, node }, text: `chancery ${version}, Node.js ${node}` }
}
