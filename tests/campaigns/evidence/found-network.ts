import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, draftGenesisBlock, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import { type ManualClock, testSeed, testSigner } from '@chancery/testkit'

interface FoundedNetwork {
  readonly genesis: GenesisBlock
  readonly settings: Readonly<Record<string, string>>
  /** The caller removes it. */
  readonly folder: string
}

/** A network with its own root and authority key, for a test authority. */
export async function foundNetwork(name: string, clock: ManualClock): Promise<FoundedNetwork> {
  const [root, authority] = [await testSigner('rs-test', `root ${name}`), await testSigner('na-test', `na ${name}`)]
  const draft = draftGenesisBlock({
    network_name: name,
    root_public_key: root.publicKey,
    network_authority: {
      public_key: authority.publicKey,
      valid_from: writeInstant(clock.now() - DAY),
      valid_to: writeInstant(clock.now() + 90n * DAY),
    },
  })
  const genesis = await signList(draft, root)
  const folder = await mkdtemp(join(tmpdir(), 'chancery-network-'))
  const [genesisFile, keyFile] = [join(folder, 'genesis.json'), join(folder, 'na.key')]
  await writeFile(genesisFile, writeJson(genesis))
  await writeFile(keyFile, writePrivateKeyFile(testSeed(`na ${name}`), 'na-test'), { mode: 0o600 })
  return { genesis, settings: { GENESIS_FILE: genesisFile, NA_PRIVATE_KEY_FILE: keyFile }, folder }
}
