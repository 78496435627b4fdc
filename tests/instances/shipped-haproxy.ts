import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, send } from '@chancery/testkit'

export interface ShippedHaproxy {
  readonly url: string
  stop(): Promise<void>
}

const FILE = join(import.meta.dirname, '../../deploy/compose/haproxy.cfg')
const START_ATTEMPTS = 400

/**
 * HAProxy with the file of deploy/compose. Only addresses differ: no TLS, the names of the two instances are those
 * given, and there is no gateway. `checkEveryMs` makes it ask for readiness more often than every two seconds.
 */
export async function startShippedHaproxy(facts: {
  readonly folder: string
  readonly upstream: readonly [string, string]
  readonly checkEveryMs?: number
}): Promise<ShippedHaproxy> {
  const port = await freePort()
  const [first, second] = facts.upstream.map((url) => `127.0.0.1:${new URL(url).port}`)
  const text = (await readFile(FILE, 'utf8'))
    .replace('bind :8443 ssl crt /etc/haproxy/tls/', `bind 127.0.0.1:${port}`)
    .replace(/\nfrontend gateway[^]*$/, '\n')
    .replaceAll('authority-1:8443', first ?? '')
    .replaceAll('authority-2:8443', second ?? '')
    .replace(' init-addr none resolvers docker', '')
    .replace('inter 2s', facts.checkEveryMs === undefined ? 'inter 2s' : `inter ${facts.checkEveryMs}`)
  const file = join(facts.folder, 'haproxy.cfg')
  await writeFile(file, text)
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'haproxy', '-db', '-q', '-f', file], { stdio: 'ignore' })
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    const answer = await send(url, 'GET', '/healthz').catch(() => undefined)
    if (answer?.status === 200) return { url, stop }
    await pause(50)
  }
  await stop()
  throw new Error('HAProxy does not lead to an instance')
}
