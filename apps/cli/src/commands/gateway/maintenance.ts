import { resolve } from 'node:path'
import { fromBase64 } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { toToolError } from './doctor.ts'
import { readAll } from '../enrollment/pin.ts'

/** Runs `gateway token new` and `gateway token digest`. */
export async function runGateway(context: CommandContext, _args: Arguments): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  if (context.command.path.at(-1) === 'new') return commands.newToken()
  return commands.tokenDigest((await readAll(context.stdin)).trim())
}

/** Runs `gateway preflight`: compares the public records of an authority with values received out of band. */
export async function runGatewayPreflight(
  { cwd }: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const expected = await readExpected(cwd, options)
  const file = (name: string): string | undefined => {
    const given = options.text(name)
    return given === undefined ? undefined : resolve(cwd, given)
  }
  const { commands } = await import('@chancery/gateway')
  try {
    return await commands.preflight({
      origin: options.required('origin'),
      ...expected,
      allowHttp: options.isSet('allow-http'),
      reportFile: file('report'),
      fragmentFile: file('policy-fragment'),
      previousFile: file('previous'),
    })
  } catch (error) {
    throw toToolError(error, commands)
  }
}

interface ExpectedNetwork {
  readonly network: string
  readonly authorityKey: string
  readonly rootKey: string | undefined
}

/** From single options, or from a genesis block, which may be older than a key succession. */
async function readExpected(cwd: string, options: Options): Promise<ExpectedNetwork> {
  const file = options.text('genesis')
  const singly = ['network', 'authority-key', 'root-key', 'accept-self-declared-root']
  if (file !== undefined) {
    const other = singly.find((name) => options.isSet(name))
    if (other !== undefined) throw usageError(`Give --genesis or --${other}, not both.`)
    const block = await loadVerifiedGenesis(resolve(cwd, file))
    const { network_name: network, network_authority, root_public_key: rootKey } = block
    return { network, authorityKey: network_authority.public_key, rootKey }
  }
  const [network, key, rootKey] = [options.text('network'), options.text('authority-key'), options.text('root-key')]
  if (network === undefined || key === undefined) throw usageError('Give --genesis, or --network and --authority-key.')
  if ((rootKey === undefined) !== options.isSet('accept-self-declared-root'))
    throw usageError('Give --root-key, or --accept-self-declared-root, and not both.')
  return {
    network,
    authorityKey: await keyOf(cwd, 'authority-key', key),
    rootKey: rootKey === undefined ? undefined : await keyOf(cwd, 'root-key', rootKey),
  }
}

/** Accepts any base64 key, also a weak one, because the report covers it. Any other text is the name of a .pub file. */
async function keyOf(cwd: string, flag: string, given: string): Promise<string> {
  return fromBase64(given)?.length === 32 ? given : loadPublicKey(cwd, `--${flag}`, given)
}
