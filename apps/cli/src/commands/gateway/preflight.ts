import { resolve } from 'node:path'
import { fromBase64 } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { loadPublicKey } from '../../keys.ts'
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
      authorityKey: await keyOf(cwd, 'authority-key', options.required('authority-key')),
      rootKey: rootKey === undefined ? undefined : await keyOf(cwd, 'root-key', rootKey),
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

/** A key in base64 goes on as it is, however weak: that is what the report says. Anything else names a .pub file. */
async function keyOf(cwd: string, flag: string, given: string): Promise<string> {
  return fromBase64(given)?.length === 32 ? given : loadPublicKey(cwd, `--${flag}`, given)
}
