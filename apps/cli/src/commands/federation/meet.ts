import { instantOf, verifyGenesisBlock, visible } from '@chancery/protocol'
import type { GenesisBlock, JsonObject } from '@chancery/protocol'
import type { SovereignMetadata } from '@chancery/sdk'
import { openForeign } from '../../connection.ts'
import type { CommandContext } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { genesisFingerprint, readPin } from '../../genesis-file.ts'
import type { Pin } from '../../genesis-file.ts'
import { loadPublicKey } from '../../keys.ts'
import type { Options } from '../../options.ts'

/** What somebody told us about the other sovereign by another way than its own address. */
export interface ForeignPins {
  readonly rootKey: string | undefined
  readonly genesis: Pin | undefined
}

export async function readForeignPins({ cwd }: CommandContext, options: Options): Promise<ForeignPins> {
  const [key, genesis] = [options.text('root-key'), options.text('genesis')]
  return {
    rootKey: key === undefined ? undefined : await loadPublicKey(cwd, '--root-key', key),
    genesis: genesis === undefined ? undefined : await readPin(cwd, genesis),
  }
}

export interface Met {
  readonly address: string
  readonly genesis: GenesisBlock
  readonly metadata: SovereignMetadata
  readonly fingerprint: string
}

export async function meet(context: CommandContext, address: string): Promise<Met> {
  const foreign = openForeign(context, address)
  const genesis = await foreign.ask((client) => client.sovereign.genesis())
  const metadata = await foreign.ask((client) => client.sovereign.metadata())
  return { address: foreign.url, genesis, metadata, fingerprint: genesisFingerprint(genesis) }
}

export interface Problem {
  readonly code: string
  readonly message: string
}

/** Everything that speaks against a sovereign; an empty list is no reason to trust it without a pin. */
export async function problemsOf(context: CommandContext, met: Met, pins: ForeignPins): Promise<readonly Problem[]> {
  const { genesis, metadata, fingerprint } = met
  const problems: Problem[] = []
  const verdict = await verifyGenesisBlock(genesis)
  if (!verdict.ok)
    problems.push({ code: verdict.reason, message: `its genesis block does not verify (${verdict.reason})` })
  if (pins.rootKey !== undefined && pins.rootKey !== genesis.root_public_key)
    problems.push({
      code: 'root_key_mismatch',
      message: `its root key is ${genesis.root_public_key}, not the given one`,
    })
  if (pins.genesis !== undefined && pins.genesis.fingerprint !== fingerprint) {
    const message = `its genesis block is ${fingerprint}, and ${pins.genesis.said} says ${pins.genesis.fingerprint}`
    problems.push({ code: 'genesis_mismatch', message })
  }
  const fits =
    metadata.sovereign_id === genesis.network_name &&
    metadata.root_public_key === genesis.root_public_key &&
    metadata.network_authority.public_key === genesis.network_authority.public_key
  if (!fits)
    problems.push({
      code: 'metadata_mismatch',
      message: 'its /sovereign.json says something else than its genesis block',
    })
  const now = context.now()
  if (now < instantOf(genesis.network_authority.valid_from))
    problems.push({ code: 'authority_window', message: 'the time of its authority key has not begun' })
  if (now > instantOf(genesis.network_authority.valid_to))
    problems.push({ code: 'authority_window', message: 'the time of its authority key is over' })
  return problems
}

/** Stops at the first of them. */
export function refuseProblems({ address }: Met, problems: readonly Problem[]): void {
  const [problem] = problems
  if (problem === undefined) return
  throw new Failure({
    code: problem.code,
    message: `${visible(address)} is not to be trusted: ${visible(problem.message)}.`,
    hint: 'No treaty was issued. Check the address and the pin; if both are right, somebody else may answer there: ask the other side.',
  })
}

export function metData({ address, genesis, fingerprint }: Met): JsonObject {
  return {
    address,
    sovereign_id: genesis.network_name,
    network_version: genesis.network_version,
    genesis_fingerprint: fingerprint,
    root_public_key: genesis.root_public_key,
    network_authority: genesis.network_authority,
  }
}

/** The rows a person compares. */
export function metRows({ genesis, fingerprint }: Met): readonly (readonly [string, string])[] {
  const { network_authority: authority } = genesis
  return [
    ['name', `${genesis.network_name} ${genesis.network_version}`],
    ['fingerprint', fingerprint],
    ['root key', genesis.root_public_key],
    ['authority key', authority.public_key],
    ['key valid', `${authority.valid_from} to ${authority.valid_to}`],
  ]
}
