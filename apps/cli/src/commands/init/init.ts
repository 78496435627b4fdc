import { draftGenesisBlock, readPrivateKeyFile, seedSigner, signList } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { FOR_ALL, OWNER_ONLY, readText, typed, writeNewFile } from '../../files/files.ts'
import { loadVerifiedGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { makeKeyPair } from '../../files/keys.ts'
import type { MadeKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'
import { validity } from '../genesis/create.ts'
import { readChoices } from './choices.ts'
import type { Choices } from './choices.ts'
import { homeFiles, prepareHome } from './home.ts'
import type { HomeFiles } from './home.ts'
import { KEY_IDS, configText, settingsText } from './settings-files.ts'

// protocol/core 4: the usual lifetime of an authority key.
const VALID_DAYS = 90

/** Runs `init`: writes all files of a first authority into one folder. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
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

interface Keys {
  readonly root: MadeKey
  readonly authority: MadeKey
  readonly operator: MadeKey
}

async function makeNetwork({ now }: CommandContext, choices: Choices, files: HomeFiles): Promise<Keys> {
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
  await writeNewFile(files.settings, settingsText(choices, files, operator.publicKey), OWNER_ONLY)
  await writeNewFile(files.config, configText(choices, files), FOR_ALL)
  // Reads the block back from disk, so that the checked block is the one that the authority reads.
  await loadVerifiedGenesis(files.genesis)
  return { root, authority, operator }
}

interface Made {
  readonly files: HomeFiles
  readonly keys: Keys
  readonly movedTo: string | undefined
}

function describe({ cwd, style }: CommandContext, choices: Choices, { files, keys, movedTo }: Made): Result {
  const start = `chancery authority start --env-file ${typed(cwd, files.settings)}`
  const check = `chancery network-policy show --config ${typed(cwd, files.config)}`
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
