import { writeOperatorsFile } from '@chancery/contract'
import {
  draftGenesisBlock,
  isPlainText,
  readPrivateKeyFile,
  seedSigner,
  signList,
  writeInstant,
} from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, Signer } from '@chancery/protocol'
import { stringify } from 'smol-toml'
import { addressOf } from '../../connection/connection.ts'
import { type HomeFiles, homeFiles, prepareHome } from './home.ts'
import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { FOR_ALL, OWNER_ONLY, readText, typed, writeNewFile } from '../../files/files.ts'
import { loadVerifiedGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { type MadeKey, makeKeyPair } from '../../files/keys.ts'
import { validity } from '../genesis/genesis.ts'
import { type Result, fields } from '../../output/screen.ts'

/** Inputs of a new network. */
export interface Choices {
  /** Absolute. */
  readonly home: string
  readonly network: string
  readonly host: string
  readonly port: string
}

/** Reads the choices from flags; asks for missing ones on a terminal, else reports them. */
export async function readChoices(context: CommandContext, options: Options): Promise<Choices> {
  let [home, network, port] = [options.text('home'), options.text('name'), options.text('port')]
  const missing = [...(home === undefined ? ['--home'] : []), ...(network === undefined ? ['--name'] : [])]
  if (missing.length > 0 && !context.isInteractive) {
    throw usageError(`${missing.join(' and ')} must be given: the terminal is not interactive.`)
  }
  if (missing.length > 0) {
    home ??= await context.prompts.text(
      'Folder for keys, genesis block, database and configuration',
      './na',
      homeProblem,
    )
    network ??= await context.prompts.text('Name of the network', 'LOCAL-NET', networkProblem)
    port ??= await context.prompts.text('Port of the authority', options.textOrDefault('port'), portProblem)
  }
  const chosen = {
    home: home ?? '',
    network: network ?? '',
    host: options.textOrDefault('host'),
    port: port ?? options.textOrDefault('port'),
  }
  const problem =
    homeProblem(chosen.home) ?? networkProblem(chosen.network) ?? hostProblem(chosen.host) ?? portProblem(chosen.port)
  if (problem !== undefined) throw usageError(problem)
  return { ...chosen, home: resolve(context.cwd, chosen.home) }
}

/** A line end in a path would start another setting in the settings file. */
export function homeProblem(home: string): string | undefined {
  return isPlainText(home, 2048) ? undefined : 'The folder must have a name without control characters.'
}

// The name becomes part of the id of the first policy, policy-<name>-v0.1, which allows these characters only.
function networkProblem(network: string): string | undefined {
  const rule = 'The name of a network is 1 to 64 characters of A-Z a-z 0-9 . _ : -'
  return /^[A-Za-z0-9._:-]{1,64}$/.test(network) ? undefined : rule
}

function hostProblem(host: string): string | undefined {
  return /^[A-Za-z0-9.:_-]{1,255}$/.test(host) ? undefined : 'The host must be a name or an address without port.'
}

function portProblem(port: string): string | undefined {
  const isNumber = /^[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65_535
  return isNumber ? undefined : 'The port must be a whole number from 1 to 65535.'
}

/** Ids of a local network (protocol/core 4). */
export const KEY_IDS = { root: 'rs-local', authority: 'na-local', operator: 'operator-local' } as const

/** Settings of the service, for `authority start --env-file`: literal values, absolute paths. */
export function settingsText(choices: Choices, files: HomeFiles): string {
  const values: readonly (readonly [string, string])[] = [
    ['GENESIS_FILE', files.genesis],
    ['NA_PRIVATE_KEY_FILE', `${files.authority}.key`],
    ['NA_KEY_ID', KEY_IDS.authority],
    ['OPERATOR_PUBLIC_KEYS_JSON', files.operators],
    ['DB_PATH', files.database],
    ['HOST', choices.host],
    ['PORT', choices.port],
    // Nodes ask for decisions with their own key, so that no program needs an operator key only to ask.
    ['NA_NODE_DECISIONS', 'own'],
  ]
  const head = `# Settings of the authority of ${choices.network}. One NAME=value per line; values are literal, without quotes.`
  return `${[head, ...values.map(([name, value]) => `${name}=${value}`)].join('\n')}\n`
}

/** Returns the operators of a new authority, each with all rights. */
export function operatorsText(signers: readonly Pick<Signer, 'keyId' | 'publicKey'>[], now: Instant): string {
  const added_at = writeInstant(now)
  const operators = signers.map(
    ({ keyId, publicKey }) => ({ key_id: keyId, public_key: publicKey, tier: 'privileged', added_at }) as const,
  )
  return writeOperatorsFile({ operators, removed: [] })
}

/** Returns the configuration for other commands; its genesis block pins the authority. */
export function configText(choices: Choices, files: HomeFiles): string {
  const document = {
    network: { name: choices.network, version: 'v0.1', na_endpoint: addressOf(choices.host, choices.port) },
    paths: {
      home: choices.home,
      genesis: files.genesis,
      na_private_key: `${files.authority}.key`,
      operator_private_key: `${files.operator}.key`,
      operator_public_key: `${files.operator}.pub`,
      db: files.database,
    },
    na: { key_id: KEY_IDS.authority, host: choices.host, port: Number(choices.port) },
    operator: { key_id: KEY_IDS.operator },
  }
  return `# Home of an authority: configuration of the chancery commands for ${choices.network}. It contains no secret.\n${stringify(document)}`
}

// protocol/core 4: the usual lifetime of an authority key.
const VALID_DAYS = 90

/** The keys of a new network. */
interface NetworkKeys {
  readonly root: MadeKey
  readonly authority: MadeKey
  readonly operator: MadeKey
}

/** Creates keys, signed genesis block, settings and configuration of a network in a prepared folder. */
export async function makeNetwork(
  { now }: Pick<CommandContext, 'now'>,
  choices: Choices,
  files: HomeFiles,
  moreSettings = '',
): Promise<NetworkKeys & { readonly genesis: GenesisBlock }> {
  const root = await makeKeyPair({ base: files.root, keyId: KEY_IDS.root })
  const authority = await makeKeyPair({ base: files.authority, keyId: KEY_IDS.authority })
  const operator = await makeKeyPair({ base: files.operator, keyId: KEY_IDS.operator })
  const block = draftGenesisBlock({
    network_name: choices.network,
    root_public_key: root.publicKey,
    network_authority: { public_key: authority.publicKey, ...validity(now(), VALID_DAYS) },
  })
  const seed = readPrivateKeyFile(await readText(root.privateFile))?.value ?? ''
  const signed = await signList(block, await seedSigner(KEY_IDS.root, seed))
  await writeNewFile(files.genesis, writeGenesisText(signed), FOR_ALL)
  await writeNewFile(files.settings, settingsText(choices, files) + moreSettings, OWNER_ONLY)
  await writeNewFile(
    files.operators,
    operatorsText([{ keyId: KEY_IDS.operator, publicKey: operator.publicKey }], now()),
    OWNER_ONLY,
  )
  await writeNewFile(files.config, configText(choices, files), FOR_ALL)
  // Reads the block back from disk, so that the checked block is the one that the authority reads.
  const genesis = await loadVerifiedGenesis(files.genesis)
  return { root, authority, operator, genesis }
}

/** Runs `init`: writes all files of a first authority into one folder. */
export async function runInit(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const choices = await readChoices(context, options)
  const files = homeFiles(choices.home)
  const { movedTo, undo } = await prepareHome(choices.home, options.isSet('force'), context.now())
  try {
    const keys = await makeNetwork(context, choices, files)
    return describe(context, choices, { files, keys, movedTo })
  } catch (error) {
    await undo()
    throw error
  }
}

interface Made {
  readonly files: HomeFiles
  readonly keys: NetworkKeys
  readonly movedTo: string | undefined
}

function describe({ cwd, style }: CommandContext, choices: Choices, { files, keys, movedTo }: Made): Result {
  const start = `chancery up --home ${typed(cwd, choices.home)}`
  const check = `chancery status --home ${typed(cwd, choices.home)}`
  const data = {
    home: choices.home,
    network: choices.network,
    files: { genesis: files.genesis, settings: files.settings, config: files.config },
    keys: { root: toJson(keys.root), network_authority: toJson(keys.authority), operator: toJson(keys.operator) },
    moved_to: movedTo ?? null,
    next: [start, check],
  }
  const rows: [string, string][] = [
    ['genesis block', `${typed(cwd, files.genesis)} (signed, valid ${VALID_DAYS} days)`],
    ['root key', `${typed(cwd, keys.root.privateFile)} (move it offline; the authority never needs it)`],
    ['authority key', typed(cwd, keys.authority.privateFile)],
    ['operator key', `${typed(cwd, keys.operator.privateFile)} (${KEY_IDS.operator}, privileged)`],
    ['operators', `${typed(cwd, files.operators)} (add more with: chancery operator add)`],
    ['settings', typed(cwd, files.settings)],
    ['configuration', typed(cwd, files.config)],
  ]
  if (movedTo !== undefined) rows.push(['earlier folder', `moved to ${typed(cwd, movedTo)}`])
  const next = `${style.title('Next:')}\n  ${start}\n  ${check}`
  return { data, text: `${style.good('Made')} network ${choices.network}.\n${fields(rows, style)}\n\n${next}` }
}

/** Shows the path of the private key, never the key. */
function toJson({ keyId, publicKey, privateFile }: MadeKey): JsonObject {
  return { key_id: keyId ?? null, public_key: publicKey, private_key_file: privateFile }
}
