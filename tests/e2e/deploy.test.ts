// oxlint-disable max-lines -- the deployment files of one release, checked against each other
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '@chancery/authority'
import { GATEWAY_SETTINGS } from '@chancery/gateway'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { type TestAuthority, TestCa, freePort, startTestAuthority, testSeed } from '@chancery/testkit'
import { parse, parseAllDocuments } from 'yaml'
import { HEALTHCHECK } from '../../tools/release/image/build.ts'
import { describe, expect, it, vi } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const DEPLOY = join(ROOT, 'deploy')
const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const read = (path: string): Promise<string> => readFile(join(DEPLOY, path), 'utf8')

interface Service {
  readonly image: string
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly volumes?: readonly string[]
  readonly secrets?: readonly string[]
  readonly networks?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
  readonly ports?: readonly string[]
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: object
  readonly secrets: object
  readonly networks: object
}

describe('image', () => {
  it('runs as the number that the manifests name, with files that exist', async () => {
    const dockerfile = await read('image/Dockerfile')
    expect(dockerfile).toMatch(/^USER 10001:10001$/m)
    // Nothing of the image may run while it is built.
    expect(dockerfile).not.toMatch(/^(RUN|ADD)\b/m)
    const entrypoint = JSON.parse(/^ENTRYPOINT (.+)$/m.exec(dockerfile)?.[1] ?? '[]') as readonly string[]
    for (const file of [
      'compose/compose.yaml',
      'kubernetes/base/authority.yaml',
      'helm/chancery/templates/_helpers.tpl',
    ])
      expect(await read(file), file).toContain('10001')
    expect(existsSync(join(ROOT, entrypoint.at(-1)?.replace('/app/', '') ?? '-'))).toBe(true)
    expect(HEALTHCHECK.Test.at(-1)).toBe('/app/probe.mjs')
    expect(existsSync(join(DEPLOY, 'image/probe.mjs'))).toBe(true)
  })

  it('has a probe that says yes to 200 only', async () => {
    const server = createServer((request, response) => response.writeHead(Number(request.url?.slice(1))).end())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const probe = async (url: string): Promise<unknown> => {
      const [code] = (await once(spawn(process.execPath, [join(DEPLOY, 'image/probe.mjs'), url]), 'exit')) as unknown[]
      return code
    }
    try {
      const codes = await Promise.all([200, 204, 302, 503].map((status) => probe(`http://127.0.0.1:${port}/${status}`)))
      expect(codes).toEqual([0, 1, 1, 1])
      expect(await probe('http://127.0.0.1:1/')).toBe(1)
    } finally {
      server.close()
    }
  })
})

describe('compose', () => {
  it('names nothing that it does not define, and mounts files that exist', async () => {
    const { services, volumes, secrets, networks } = parse(await read('compose/compose.yaml'), {
      merge: true,
    }) as Compose
    const used = Object.values(services)
    const mounts = used.flatMap((service) => service.volumes ?? []).map((mount) => mount.split(':')[0] ?? '')
    const places = mounts.filter((mount) => mount.startsWith('.') && !mount.startsWith('./config/'))
    for (const place of places) expect(existsSync(join(DEPLOY, 'compose', place)), place).toBe(true)
    expect(new Set(mounts.filter((mount) => !mount.startsWith('.')))).toEqual(new Set(Object.keys(volumes)))
    expect(new Set(used.flatMap((service) => service.secrets ?? []))).toEqual(new Set(Object.keys(secrets)))
    expect(new Set(used.flatMap((service) => service.networks ?? []))).toEqual(new Set(Object.keys(networks)))
    for (const { depends_on = [] } of used)
      for (const name of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on))
        expect(Object.keys(services)).toContain(name)
  })

  it('gives our services only what they need, and opens one port to the public', async () => {
    const { services } = parse(await read('compose/compose.yaml'), { merge: true }) as Compose
    for (const name of ['authority-1', 'authority-2', 'gateway']) {
      const service = services[name]
      expect(service, name).toMatchObject({ user: '10001:10001', read_only: true, cap_drop: ['ALL'] })
      expect(service?.security_opt).toContain('no-new-privileges:true')
      expect(service?.ports, name).toBeUndefined()
    }
    const open = Object.entries(services).filter(([, { ports = [] }]) => ports.some((port) => !port.startsWith('127.')))
    expect(open.map(([name]) => name)).toEqual(['balancer'])
  })

  it('has a first gateway that names only files and settings that exist, and opens no port to other machines', async () => {
    const { services, secrets, networks } = parse(await read('compose/gateway.yaml'), { merge: true }) as Compose
    expect(Object.keys(services)).toEqual(['authority', 'gateway', 'service', 'setup'])
    for (const [name, service] of Object.entries(services)) {
      expect(service, name).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
      expect(service.security_opt).toContain('no-new-privileges:true')
      for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
      const mounts = (service.volumes ?? []).map((mount) => mount.split(':')[0] ?? '')
      for (const place of mounts.filter((mount) => !mount.startsWith('./network')))
        expect(existsSync(join(DEPLOY, 'compose', place)), place).toBe(true)
      for (const network of service.networks ?? []) expect(Object.keys(networks)).toContain(network)
      for (const secret of service.secrets ?? []) expect(Object.keys(secrets)).toContain(secret)
    }
    // The service must not read keys of the network: it gets the token and its own program.
    expect(services['service']?.volumes).toEqual(['../../examples:/app/examples:ro'])
  })

  it.runIf(has('haproxy', '-v'))('has a balancer that HAProxy accepts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-balancer-'))
    try {
      const ca = new TestCa()
      const { cert, key } = ca.issue('na.example.org')
      ca.remove()
      await writeFile(join(folder, 'door.pem'), `${cert}${key}`)
      const text = (await read('compose/haproxy.cfg')).replaceAll('/etc/haproxy/tls/', `${folder}/door.pem`)
      await writeFile(join(folder, 'haproxy.cfg'), text)
      execFileSync('haproxy', ['-c', '-q', '-f', join(folder, 'haproxy.cfg')], { stdio: 'pipe' })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it.runIf(has('haproxy', '-v'))(
    'has a balancer that the doctor accepts, and only with the right number of hops',
    async () => {
      const found: unknown[] = []
      for (const hops of ['0', '1', '2']) {
        const na = await startTestAuthority({
          settings: { NA_PROXY_HOPS: hops, NA_PUBLIC_URL: 'https://na.example.org' },
        })
        const door = await openDoor(new URL(na.url).port)
        try {
          const settings = { ...na.database.settings, ...(await ownSettings(na, door.folder)), NA_PROXY_HOPS: hops }
          const envFile = join(door.folder, 'authority.env')
          await writeFile(
            envFile,
            Object.entries(settings)
              .map(([name, value]) => `${name}=${value}`)
              .join('\n'),
            { mode: 0o600 },
          )
          const findings = await commands.diagnose({ flags: {}, envFile, url: door.url })
          const statusOf = (check: string) => findings.find((one) => one.check === check)?.status
          found.push([hops, statusOf('proxy-hops'), statusOf('balancer'), statusOf('metrics-exposure')])
        } finally {
          await door.close()
          await na.stop()
        }
      }
      expect(found).toEqual([
        ['0', 'warn', 'good', 'good'],
        ['1', 'good', 'good', 'good'],
        ['2', 'bad', 'good', 'good'],
      ])
    },
  )
})

describe('balancer of compose', () => {
  it.runIf(has('haproxy', '-v'))('hides metrics in every spelling, and nothing else', async () => {
    const na = await startTestAuthority()
    const door = await openDoor(new URL(na.url).port)
    const statusOf = async (path: string): Promise<number> => (await fetch(`${door.url}${path}`)).status
    try {
      const spellings = [
        '/metrics',
        '/%6detrics',
        '/%6Detrics',
        '/metric%73',
        '/%6d%65%74%72%69%63%73',
        '/m%65trics?x=1',
      ]
      for (const path of spellings) expect(await statusOf(path), path).toBe(404)
      for (const path of ['/healthz', '/health%7A', '/crl', '/agents?capability=/metrics'])
        expect(await statusOf(path), path).toBe(200)
      // Decoded once, as the authority does it: this is another path for both.
      expect(await statusOf('/%256detrics')).toBe(404)
    } finally {
      await door.close()
      await na.stop()
    }
  })

  it('and every other shipped door compare decoded paths only', async () => {
    const files = (await readdir(DEPLOY, { recursive: true })).filter((file) => file.endsWith('.cfg'))
    expect(files).not.toEqual([])
    for (const file of files)
      for (const line of (await read(file)).split('\n').filter((one) => /\{ path\b/.test(one)))
        expect(line, file).toContain('path,url_dec')
  })

  it('does not lead to the port of the metrics, which Prometheus asks', async () => {
    const port = '9464'
    expect(await read('compose/haproxy.cfg')).not.toContain(port)
    for (const file of [
      'compose/compose.yaml',
      'kubernetes/base/authority.yaml',
      'helm/chancery/templates/authority.yaml',
    ])
      expect(await read(file), file).toContain(`--management-addr=0.0.0.0:${port}`)
    expect(await read('prometheus/prometheus.yaml')).toContain(`authority-1:${port}`)
  })
})

interface Door {
  readonly url: string
  readonly folder: string
  close(): Promise<void>
}

/** The balancer of compose in front of one real authority: without TLS, and with its address in the place of the names. */
async function openDoor(upstream: string): Promise<Door> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-door-'))
  const port = await freePort()
  const text = (await read('compose/haproxy.cfg'))
    .replace('bind :8443 ssl crt /etc/haproxy/tls/', `bind 127.0.0.1:${port}`)
    .replace(/\nfrontend gateway[^]*$/, '\n')
    .replaceAll('server na1 authority-1:8443', `server na1 127.0.0.1:${upstream}`)
    .replaceAll(/^ {2}server na2 .*$/gm, '')
    .replace(' init-addr none resolvers docker', '')
    .replace('inter 2s', 'inter 100')
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, text)
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'haproxy', '-db', '-q', '-f', file], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await vi.waitFor(async () => expect((await fetch(`${url}/healthz`)).status).toBe(200), {
    timeout: 10_000,
    interval: 100,
  })
  return {
    url,
    folder,
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

async function ownSettings(na: TestAuthority, folder: string): Promise<Record<string, string>> {
  const [genesis, key] = [join(folder, 'genesis.json'), join(folder, 'na.key')]
  await writeFile(genesis, writeJson(na.genesis))
  await writeFile(key, writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
  return { GENESIS_FILE: genesis, NA_PRIVATE_KEY_FILE: key, NA_KEY_ID: 'na-test', PORT: new URL(na.url).port }
}

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector: { readonly matchLabels: object }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly containers: readonly {
          readonly volumeMounts: readonly { readonly name: string }[]
          readonly env?: readonly { readonly name: string }[]
        }[]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
  }
}

describe('kubernetes', () => {
  const workloads = async (): Promise<Workload[]> => {
    const files = await Promise.all(['authority', 'gateway'].map((name) => read(`kubernetes/base/${name}.yaml`)))
    const documents = files.flatMap((text) => parseAllDocuments(text).map((one) => one.toJS() as Workload))
    return documents.filter(({ kind }) => kind === 'StatefulSet')
  }

  it('keeps to the restricted profile, with probes and bounds', async () => {
    const found = await workloads()
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['chancery-authority', 'chancery-gateway'])
    for (const { spec } of found) {
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels)
      expect(spec.template.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of spec.template.spec.containers) {
        expect(container).toMatchObject({
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          resources: { limits: { cpu: expect.any(String), memory: expect.any(String) } },
          livenessProbe: expect.any(Object),
          readinessProbe: expect.any(Object),
        })
        const defined = [...spec.template.spec.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)]
        expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(defined.map(({ name }) => name).sort())
      }
    }
  })

  it('sets only what the gateway knows, as compose does', async () => {
    const known = new Set(Object.values(GATEWAY_SETTINGS).map(({ name }) => name))
    const { services } = parse(await read('compose/compose.yaml'), { merge: true }) as Compose
    const set = [
      ...Object.keys(services['gateway']?.environment ?? {}),
      ...(await workloads()).flatMap(({ spec }) =>
        spec.template.spec.containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
      ),
    ].filter((name) => name.startsWith('GATEWAY_'))
    expect(set.length).toBeGreaterThan(5)
    for (const name of set) expect(known).toContain(name)
  })

  it.runIf(has('kubectl', 'kustomize', '--help'))('is a base that kustomize builds, with the image by digest', () => {
    const text = execFileSync('kubectl', ['kustomize', join(DEPLOY, 'kubernetes/base')], { encoding: 'utf8' })
    const images = [...text.matchAll(/image: (\S+)/g)].map(([, image]) => image)
    expect(images).toHaveLength(2)
    for (const image of images) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/)
  })
})

describe('systemd', () => {
  it('dumps no core of a process that holds keys', async () => {
    for (const file of await readdir(join(DEPLOY, 'systemd')))
      expect(await read(`systemd/${file}`), file).toMatch(/^LimitCORE=0$/m)
  })

  it.runIf(has('systemd-analyze', '--version'))('has units that systemd understands and finds closed', async () => {
    for (const file of await readdir(join(DEPLOY, 'systemd'))) {
      const unit = join(DEPLOY, 'systemd', file)
      const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
      // The program is not installed on this machine; nothing else may be said.
      const said = stderr.split('\n').filter((line) => line.includes(file) && !line.includes('is not executable'))
      expect(said, file).toEqual([])
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
        encoding: 'utf8',
      })
      const exposure = /exposure level for \S+: ([0-9.]+)/.exec(stdout)?.[1]
      // A scale from 0 to 10; services without any of these lines have 9.6.
      expect(Number(exposure), file).toBeLessThan(2.5)
    }
  })
})
