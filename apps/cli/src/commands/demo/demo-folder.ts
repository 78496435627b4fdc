import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LIMITERS } from '@chancery/contract'
import { draftGenesisBlock, signList, writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import type { Instant, Signer } from '@chancery/protocol'
import { FOR_ALL, OWNER_ONLY, writeNewFile } from '../../files/files.ts'
import { writeGenesisText } from '../../files/genesis-file.ts'
import { validity } from '../genesis/create.ts'
import type { Choices } from '../init/choices.ts'
import type { HomeFiles } from '../init/home.ts'
import { KEY_IDS, configText, settingsText } from '../init/settings-files.ts'
import { demoSeed, demoSigner } from './demo-data.ts'

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

const VALID_DAYS = 90

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
  const root = await writeKey(files.root, KEY_IDS.root, `${keysOf}root`)
  const authority = await writeKey(files.authority, KEY_IDS.authority, `${keysOf}authority`)
  const operator = await writeKey(files.operator, KEY_IDS.operator, `${keysOf}operator`)
  const block = draftGenesisBlock({
    network_name: choices.network,
    root_public_key: root.publicKey,
    network_authority: { public_key: authority.publicKey, ...validity(now, VALID_DAYS) },
  })
  await writeNewFile(files.genesis, writeGenesisText(await signList(block, root)), FOR_ALL)
  const limits = Object.values(LIMITERS).map(({ setting }) => `${setting}=1000000\n`)
  const written = settingsText(choices, files, operator.publicKey)
  const usual = more === '' ? written : written.replace(/^NA_NODE_DECISIONS=.*\n/m, '')
  const settings = `${usual}EVIDENCE_STORE=on\nLOG_LEVEL=warn\n${more}${limits.join('')}`
  await writeNewFile(files.settings, settings, OWNER_ONLY)
  await writeNewFile(files.config, configText(choices, files), FOR_ALL)
  return { root, authority, operator }
}

async function writeKey(base: string, keyId: string, name: string): Promise<Signer> {
  const signer = await demoSigner(keyId, name)
  await mkdir(dirname(base), { recursive: true, mode: 0o700 })
  await writeNewFile(`${base}.key`, writePrivateKeyFile(demoSeed(name), keyId), OWNER_ONLY)
  await writeNewFile(`${base}.pub`, writePublicKeyFile(signer.publicKey, keyId), FOR_ALL)
  return signer
}
