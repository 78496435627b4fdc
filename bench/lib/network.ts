import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  DAY,
  draftGenesisBlock,
  seedSigner,
  signList,
  writeInstant,
  writeJson,
  writePrivateKeyFile,
} from '@chancery/protocol'

/** A new network for every run: new keys, a signed genesis block, one privileged operator. */
export interface BenchNetwork {
  readonly genesisFile: string
  readonly privateKeyFile: string
  /** Audience of signed operator requests. */
  readonly audience: string
  readonly authority: { readonly keyId: string; readonly publicKey: string; readonly seed: string }
  readonly name: string
  readonly operator: { readonly keyId: string; readonly publicKey: string; readonly seed: string }
}

const NAME = 'bench-network'

export async function createNetwork(directory: string, name: string = NAME): Promise<BenchNetwork> {
  const seeds = { root: newSeed(), authority: newSeed(), operator: newSeed() }
  const root = await seedSigner('bench-root', seeds.root)
  const authority = await seedSigner('bench-authority', seeds.authority)
  const operator = await seedSigner('bench-operator', seeds.operator)
  const now = BigInt(Date.now()) * 1000n
  const draft = draftGenesisBlock({
    network_name: name,
    root_public_key: root.publicKey,
    network_authority: {
      public_key: authority.publicKey,
      valid_from: writeInstant(now - DAY),
      valid_to: writeInstant(now + 30n * DAY),
    },
  })
  // Another authority of the same benchmark may have the same name.
  const file = join(directory, `${name}-${randomBytes(4).toString('hex')}`)
  const genesisFile = `${file}.genesis.json`
  const privateKeyFile = `${file}.authority.key`
  await writeFile(genesisFile, writeJson(await signList(draft, root)))
  await writeFile(privateKeyFile, writePrivateKeyFile(seeds.authority), { mode: 0o600 })
  return {
    genesisFile,
    privateKeyFile,
    audience: authority.publicKey,
    authority: { keyId: authority.keyId, publicKey: authority.publicKey, seed: seeds.authority },
    name,
    operator: { keyId: operator.keyId, publicKey: operator.publicKey, seed: seeds.operator },
  }
}

function newSeed(): string {
  return randomBytes(32).toString('base64')
}
