import { resolve } from 'node:path'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'

/** gateway preflight: what an authority publishes, compared with what was told out of band. */
export async function run({ cwd }: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const rootKey = options.text('root-key')
  if ((rootKey === undefined) !== options.isSet('accept-self-declared-root')) {
    throw misuse('Give --root-key, or --accept-self-declared-root, and not both.')
  }
  const file = (name: string): string | undefined => {
    const given = options.text(name)
    return given === undefined ? undefined : resolve(cwd, given)
  }
  const { commands } = await import('@chancery/gateway')
  try {
    return await commands.preflight({
      origin: options.required('origin'),
      network: options.required('network'),
      authorityKey: options.required('authority-key'),
      rootKey,
      allowHttp: options.isSet('allow-http'),
      reportFile: file('report'),
      fragmentFile: file('policy-fragment'),
      previousFile: file('previous'),
    })
  } catch (error) {
    const lines = commands.expectedLines(error)
    if (lines === undefined) throw error
    throw new Failure({ code: 'gateway_tool_failed', message: lines.join('\n') }, { cause: error })
  }
}
