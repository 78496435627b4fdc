import { type GenesisBlock, draftGenesisBlock, readPrivateKeyFile, seedSigner, signList } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { FOR_ALL, OWNER_ONLY, readText, writeNewFile } from '../../files/files.ts'
import { loadVerifiedGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { type MadeKey, makeKeyPair } from '../../files/keys.ts'
import { validity } from '../genesis/create.ts'
import type { Choices } from './choices.ts'
import type { HomeFiles } from './home.ts'
import { KEY_IDS, configText, operatorsText, settingsText } from './settings-files.ts'

// protocol/core 4: the usual lifetime of an authority key.
export const VALID_DAYS = 90

/** The keys of a new network. */
export interface NetworkKeys {
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
