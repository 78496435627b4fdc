import { resolve } from 'node:path'
import { fromBase64 } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { loadVerifiedGenesis } from '../../genesis-file.ts'
import { loadPublicKey } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'

/** gateway preflight: what an authority publishes, compared with what was told out of band. */
export async function run({ cwd }: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const told = await readTold(cwd, options)
  const file = (name: string): string | undefined => {
    const given = options.text(name)
    return given === undefined ? undefined : resolve(cwd, given)
  }
  const { commands } = await import('@chancery/gateway')
  try {
    return await commands.preflight({
      origin: options.required('origin'),
      ...told,
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

interface Told {
  readonly network: string
  readonly authorityKey: string
  readonly rootKey: string | undefined
}

/** One by one, or out of a genesis block; the block may be from before a key succession. */
async function readTold(cwd: string, options: Options): Promise<Told> {
  const file = options.text('genesis')
  const singly = ['network', 'authority-key', 'root-key', 'accept-self-declared-root']
  if (file !== undefined) {
    const other = singly.find((name) => options.isSet(name))
    if (other !== undefined) throw misuse(`Give --genesis or --${other}, not both.`)
    const block = await loadVerifiedGenesis(resolve(cwd, file))
    const { network_name: network, network_authority, root_public_key: rootKey } = block
    return { network, authorityKey: network_authority.public_key, rootKey }
  }
  const [network, key, rootKey] = [options.text('network'), options.text('authority-key'), options.text('root-key')]
  if (network === undefined || key === undefined) throw misuse('Give --genesis, or --network and --authority-key.')
  if ((rootKey === undefined) !== options.isSet('accept-self-declared-root'))
    throw misuse('Give --root-key, or --accept-self-declared-root, and not both.')
  return {
    network,
    authorityKey: await keyOf(cwd, 'authority-key', key),
    rootKey: rootKey === undefined ? undefined : await keyOf(cwd, 'root-key', rootKey),
  }
}

/** A key in base64 goes on as it is, however weak: that is what the report says. Anything else names a .pub file. */
async function keyOf(cwd: string, flag: string, given: string): Promise<string> {
  return fromBase64(given)?.length === 32 ? given : loadPublicKey(cwd, `--${flag}`, given)
}
