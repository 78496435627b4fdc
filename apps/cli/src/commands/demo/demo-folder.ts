import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LIMITERS } from '@chancery/contract'
import { draftGenesisBlock, signList, writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import type { Instant, Signer } from '@chancery/protocol'
import { FOR_ALL, OWNER_ONLY, readText, replaceFile, writeNewFile } from '../../files/files.ts'
import { writeGenesisText } from '../../files/genesis-file.ts'
import { validity } from '../genesis/genesis.ts'
import { type Choices, KEY_IDS, configText, operatorsText, settingsText } from '../init/settings-files.ts'
import type { HomeFiles } from '../init/home.ts'
import { demoSeed, demoSigner } from './demo-nodes.ts'

export interface DemoKeys {
  readonly root: Signer
  readonly authority: Signer
  readonly operator: Signer
}

export interface DemoHomeOptions {
  /** Put before the names of the keys, so that two networks have different ones. */
  readonly keysOf?: string
  /** More lines of settings. */
  readonly settings?: string
}

/** A demo can be continued for so long. */
const VALID_DAYS = 365

/**
 * Writes the files of `init` with the public demo keys, the evidence store on and high limits, because the data needs
 * many calls.
 */
export async function writeDemoHome(
  choices: Choices,
  files: HomeFiles,
  now: Instant,
  { keysOf = '', settings: more = '' }: DemoHomeOptions = {},
): Promise<DemoKeys> {
  const keys = await demoKeys(keysOf)
  await writeKey(files.root, keys.root, `${keysOf}root`)
  await writeKey(files.authority, keys.authority, `${keysOf}authority`)
  await writeKey(files.operator, keys.operator, `${keysOf}operator`)
  // A second operator, so that the loss of one key can be handled.
  const backup = await demoSigner('operator-backup', `${keysOf}operator backup`)
  await writeKey(`${files.operator}-backup`, backup, `${keysOf}operator backup`)
  const { root, authority, operator } = keys
  const block = draftGenesisBlock({
    network_name: choices.network,
    root_public_key: root.publicKey,
    network_authority: { public_key: authority.publicKey, ...validity(now, VALID_DAYS) },
  })
  await writeNewFile(files.genesis, writeGenesisText(await signList(block, root)), FOR_ALL)
  const limits = Object.values(LIMITERS).map(({ setting }) => `${setting}=1000000\n`)
  await writeNewFile(files.operators, operatorsText([operator, backup], now), OWNER_ONLY)
  const written = settingsText(choices, files)
  const usual = more === '' ? written : written.replace(/^NA_NODE_DECISIONS=.*\n/m, '')
  const settings = `${usual}EVIDENCE_STORE=on\nLOG_LEVEL=warn\n${more}${limits.join('')}`
  await writeNewFile(files.settings, settings, OWNER_ONLY)
  await writeNewFile(files.config, configText(choices, files), FOR_ALL)
  return keys
}

/** The keys of every demo. They follow from their names. */
export async function demoKeys(keysOf = ''): Promise<DemoKeys> {
  return {
    root: await demoSigner(KEY_IDS.root, `${keysOf}root`),
    authority: await demoSigner(KEY_IDS.authority, `${keysOf}authority`),
    operator: await demoSigner(KEY_IDS.operator, `${keysOf}operator`),
  }
}

/** Changes the port of an existing demo in its two files. */
export async function changeDemoPort(choices: Choices, files: HomeFiles): Promise<void> {
  const settings = await readText(files.settings)
  await replaceFile(files.settings, settings.replace(/^PORT=.*$/m, `PORT=${choices.port}`), OWNER_ONLY)
  await replaceFile(files.config, configText(choices, files), FOR_ALL)
}

async function writeKey(base: string, { keyId, publicKey }: Signer, name: string): Promise<void> {
  await mkdir(dirname(base), { recursive: true, mode: 0o700 })
  await writeNewFile(`${base}.key`, writePrivateKeyFile(demoSeed(name), keyId), OWNER_ONLY)
  await writeNewFile(`${base}.pub`, writePublicKeyFile(publicKey, keyId), FOR_ALL)
}
