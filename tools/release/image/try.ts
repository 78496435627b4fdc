import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Installed, output, tryAuthority, tryCommands, tryEvidence } from '../try-install.ts'
import { NOT_RUN } from '../../check/run-command.ts'
import { PLATFORMS } from './platforms.ts'
import { type EngineConfig, unpackImage } from './unpack.ts'

/**
 * `npm run image:try`: runs the image that `npm run image` wrote, without an engine: its file system mounted read-only in
 * a separate mount and process namespace, chroot, the user the image names, no capability, no new privilege; only
 * /tmp and its data folder can be written. Needs root, for the mounts. The image of another processor runs under
 * qemu-user-static.
 *
 *   npm run image:try -- [--architecture arm64] [--user 65532:65532] [--native off] [ARCHIVE]
 */

const ROOT = join(import.meta.dirname, '../../..')
const DATA = '/var/lib/chancery'
/** Of this machine, in the words of an image. */
const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64'
const QEMU: Readonly<Record<string, string>> = { amd64: 'qemu-x86_64-static', arm64: 'qemu-aarch64-static' }
/** Where the emulator is in the file system of the trial. The image itself does not have it. */
const EMULATOR = '/.emulator'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    architecture: { type: 'string', default: OWN },
    /** Another user than that of the image, as some clusters choose one. */
    user: { type: 'string' },
    native: { type: 'string', default: 'on' },
  },
})

const ARCHIVE = positionals[0] ?? join(ROOT, 'dist/chancery-image.tar')

/** Why the trial cannot run here. */
function findObstacle(): string | undefined {
  const emulator = QEMU[values.architecture] ?? ''
  if (!existsSync(ARCHIVE)) return `${ARCHIVE} is missing: npm run image`
  if (process.getuid?.() !== 0) return 'the mounts need root'
  if (values.architecture === OWN || spawnSync('which', [emulator]).status === 0) return undefined
  return `${emulator} is missing: apt-get install qemu-user-static`
}

/** Prepares the mounts, then becomes the user. Arguments: root, data folder, user:group, command… */
const ENTER = `
set -eu
# Not exported: the image names no path.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$1 data=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro,nosuid,nodev "$root"
mount -t proc proc "$root/proc" -o ro,nosuid,nodev,noexec
mount -t tmpfs none "$root/tmp" -o nosuid,nodev,noexec,size=16m,mode=1777
mount --bind "$data" "$root${DATA}"
mount --bind /dev "$root/dev"
keep=+sys_chroot,+setuid,+setgid
exec setpriv --no-new-privs "--bounding-set=-all,$keep" --inh-caps=-all "$(command -v chroot)" --userspec="$user" --groups= "$root" "$@"
`

class Image {
  readonly config: EngineConfig
  readonly root: string
  readonly data: string
  readonly #folder: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'chancery-image-'))
    chmodSync(this.#folder, 0o755)
    this.root = join(this.#folder, 'root')
    const config = unpackImage(ARCHIVE, values.architecture, this.root)
    this.config = { ...config, User: values.user ?? config.User }
    this.data = join(this.#folder, 'data')
    mkdirSync(this.data)
    chownSync(this.data, ...this.user)
  }

  get user(): [number, number] {
    const [user = 0, group = 0] = this.config.User.split(':').map(Number)
    return [user, group]
  }

  /** After the files were checked. */
  addEmulator(): void {
    if (values.architecture === OWN) return
    const name = QEMU[values.architecture] ?? ''
    copyFileSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(this.root, EMULATOR))
  }

  /** Any program of the image, never a shell: it has none. */
  exec(command: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess {
    const { User, Env } = this.config
    const env = {
      ...Object.fromEntries(Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string])),
      ...(values.native === 'off' ? { CHANCERY_NATIVE: 'off' } : {}),
      ...more,
    }
    const inside = ['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
    const space = ['--mount', '--pid', '--fork', '--kill-child=KILL', '--propagation', 'private', '--ipc', '--uts']
    const enter = ['/bin/sh', '-c', ENTER, 'enter', this.root, this.data, User]
    const emulated = values.architecture === OWN ? command : [EMULATOR, ...command]
    const child = spawn('unshare', [...space, ...inside, ...enter, ...emulated], { stdio: ['ignore', 'pipe', 'pipe'] })
    // unshare keeps SIGTERM to itself; an engine would give it to the first process of the container. That process has
    // changed its user, so it does not end with unshare either.
    const killUnshare = child.kill.bind(child)
    child.kill = (signal) => {
      const [first] = childrenOf(child.pid ?? 0)
      return first === undefined ? killUnshare(signal) : process.kill(first, signal)
    }
    return child
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }
}

function childrenOf(pid: number): readonly number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  // Without children the text is empty, and 0 would be every process of this group.
  return existsSync(file) ? (readFileSync(file, 'utf8').match(/\d+/g) ?? []).map(Number) : []
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
  const { version, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  const { node = '' } = PLATFORMS.find(({ architecture }) => architecture === values.architecture) ?? {}
  const image = new Image()
  try {
    checkFiles(image, say)
    image.addEmulator()
    await checkProcess(image, `v${optionalDependencies[node] ?? ''}`, say)
    const traces = '/app/packages/telemetry/dist/register.js'
    await output({ spawn: () => image.exec(['/usr/bin/node', '--import', traces, '-e', '0']) }, [])
    say(`traces can be turned on: --import ${traces}`)
    const { Entrypoint, Healthcheck } = image.config
    const installed: Installed = {
      inside: DATA,
      outside: image.data,
      say,
      // An emulated processor is slow.
      readySeconds: values.architecture === OWN ? 60 : 600,
      spawn: (args) => image.exec([...Entrypoint, ...args], { HOME: DATA }),
    }
    mkdirSync(join(image.data, 'state'), { recursive: true })
    chownSync(join(image.data, 'state'), ...image.user)
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
  const [uid, gid] = image.user
  const expected = {
    uid,
    gid,
    groups: [gid],
    node,
    capabilities: '0'.repeat(48),
    noNewPrivileges: '1',
    root: ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
    free: ['written', 'written'],
  }
  if (text.trim() !== JSON.stringify(expected)) throw new Error(`the process is not as it should be: ${text}`)
  say(`linux/${values.architecture}, user ${uid}, no capability, no new privilege; root read-only; ${node}`)
}

const obstacle = findObstacle()
if (obstacle === undefined) await main()
else {
  console.log(obstacle)
  process.exitCode = NOT_RUN
}
