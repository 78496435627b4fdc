import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SuccessionStep, readAuthoritySettings, runSuccessionStep } from '@chancery/authority'
import { DAY, SECOND, readKeyHistory, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, KeyHistory } from '@chancery/protocol'
import { type Clock, requireValues, silentLog } from '@chancery/service-kit'
import { testSeed, testSigner } from './keys.ts'
import type { TestDatabase } from './test-database.ts'

/** A key of the authority in tests: its id and the name its seed is made of. */
export interface TestKey {
  readonly keyId: string
  readonly seed: string
}

/** What the root has signed so far. */
export interface Succeeded {
  readonly genesis: GenesisBlock
  readonly key: TestKey
  readonly history?: KeyHistory
  /** Of the root key; the one of most tests when not given. */
  readonly rootSeed?: string
  /** Of the authority that takes this key. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The key every test authority begins with. */
export const FIRST_KEY: TestKey = { keyId: 'na-test', seed: 'na' }

/**
 * Block, history, keys and settings of the next key, as the root would sign them; a former key undoes. The present key
 * may sign for the days of the overlap.
 */
export async function signSuccession(
  folder: string,
  present: Succeeded,
  next: TestKey,
  now: Instant,
  overlapDays = 30n,
): Promise<Required<Succeeded>> {
  const { rootSeed = 'root' } = present
  const root = await testSigner('rs-test', rootSeed)
  const [old, heir] = [await testSigner(present.key.keyId, present.key.seed), await testSigner(next.keyId, next.seed)]
  const at = (name: string): string => join(folder, `${next.keyId}-${now}-${name}`)
  const start = now - (now % SECOND)
  const { signatures: _signatures, ...block } = present.genesis
  const window = { valid_from: writeInstant(start), valid_to: writeInstant(start + 90n * DAY) }
  const network_authority = { public_key: heir.publicKey, ...window }
  const genesis = (await signList({ ...block, network_authority, signatures: [] }, root)) as GenesisBlock
  const listed = present.history?.former_keys ?? []
  const earlier = listed.find((key) => key.public_key === old.publicKey)
  const former = {
    key_id: present.key.keyId,
    public_key: old.publicKey,
    valid_from: (earlier ?? present.genesis.network_authority).valid_from,
    valid_to: writeInstant(now + overlapDays * DAY),
  }
  const before = listed.filter((key) => key.public_key !== old.publicKey)
  const draft = {
    network_name: block.network_name,
    root_public_key: root.publicKey,
    issued_at: writeInstant(now),
    former_keys: [...before, former],
    signatures: [],
  }
  const history = readKeyHistory(await signList(draft as JsonObject & typeof draft, root))
  await writeFile(at('genesis.json'), writeJson(genesis))
  await writeFile(at('history.json'), writeJson(history))
  for (const key of [present.key, next])
    await writeFile(at(`${key.keyId}.key`), writePrivateKeyFile(testSeed(key.seed)), { mode: 0o600 })
  const settings = {
    GENESIS_FILE: at('genesis.json'),
    NA_PRIVATE_KEY_FILE: at(`${next.keyId}.key`),
    NA_KEY_ID: next.keyId,
    NA_KEY_HISTORY_FILE: at('history.json'),
    NA_FORMER_PRIVATE_KEY_FILE: at(`${present.key.keyId}.key`),
  }
  return { genesis, key: next, history, rootSeed, settings }
}

/** One step of a succession on a database, in this process, as the command takes it. */
export async function runTestStep(
  step: SuccessionStep,
  signed: Required<Succeeded>,
  on: { readonly database: TestDatabase; readonly clock?: Clock; readonly isForced?: boolean },
): Promise<readonly string[]> {
  const values = { ...on.database.settings, NA_CLOCK_CHECK: 'off', ...signed.settings }
  const text = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  const settings = requireValues(
    readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'test', text: text.join('\n') } }),
  )
  const parts = { log: silentLog, ...(on.clock === undefined ? {} : { clock: on.clock }) }
  return runSuccessionStep(settings, { step, isForced: on.isForced ?? false }, parts)
}
