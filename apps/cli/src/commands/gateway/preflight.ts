import { resolve } from 'node:path'
import { fromBase64 } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Options } from '../../arguments/options.ts'
import { toToolError } from './tools.ts'

/** `partner inspect` with the checks of a gateway: compares the public records of an authority with values received out of band. */
export async function runPreflight({ cwd }: CommandContext, origin: string, options: Options): Promise<Result> {
  const expected = await readExpected(cwd, options)
  const file = (name: string): string | undefined => {
    const given = options.text(name)
    return given === undefined ? undefined : resolve(cwd, given)
  }
  const { commands } = await import('@chancery/gateway')
  try {
    return await commands.preflight({
      origin,
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
  const singly = ['name', 'authority-key', 'root-key', 'trust-first-use']
  if (file !== undefined) {
    const other = singly.find((name) => options.isSet(name))
    if (other !== undefined) throw usageError(`Give --genesis or --${other}, not both.`)
    const block = await loadVerifiedGenesis(resolve(cwd, file))
    const { network_name: network, network_authority, root_public_key: rootKey } = block
    return { network, authorityKey: network_authority.public_key, rootKey }
  }
  const [network, key, rootKey] = [options.text('name'), options.text('authority-key'), options.text('root-key')]
  if (network === undefined || key === undefined) throw usageError('Give --genesis, or --name and --authority-key.')
  if ((rootKey === undefined) !== options.isSet('trust-first-use'))
    throw usageError('Give --root-key, or --trust-first-use, and not both.')
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
