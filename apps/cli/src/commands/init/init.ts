import type { JsonObject } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { typed } from '../../files/files.ts'
import type { MadeKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'
import { type Choices, readChoices } from './choices.ts'
import { type HomeFiles, homeFiles, prepareHome } from './home.ts'
import { type NetworkKeys, VALID_DAYS, makeNetwork } from './make-network.ts'
import { KEY_IDS } from './settings-files.ts'

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
