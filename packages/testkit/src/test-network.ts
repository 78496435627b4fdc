import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITERS } from '@chancery/contract'
import { DAY, draftGenesisBlock, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { testSeed, testSigner } from './keys.ts'

/** Keys, genesis block and operators of a network whose authorities run as separate processes. */
export interface TestNetwork {
  readonly name: string
  readonly authority: Signer
  /** `privileged` and `standard`, each with the tier of its name. */
  readonly operators: Readonly<Record<'privileged' | 'standard', Signer>>
  /** Settings of every process of the network. Limits are so high that no test reaches them. */
  readonly settings: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/** Seed of the keys of a network. Sovereigns with the same seed would have the same keys. */
export interface NetworkKeys {
  readonly rootSeed: string
  readonly keyId: string
  readonly seed: string
}

const USUAL_KEYS: NetworkKeys = { rootSeed: 'root', keyId: 'na-test', seed: 'na' }

/** Keys that no other network of a test has. */
export function ownKeysOf(name: string): NetworkKeys {
  return { rootSeed: `root of ${name}`, keyId: `na-${name}`, seed: `authority of ${name}` }
}

export async function createTestNetwork(name = 'TEST-NET', keys: NetworkKeys = USUAL_KEYS): Promise<TestNetwork> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-network-'))
  const root = await testSigner('rs-test', keys.rootSeed)
  const authority = await testSigner(keys.keyId, keys.seed)
  const operators = { privileged: await testSigner('op-privileged'), standard: await testSigner('op-standard') }
  const now = systemClock.now()
  const window = { valid_from: writeInstant(now - DAY), valid_to: writeInstant(now + 90n * DAY) }
  const draft = draftGenesisBlock({
    network_name: name,
    root_public_key: root.publicKey,
    network_authority: { public_key: authority.publicKey, ...window },
  })
  const [genesisFile, keyFile] = [join(folder, 'genesis.json'), join(folder, 'na.key')]
  await writeFile(genesisFile, writeJson(await signList(draft, root)))
  await writeFile(keyFile, writePrivateKeyFile(testSeed(keys.seed), authority.keyId), { mode: 0o600 })
  const [privileged, standard] = [operators.privileged.publicKey, operators.standard.publicKey]
  return {
    name,
    authority,
    operators,
    settings: {
      ...Object.fromEntries(Object.values(LIMITERS).map(({ setting }) => [setting, '100000000'])),
      GENESIS_FILE: genesisFile,
      NA_PRIVATE_KEY_FILE: keyFile,
      NA_KEY_ID: authority.keyId,
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'op-privileged': privileged, 'op-standard': standard }),
      OPERATOR_KEY_TIERS_JSON: JSON.stringify({ 'op-privileged': 'privileged', 'op-standard': 'standard' }),
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
