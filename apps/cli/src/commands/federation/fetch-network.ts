import { type GenesisBlock, type JsonObject, instantOf, verifyGenesisBlock, visible } from '@chancery/protocol'
import type { SovereignMetadata } from '@chancery/sdk/authority'
import { openForeign } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { type Pin, genesisFingerprint, readPin } from '../../files/genesis-file.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { runPreflight } from '../gateway/preflight.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Result, fields } from '../../output/screen.ts'

/** Pins of the partner network, received out of band. */
export interface ForeignPins {
  readonly rootKey: string | undefined
  readonly genesis: Pin | undefined
  readonly name?: string | undefined
}

export async function readForeignPins({ cwd }: CommandContext, options: Options): Promise<ForeignPins> {
  const [key, genesis] = [options.text('root-key'), options.text('genesis')]
  return {
    rootKey: key === undefined ? undefined : await loadPublicKey(cwd, '--root-key', key),
    genesis: genesis === undefined ? undefined : await readPin(cwd, genesis),
    name: options.text('name'),
  }
}

export interface RemoteNetwork {
  readonly address: string
  readonly genesis: GenesisBlock
  readonly metadata: SovereignMetadata
  readonly fingerprint: string
}

export async function fetchNetwork(context: CommandContext, address: string): Promise<RemoteNetwork> {
  const foreign = openForeign(context, address)
  const genesis = await foreign.ask((client) => client.sovereign.genesis())
  const metadata = await foreign.ask((client) => client.sovereign.metadata())
  return { address: foreign.url, genesis, metadata, fingerprint: genesisFingerprint(genesis) }
}

export interface Problem {
  readonly code: string
  readonly message: string
}

/** Returns all problems of a network. Without a pin, an empty list is no reason to trust it. */
export async function problemsOf(
  context: CommandContext,
  remote: RemoteNetwork,
  pins: ForeignPins,
): Promise<readonly Problem[]> {
  const { genesis, metadata, fingerprint } = remote
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
    const message = `its genesis block is ${fingerprint}, but ${pins.genesis.source} is ${pins.genesis.fingerprint}`
    problems.push({ code: 'genesis_mismatch', message })
  }
  const fits =
    metadata.sovereign_id === genesis.network_name &&
    metadata.root_public_key === genesis.root_public_key &&
    metadata.network_authority.public_key === genesis.network_authority.public_key
  if (!fits)
    problems.push({
      code: 'metadata_mismatch',
      message: 'its /sovereign.json differs from its genesis block',
    })
  if (pins.name !== undefined && pins.name !== genesis.network_name)
    problems.push({ code: 'name_mismatch', message: `it is ${genesis.network_name}, not ${pins.name}` })
  const now = context.now()
  if (now < instantOf(genesis.network_authority.valid_from))
    problems.push({ code: 'authority_window', message: 'the time of its authority key has not begun' })
  if (now > instantOf(genesis.network_authority.valid_to))
    problems.push({ code: 'authority_window', message: 'the time of its authority key is over' })
  return problems
}

/** Stops at the first problem. */
export function refuseProblems({ address }: RemoteNetwork, problems: readonly Problem[]): void {
  const [problem] = problems
  if (problem === undefined) return
  throw new CommandError({
    code: problem.code,
    message: `${visible(address)} is not to be trusted: ${visible(problem.message)}.`,
    hint: 'No treaty was issued. Check the address and the pin; if both are correct, another server answers at this address. Ask the partner network.',
  })
}

export function networkData({ address, genesis, fingerprint }: RemoteNetwork): JsonObject {
  return {
    address,
    sovereign_id: genesis.network_name,
    network_version: genesis.network_version,
    genesis_fingerprint: fingerprint,
    root_public_key: genesis.root_public_key,
    network_authority: genesis.network_authority,
  }
}

/** The rows that a person compares. */
export function networkRows({ genesis, fingerprint }: RemoteNetwork): readonly (readonly [string, string])[] {
  const { network_authority: authority } = genesis
  return [
    ['name', `${genesis.network_name} ${genesis.network_version}`],
    ['fingerprint', fingerprint],
    ['root key', genesis.root_public_key],
    ['authority key', authority.public_key],
    ['key valid', `${authority.valid_from} to ${authority.valid_to}`],
  ]
}

/** Runs `partner inspect`: shows which network answers and checks its records; grants nothing. */
export async function runPartnerInspect(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const ofPreflight = ['policy-fragment', 'report', 'previous', 'authority-key']
  if (ofPreflight.some((name) => options.isSet(name))) return runPreflight(context, args.required('address'), options)
  const { style } = context
  const pins = await readForeignPins(context, options)
  const remote = await fetchNetwork(context, args.required('address'))
  const problems = await problemsOf(context, remote, pins)
  const isPinned = pins.rootKey !== undefined || pins.genesis !== undefined
  const { metadata } = remote
  const rows = fields(
    [
      ...networkRows(remote),
      ['endpoint', metadata.endpoint],
      ['policy', metadata.policy_manifest?.hash ?? '-'],
      ['anchors', String(metadata.bootstrap_anchor_count ?? '-')],
      ['surfaces', Object.keys(metadata.supported_surfaces).join(', ')],
    ],
    style,
  )
  const hint = isPinned
    ? 'It is the pinned network.'
    : 'Nothing proves yet that it is the one you mean: compare the root key with one you got another way (--root-key).'
  const verdict =
    problems.length === 0
      ? `${style.good('Fits together.')} ${hint}`
      : `${style.bad('Do not trust it:')} ${visible(problems.map(({ message }) => message).join('; '))}.`
  const data = {
    ...networkData(remote),
    metadata: { ...metadata },
    pinned: isPinned,
    consistent: problems.length === 0,
    problems: problems.map(({ code, message }) => ({ code, message })),
  }
  return { data, text: `${rows}\n\n${verdict}`, exitCode: problems.length === 0 ? 0 : 1 }
}
