import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Backend } from '@chancery/testkit'
import { afterEach, expect } from 'vitest'
import { PageSetup } from './keys-page-setup.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operate/keys.md'), 'utf8')
/** Every block of the section, in its order. */
const BLOCKS = [
  ...PAGE.slice(PAGE.indexOf('## Replace the key with a stop')).matchAll(/^( *)```(sh)?\n([\s\S]*?)^\1```$/gm),
].map(([, indent = '', kind, text = '']) => ({
  isShell: kind === 'sh',
  text: text.replaceAll(`\n${indent}`, '\n').trim(),
}))
const SWITCH = /key-succession --env-file new\.env$/
/** What the page says in words: the key is na-1 again, the former one na-2, with block and history of that step. */
const UNDO = `GENESIS_FILE=/etc/chancery/genesis-3.signed.json
NA_KEY_ID=na-1
NA_PRIVATE_KEY_FILE=/etc/chancery/na-1.key
NA_KEY_HISTORY_FILE=/etc/chancery/key-history-3.json
NA_FORMER_PRIVATE_KEY_FILE=/etc/chancery/na-2.key`
const PATIENCE_MS = 240_000

let setup: PageSetup | undefined
const left = new Set<string>()
afterEach(() => setup?.close())

/** The one block with these words; it counts as run. */
function block(words: string | RegExp): string {
  const found = BLOCKS.filter(({ text }) => (typeof words === 'string' ? text.includes(words) : words.test(text)))
  expect(found, String(words)).toHaveLength(1)
  left.delete(found[0]?.text ?? '')
  return found[0]?.text ?? ''
}

async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (performance.now() < end) {
    if (await isDone()) return
    await pause(500)
  }
  throw new Error(`still waiting for ${what}`)
}

/** The old settings with the lines of the page in their place. */
async function writeSettings(at: PageSetup, lines: string, name: string): Promise<void> {
  const changed = at.local(lines).split('\n')
  const names = changed.map((line) => line.slice(0, line.indexOf('=')))
  const old = (await readFile(join(at.folder, 'old.env'), 'utf8')).trim().split('\n')
  const kept = old.filter((line) => !names.includes(line.slice(0, line.indexOf('='))))
  await writeFile(join(at.folder, name), `${[...kept, ...changed].join('\n')}\n`)
}

async function follow(at: PageSetup): Promise<string> {
  const said = await at.sh(block('chancery gateway network refresh'))
  at.reloadGateway()
  return said
}

/** Announce, let all follow, switch and renew: with the settings of this file. */
async function hand(at: PageSetup, env: string, keyId: string, isShort = false): Promise<void> {
  const of = (text: string): string => text.replaceAll('new.env', env)
  await at.sh(of(block('--step announce')))
  await until('the new block', async () =>
    (await at.sh(of(block('--step status')))).includes(`${isShort ? '1 of 1' : '2 of 2'} nodes have the new block`),
  )
  if (!isShort) await follow(at)
  if (!isShort && env === 'new.env') await at.shAsPartner(block('chancery treaty renew'))
  await at.stopAuthority()
  await at.sh(of(block(SWITCH)))
  await at.startAuthority(env)
  await at.renewNodes()
  await until('certificates of the new key', async () =>
    (await at.certificates()).every((certificate) => certificate.issued_by === keyId),
  )
  if (!isShort) await until('gateway', () => at.isTrusted())
}

/** Every command of the page in its order, with the way back, or only those of the authority and of auditors. */
type Variant = 'whole' | 'undone' | 'short'

export async function followKeysPage(backend: Backend, variant: Variant): Promise<void> {
  const [isUndone, isShort] = [variant === 'undone', variant === 'short']
  left.clear()
  for (const { isShell, text } of BLOCKS) if (isShell) left.add(text)
  setup = await PageSetup.open(backend, isShort ? ['node-1'] : ['node-1', 'node-2'], !isShort)
  const at = setup
  await at.decide()
  if (!isShort) expect(await at.isTrusted()).toBe(true)

  await at.sh(block('chancery keygen'))
  await at.sh(block('--na-public-key na-2.pub'))
  await writeSettings(at, block('NA_FORMER_PRIVATE_KEY_FILE='), 'new.env')
  await hand(at, 'new.env', 'na-2', isShort)
  if (!isShort) await at.decide()

  if (isUndone) {
    await at.sh(block('--na-public-key na-1.pub'))
    await writeSettings(at, UNDO, 'undo.env')
    await hand(at, 'undo.env', 'na-1')
    await at.decide()
  } else block('--na-public-key na-1.pub')

  const [env, former] = isUndone ? ['undo.env', 'na-2'] : ['new.env', 'na-1']
  const status = block('--step status').replaceAll('new.env', env)
  await until('certificates of the old key to end', async () =>
    (await at.sh(status)).includes(`${former} signs its own list; 0 certificates of it are in use`),
  )
  expect(await at.sh(block('--step retire').replaceAll('new.env', env))).toContain(`${former} is retired`)
  if (isShort) for (const words of ['chancery gateway network refresh', 'chancery treaty renew']) block(words)
  else await runWithoutOldKey(at, env, isUndone ? 'Removed' : 'Replaced')

  await at.exportRecords()
  expect(await at.sh(block('chancery verify'))).toContain('all are valid')
  expect([...left]).toEqual([])
  expect(await at.problems()).toEqual([])
}

/** The gateway follows, and the old key is taken out of the settings; all goes on without it. */
async function runWithoutOldKey(at: PageSetup, env: string, expected: string): Promise<void> {
  expect(await follow(at)).toContain(expected)
  await until('the gateway after the retirement', () => at.isTrusted())
  await at.stopAuthority()
  const settings = await readFile(join(at.folder, env), 'utf8')
  await writeFile(join(at.folder, env), settings.replace(/^NA_FORMER_PRIVATE_KEY_FILE=.*\n/m, ''))
  await at.startAuthority(env)
  await until('the gateway without the old key', () => at.isTrusted())
}
