import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  consistencyProof,
  hashChildren,
  hashLeaf,
  readCheckpointText,
  readNote,
  sha256,
  sha256Hex,
  signCheckpoint,
  toUtf8,
  treeRoot,
  writeAddCheckpoint,
  writeLogKey,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { NodeReader } from '@chancery/protocol'
import { COMPILE_CACHE, testSeed, testSigner } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'

const MAIN = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'src', 'main.ts')
const ORIGIN = 'killed.example/evidence-log'
const REQUESTS = 40

/**
 * Kills the real witness process while requests run, and starts it again on the same state: what it cosigned is still
 * there, and it cosigns no second history.
 */
export async function killWitnesses(
  count: number,
  random: Random,
): Promise<{ readonly kills: number; readonly violations: readonly string[] }> {
  const violations: string[] = []
  for (let at = 0; at < count; at += 1) {
    const found = await killOnce(random)
    violations.push(...found.map((violation) => `kill ${at}: ${violation}`))
  }
  return { kills: count, violations }
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
}

async function killOnce(random: Random): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-kill-'))
  const violations: string[] = []
  const log = await testSigner('log', 'killed log')
  await writeFile(join(folder, 'w.key'), writePrivateKeyFile(testSeed('killed witness'), 'w.example'), { mode: 0o600 })
  await writeFile(join(folder, 'logs'), `log ${writeLogKey({ name: ORIGIN, publicKey: log.publicKey })}\n`)
  let running = await start(folder, true)
  // Two histories that share a beginning, sent at the same time.
  const shared = random.below(5)
  const [honest, forked] = ['a', 'b'].map((name) =>
    Array.from({ length: 200 }, (_, at) => hashLeaf(sha256(toUtf8(at < shared ? `${at}` : `${name}${at}`)))),
  )
  const cosigned: { readonly history: string; readonly size: number }[] = []
  const ask = async (history: string, size: number): Promise<void> => {
    const leaves = (history === 'a' ? honest : forked) ?? []
    const body = async (oldSize: number): Promise<string> => {
      const read = nodesOf(leaves.slice(0, size))
      const checkpoint = await signCheckpoint({ origin: ORIGIN, size, root: await treeRoot(size, read) }, log)
      return writeAddCheckpoint({ oldSize, proof: await consistencyProof(oldSize, size, read), checkpoint })
    }
    let old = 0
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const answer = await post(running.url, await body(old))
      if (answer?.status === 200) cosigned.push({ history, size })
      const known = answer?.status === 409 ? Number(answer.text) : Number.NaN
      if (!(known <= size) || known === old) return
      old = known
    }
  }
  try {
    const killAt = 5 + random.below(REQUESTS - 10)
    const sent: Promise<void>[] = []
    for (let at = 0; at < REQUESTS; at += 1) {
      sent.push(ask(random.chance(70) ? 'a' : 'b', 1 + shared + random.below(at + 2)))
      if (at === killAt) running.child.kill('SIGKILL')
      if (random.chance(30)) await Promise.all(sent.splice(0))
    }
    await Promise.all(sent)
    if (running.child.exitCode === null && running.child.signalCode === null) await once(running.child, 'exit')
    running = await start(folder, false)
    const stored = await headOf(running.url)
    const largest = Math.max(0, ...cosigned.map(({ size }) => size))
    if (stored < largest) violations.push(`${largest} entries were cosigned, and ${stored} are stored`)
    for (let at = 0; at < 10; at += 1) await ask(random.chance(50) ? 'a' : 'b', 1 + shared + random.below(60))
    const histories = new Set(cosigned.filter(({ size }) => size > shared).map(({ history }) => history))
    if (histories.size > 1) violations.push('two histories were cosigned')
  } finally {
    running.child.kill('SIGTERM')
    if (running.child.exitCode === null && running.child.signalCode === null) await once(running.child, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  return violations
}

async function start(folder: string, isNew: boolean): Promise<Running> {
  const words = 'evidence witness --listen 127.0.0.1:0 --state state --logs logs --key w.key --json'.split(' ')
  const child = spawn(process.execPath, ['--conditions=development', MAIN, ...words, ...(isNew ? ['--init'] : [])], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, url: (JSON.parse(line) as { readonly url: string }).url }
}

/** Undefined when the witness is gone. */
async function post(
  url: string,
  body: string,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

async function headOf(url: string): Promise<number> {
  const response = await fetch(`${url}/${sha256Hex(toUtf8(ORIGIN))}/checkpoint`)
  if (response.status === 404) return 0
  return readCheckpointText(readNote(await response.text())?.text ?? '')?.size ?? Number.NaN
}

function nodesOf(leaves: readonly Uint8Array[]): NodeReader {
  const read: NodeReader = async (level, index) =>
    level === 0
      ? (leaves[index] ?? new Uint8Array())
      : hashChildren(await read(level - 1, 2 * index), await read(level - 1, 2 * index + 1))
  return read
}
