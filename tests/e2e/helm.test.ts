// oxlint-disable max-lines -- one chart: its values, and what they render to
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ALL_AUTHORITY_SETTINGS } from '@chancery/authority'
import { COMMANDS } from '@chancery/contract'
import { GATEWAY_SETTINGS } from '@chancery/gateway'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorityNames, gatewayNames } from '../../tools/release/helm/chart-schema.ts'
import { type Values, overlay } from '../../tools/release/helm/overlay.ts'
import { leavesOf, unreached } from '../../tools/release/helm/reach.ts'
import { allValues, distinct, isPublished } from '../../tools/release/helm/check.ts'
import { openHelm, readValues } from '../../tools/release/helm/render.ts'
import { findViolations, podOf } from '../../tools/release/helm/rules.ts'
import { packFolder } from '../../tools/release/tar.ts'
import { type Manifest, checkManifests, readManifests } from '../../tools/check/check-manifests.ts'

const HELM = join(import.meta.dirname, '../../deploy/helm')
const CHART = join(HELM, 'chancery')
const DIGEST = `sha256:${'0'.repeat(64)}`

let validate: ValidateFunction
let defaults: Values
beforeAll(async () => {
  validate = new Ajv({ allErrors: true }).compile(
    JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as object,
  )
  defaults = parse(await readFile(join(CHART, 'values.yaml'), 'utf8')) as Values
})

/** As Helm does it: the schema checks the defaults, overlaid with the given values. */
function problems(given: Values): readonly ErrorObject[] {
  validate(overlay(defaults, given))
  return validate.errors ?? []
}

/** Null stays: it takes away a default. */
const withDigest = (given: Values): Values => ({
  ...given,
  image: { digest: DIGEST, ...(given['image'] as Values | undefined) },
})

describe('values', () => {
  it('of every combination are accepted', () => {
    expect(allValues().length).toBeGreaterThan(300)
    for (const [name, values] of allValues()) expect(problems(values), name).toEqual([])
  })

  it('ask for the digest of the image and for nothing else', () => {
    expect(problems({}).map(({ instancePath, params }) => [instancePath, params])).toEqual([
      ['/image', { missingProperty: 'digest' }],
    ])
    expect(problems(withDigest({}))).toEqual([])
  })

  it('of every example are accepted', async () => {
    const names = await readdir(join(HELM, 'examples'))
    expect(names.length).toBeGreaterThan(2)
    for (const name of names)
      expect(problems(parse(await readFile(join(HELM, 'examples', name), 'utf8')) as Values), name).toEqual([])
  })

  it.each<[string, Values, string]>([
    ['an unknown name', { authority: { replica: 3 } }, '/authority'],
    ['an unknown name at the top', { authorities: {} }, ''],
    ['one replica, which the disruption budget would pin', { authority: { replicas: 1 } }, '/authority/replicas'],
    ['a number as text', { gateway: { replicas: '3' } }, '/gateway/replicas'],
    ['a tag in the place of a digest', { image: { digest: 'latest' } }, '/image/digest'],
    ['a tag in the repository', { image: { repository: 'registry.example.org/chancery:1' } }, '/image/repository'],
    ['a size that is no quantity', { gateway: { state: { size: '4 GB' } } }, '/gateway/state/size'],
    ['no limit of memory', { authority: { resources: { limits: null } } }, '/authority/resources'],
    ['a way to switch the network policy off', { networkPolicy: { enabled: false } }, '/networkPolicy'],
    [
      'a selector of every namespace',
      { networkPolicy: { ingressNamespaceLabels: { 'chancery.access/ingress': null } } },
      '/networkPolicy/ingressNamespaceLabels',
    ],
    [
      'a port beyond the last',
      { networkPolicy: { gatewayDestinations: [{ name: 'a', ports: [70_000], cidrs: ['10.0.0.0/8'] }] } },
      '/networkPolicy/gatewayDestinations/0/ports/0',
    ],
    [
      'a port of every machine',
      { networkPolicy: { authorityDestinations: [{ name: 'a', ports: [5432] }] } },
      '/networkPolicy/authorityDestinations/0',
    ],
    [
      'a destination of every pod',
      { networkPolicy: { authorityDestinations: [{ name: 'a', ports: [5432], namespaceLabels: {} }] } },
      '/networkPolicy/authorityDestinations/0/namespaceLabels',
    ],
    [
      'a destination without a port',
      { networkPolicy: { authorityDestinations: [{ name: 'a', ports: [], cidrs: ['10.0.0.0/8'] }] } },
      '/networkPolicy/authorityDestinations/0/ports',
    ],
    [
      'an address without a range',
      { networkPolicy: { gatewayDestinations: [{ name: 'a', ports: [443], cidrs: ['na.example.org'] }] } },
      '/networkPolicy/gatewayDestinations/0/cidrs/0',
    ],
    ['a collector anywhere', { traces: { namespaceLabels: { 'chancery.access/collector': null } } }, '/traces'],
    [
      'a migration without time',
      { authority: { migration: { timeoutSeconds: 0 } } },
      '/authority/migration/timeoutSeconds',
    ],
    ['neither service', { authority: { enabled: false }, gateway: { enabled: false } }, ''],
    ['the secret itself', { authority: { settingsSecret: { 'na.key': 'x' } } }, '/authority/settingsSecret'],
    ['another security context', { gateway: { securityContext: { runAsUser: 0 } } }, '/gateway'],
    [
      'a setting that is no text',
      { authority: { settings: { NA_PROXY_HOPS: 1 } } },
      '/authority/settings/NA_PROXY_HOPS',
    ],
    [
      'a token in the address of the collector',
      { traces: { endpoint: 'https://user:token@collector:4318' } },
      '/traces/endpoint',
    ],
    ['a ratio beyond one', { traces: { ratio: '2' } }, '/traces/ratio'],
    ['an unknown zone spread', { zoneSpread: 'Never' }, '/zoneSpread'],
    ['a backup at no time', { authority: { backup: { schedule: 'nightly' } } }, '/authority/backup/schedule'],
    ['a replica that cannot be', { gateway: { state: { initialize: [-1] } } }, '/gateway/state/initialize/0'],
    ['autoscaling to one', { gateway: { autoscaling: { minReplicas: 1 } } }, '/gateway/autoscaling/minReplicas'],
    ['workers of the authority in the memory of one', { authority: { settings: { NA_WORKERS: '4' } } }, '/authority'],
    ['workers of the gateway in the memory of one', { gateway: { settings: { GATEWAY_WORKERS: 'auto' } } }, '/gateway'],
    [
      'a path of the machine',
      { authority: { extraVolumes: [{ name: 'ca', hostPath: { path: '/etc' } }] } },
      '/authority/extraVolumes/0',
    ],
    [
      'a volume in the place of the secret',
      { gateway: { extraVolumes: [{ name: 'policy', emptyDir: {} }] } },
      '/gateway/extraVolumes/0/name',
    ],
    [
      'a mount that is nowhere',
      { gateway: { extraVolumeMounts: [{ name: 'ca', mountPath: 'ca' }] } },
      '/gateway/extraVolumeMounts/0/mountPath',
    ],
    [
      'an unknown effect of a toleration',
      { authority: { tolerations: [{ effect: 'Never' }] } },
      '/authority/tolerations/0/effect',
    ],
    ['an unknown affinity', { authority: { affinity: { zoneAffinity: {} } } }, '/authority/affinity'],
    ['development mode', { gateway: { settings: { GATEWAY_DEVELOPMENT: 'true' } } }, '/gateway/settings'],
  ])('with %s are refused', (_what, given, place) => {
    expect(problems(withDigest(given)).map(({ instancePath }) => instancePath)).toContain(place)
  })

  it('have no place for a secret', () => {
    const secrets = (list: object): readonly string[] =>
      (Object.values(list) as { name: string; secret?: boolean }[])
        .filter(({ secret }) => secret === true)
        .map(({ name }) => name)
    const authority = [...secrets(ALL_AUTHORITY_SETTINGS), 'NA_PRIVATE_KEY_SEED']
    const gateway = secrets(GATEWAY_SETTINGS)
    expect(authority.length).toBeGreaterThan(4)
    expect(gateway.length).toBeGreaterThan(0)
    for (const name of authority)
      expect(problems(withDigest({ authority: { settings: { [name]: 'x' } } })), name).not.toEqual([])
    for (const name of gateway)
      expect(problems(withDigest({ gateway: { settings: { [name]: 'x' } } })), name).not.toEqual([])
  })
})

describe('values that reach nothing', () => {
  it('are refused as settings, by their names', () => {
    // With memory for several workers.
    const resources = { limits: { memory: '8Gi' } }
    const settings = (part: string, name: string): Values =>
      withDigest({ [part]: { settings: { [name]: 'x' }, resources } })
    for (const name of [...authorityNames(), 'NA_PROXY_HOPS']) expect(problems(settings('authority', name))).toEqual([])
    for (const name of gatewayNames()) expect(problems(settings('gateway', name))).toEqual([])
    // Misspelt, overruled by a flag of the chart, read from the file only, read by another program.
    for (const name of ['NA_PROXY_HOP', 'NA_MANAGEMENT_ADDR', 'PORT', 'DATABASE_URL', 'NA_AUDIT_NATS_STREAM'])
      expect(problems(settings('authority', name)), name).not.toEqual([])
    for (const name of ['GATEWAY_TYPO', 'GATEWAY_ADDR', 'NA_PROXY_HOPS'])
      expect(problems(settings('gateway', name)), name).not.toEqual([])
  })

  it('are refused everywhere else: every table is closed and has a default for each name', async () => {
    const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as Schema
    const look = (part: Schema, value: unknown, way: string): void => {
      const target = part.$ref === undefined ? part : schema.definitions?.[part.$ref.split('/')[2] ?? '']
      if (target?.properties === undefined) return
      expect(target.additionalProperties, way).toBe(false)
      const names = Object.keys(target.properties).filter((name) => !['global', 'digest'].includes(name))
      expect(
        names.filter((name) => (value as Values)[name] === undefined),
        way,
      ).toEqual([])
      for (const name of names) look(target.properties[name] ?? {}, (value as Values)[name], `${way}.${name}`)
    }
    look(schema, defaults, 'values')
  })

  it('are found by rendering with each of them changed (npm run helm:check does so with the chart)', () => {
    const values = { a: { used: 1, idle: 'x' }, list: [], on: false, table: {} }
    const render = (given: Values): string => {
      const { a, list, on, table } = given as unknown as typeof values
      return JSON.stringify([a.used, on ? list : 0, on, table])
    }
    expect(leavesOf(values).map((way) => way.join('.'))).toEqual(['a.used', 'a.idle', 'list', 'on', 'table'])
    expect(unreached(values, { all: { ...values, on: true }, least: values }, render)).toEqual(['a.idle'])
  })

  it('are named by some template', async () => {
    const folder = join(CHART, 'templates')
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    const text = files.join('\n')
    for (const way of leavesOf(defaults))
      // The last name, or that of the table it is written out with.
      expect(
        way.slice(-3).some((name) => new RegExp(`\\.${name}\\b`).test(text)),
        way.join('.'),
      ).toBe(true)
  })
})

const helm = openHelm()
if (typeof helm === 'string') process.stderr.write(`HELM RENDERS NOTHING: ${helm}\n`)

describe.skipIf(typeof helm === 'string')('renderings', () => {
  const render = (given: Values, release?: string): string =>
    typeof helm === 'string' ? '' : helm.render(given, release)
  // Of the combinations every eighth, and all of those that are not products. `npm run helm:check` renders all.
  const some = allValues().filter(
    ([name], at, all) => !name.startsWith('combination') || at % 8 === 0 || at > all.length - 30,
  )
  const rendered = some.map(([name, values]) => ({ name, values, manifests: readManifests(render(values)) }))
  afterAll(() => {
    if (typeof helm !== 'string') helm.remove()
  })
  const kindsOf = (manifests: readonly Manifest[], kind: string): readonly string[] =>
    manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name)

  it('follow our rules: named destinations, disruption budget, spread, restricted pods', () => {
    for (const { name, manifests } of rendered) expect(findViolations(manifests), name).toEqual([])
  })

  it('have separate names with the longest release name, and a longer one is refused', () => {
    const values = readValues(join(HELM, 'examples/all-of-it.yaml'))
    expect(findViolations(readManifests(render(values, 'a'.repeat(36))))).toEqual([])
    expect(() => render(values, 'a'.repeat(37))).toThrow(/at most 36 characters/)
  })

  it('keep to the published API of Kubernetes', async () => {
    const all = distinct(rendered.flatMap(({ manifests }) => manifests)).filter(isPublished)
    expect(all.length).toBeGreaterThan(40)
    expect(await checkManifests(all)).toEqual([])
  })

  it('have the objects of what is on, and no others', () => {
    for (const { name, values, manifests } of rendered) {
      const { authority, gateway, monitoring } = overlay(defaults, values) as unknown as ChartValues
      const parts = [authority.enabled ? 'na-authority' : '', gateway.enabled ? 'na-gateway' : ''].filter(Boolean)
      expect(kindsOf(manifests, 'StatefulSet'), name).toEqual(parts)
      expect(kindsOf(manifests, 'PodDisruptionBudget'), name).toEqual(parts)
      expect(kindsOf(manifests, 'ServiceMonitor'), name).toEqual(monitoring.enabled ? parts : [])
      const alerts = monitoring.enabled && monitoring.alerts ? ['na-alerts'] : []
      expect(kindsOf(manifests, 'PrometheusRule'), name).toEqual(alerts)
      const scaled = [authority, gateway].filter((part) => part.enabled && part.autoscaling.enabled)
      expect(kindsOf(manifests, 'HorizontalPodAutoscaler'), name).toHaveLength(scaled.length)
      expect(kindsOf(manifests, 'CronJob'), name).toHaveLength(authority.enabled && authority.backup.enabled ? 1 : 0)
      const states = gateway.enabled ? gateway.state.initialize.length : 0
      const migrations = authority.enabled && authority.migration.enabled ? 1 : 0
      expect(kindsOf(manifests, 'Job'), name).toHaveLength(states + migrations)
    }
  })

  it('have the alerts of deploy/prometheus, which a packed chart contains', async () => {
    const text = await readFile(join(HELM, '../prometheus/alerts.yaml'), 'utf8')
    const manifests = readManifests(render(readValues(join(HELM, 'examples/all-of-it.yaml'))))
    const rule = manifests.find(({ kind }) => kind === 'PrometheusRule') as unknown as { spec: unknown }
    expect(rule.spec).toEqual(parse(text))
    const folder = mkdtempSync(join(tmpdir(), 'chancery-chart-'))
    try {
      packFolder(CHART, join(folder, 'chart.tgz'), 0)
      const args = ['-xzOf', join(folder, 'chart.tgz'), 'chancery/alerts.yaml']
      expect(execFileSync('tar', args, { encoding: 'utf8' })).toBe(text)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('give volumes and place to the pods and to the jobs of their part', () => {
    const place = { nodeSelector: { disk: 'ssd' }, tolerations: [{ operator: 'Exists' }] }
    const files = { extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }] }
    const mounts = { extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }] }
    const given = { ...place, ...files, ...mounts }
    const values = { backup: { enabled: true } }
    const all = readManifests(
      render(withDigest({ authority: { ...given, ...values }, gateway: { ...given, state: { initialize: [0] } } })),
    )
    const pods = all.flatMap((manifest) => podOf(manifest) ?? [])
    expect(pods).toHaveLength(5)
    for (const { spec } of pods) {
      expect(spec).toMatchObject({ ...place, volumes: expect.arrayContaining(files.extraVolumes) })
      expect(spec.containers).toMatchObject([{ volumeMounts: expect.arrayContaining(mounts.extraVolumeMounts) }])
    }
  })

  it('give a probe two failures or more before it acts', () => {
    const probes = rendered[0]?.manifests
      .flatMap((manifest) => podOf(manifest)?.spec.containers ?? [])
      .flatMap((container) => Object.entries(container))
      .filter(([name]) => name.endsWith('Probe')) as [string, { failureThreshold?: number }][]
    expect(probes).toHaveLength(6)
    for (const [name, { failureThreshold }] of probes) expect(failureThreshold, name).toBeGreaterThan(1)
  })

  it('migrate the database in a job that ends before the pods of the new release start', () => {
    const { manifests } = rendered[0] ?? { manifests: [] }
    const hooks = manifests.filter(({ metadata }) => metadata.name === 'na-authority-migration') as unknown as Hook[]
    expect(hooks.map(({ kind }) => kind)).toEqual(['NetworkPolicy', 'Job'])
    for (const { metadata } of hooks)
      expect(metadata.annotations).toMatchObject({
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      })
    // Its network policy exists first.
    expect(hooks.map(({ metadata }) => metadata.annotations['helm.sh/hook-weight'])).toEqual(['-1', '0'])
    const [container] = podOf(hooks[1] as unknown as Manifest)?.spec.containers ?? []
    const { args: words = [] } = (container ?? {}) as { readonly args?: readonly string[] }
    const command = COMMANDS.find(({ path }) => path.join(' ') === words.slice(0, 2).join(' '))
    expect(command?.options.map(({ flags }) => flags.split(' ')[0])).toContain(words[2]?.split('=')[0])
  })

  it.each<[string, (manifests: Manifest[]) => void, RegExp]>([
    ['a rule that names no destination', (all) => delete policyOf(all).spec.egress[0]?.to, /names no destination/],
    [
      'a rule for every pod',
      (all) => policyOf(all).spec.egress[0]?.to?.push({ podSelector: {} }),
      /every pod or address/,
    ],
    [
      'a rule for every address',
      (all) => policyOf(all).spec.egress[0]?.to?.push({ ipBlock: { cidr: '0.0.0.0/0' } }),
      /every pod or address/,
    ],
    [
      'no policy',
      (all) => all.splice(all.indexOf(policyOf(all) as unknown as Manifest), 1),
      /no network policy closes/,
    ],
    [
      'no budget',
      (all) =>
        all.splice(
          all.findIndex(({ kind }) => kind === 'PodDisruptionBudget'),
          1,
        ),
      /0 disruption budgets/,
    ],
    [
      'no spread',
      (all) => Object.assign(podOf(setOf(all))?.spec ?? {}, { topologySpreadConstraints: [] }),
      /not spread by topology.kubernetes.io\/zone/,
    ],
    [
      'a writable root',
      (all) => Object.assign(podOf(setOf(all))?.spec ?? {}, { containers: [] }),
      /lacks "readOnlyRoot/,
    ],
  ])('with %s would be refused', (_what, change, problem) => {
    const manifests = structuredClone(readManifests(render(withDigest({})))) as Manifest[]
    expect(findViolations(manifests)).toEqual([])
    change(manifests)
    expect(findViolations(manifests).join('\n')).toMatch(problem)
  })
})

interface Part {
  readonly enabled: boolean
  readonly autoscaling: { readonly enabled: boolean }
}
interface ChartValues {
  readonly authority: Part & Readonly<Record<'backup' | 'migration', { readonly enabled: boolean }>>
  readonly gateway: Part & { readonly state: { readonly initialize: readonly number[] } }
  readonly monitoring: { readonly enabled: boolean; readonly alerts: boolean }
}
interface Hook {
  readonly kind: string
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
}
interface Policy {
  readonly spec: { readonly egress: { to?: object[] }[] }
}

const policyOf = (all: readonly Manifest[]): Policy =>
  all.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'na-authority') as unknown as Policy
const setOf = (all: readonly Manifest[]): Manifest =>
  all.find(({ kind }) => kind === 'StatefulSet') as unknown as Manifest

interface Schema {
  readonly $ref?: string
  readonly additionalProperties?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly definitions?: Readonly<Record<string, Schema>>
}

describe('chart', () => {
  it('has the version of everything else', async () => {
    const { version } = JSON.parse(await readFile(join(HELM, '../../package.json'), 'utf8')) as { version: string }
    const chart = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as Record<string, string>
    expect([chart['version'], chart['appVersion']]).toEqual([version, version])
  })
})
