import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROUTES } from '@chancery/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/**
 * A project that installs only the client library, laid out as pnpm does: each package is in a store together with what it
 * needs, and the project sees only what it names. A type that the library takes from a package below it, and does not
 * export, cannot be named there: TS2742 in a declaration, TS2307 for an import.
 */
const ROOT = join(import.meta.dirname, '../..')
const SEEN = ['@chancery/sdk', '@types/node']
/** Errors about names. The generated programs also write what is no program, such as the members of a text. */
const UNNAMED = /error TS(?:2307|2305|2742|2883|40\d\d|41\d\d)\b/

let folder: string
let store: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-strict-'))
  store = join(folder, 'node_modules/.pnpm/store/node_modules')
  const stored = new Set(SEEN)
  for (const name of stored) for (const needed of await install(name)) stored.add(needed)
  for (const name of SEEN) {
    const place = join(folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(store, name), place)
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
})
afterAll(() => rm(folder, { recursive: true }))

/** Copies the published files of a package, and returns what it needs. */
async function install(name: string): Promise<readonly string[]> {
  const from = await realpath(join(ROOT, 'node_modules', name))
  const about = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as {
    readonly dependencies?: Readonly<Record<string, string>>
  }
  const to = join(store, name)
  // A package of this repository publishes these two, and others are installed as they were published.
  if (!name.startsWith('@chancery/')) await cp(from, to, { recursive: true })
  else for (const file of ['package.json', 'dist']) await cp(join(from, file), join(to, file), { recursive: true })
  return Object.keys(about.dependencies ?? {})
}

/** Returns what the compiler reports for one file that writes its declarations. */
async function compile(text: string): Promise<readonly string[]> {
  const project = join(folder, `project-${crypto.randomUUID()}`)
  await mkdir(project)
  await writeFile(join(project, 'program.ts'), text)
  const options = {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    declaration: true,
    outDir: 'out',
    skipLibCheck: true,
  }
  const config = { compilerOptions: { ...options, types: ['node'] }, include: ['*.ts'] }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(config))
  const tsc = await realpath(join(ROOT, 'node_modules/.bin/tsc'))
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '-p', project], { maxBuffer: 2 ** 26 }, (_error, stdout) => resolve(stdout))
  })
  return output.split('\n').filter((line) => line.includes('error TS'))
}

/** The types that the entry point of all routes exports, by name. */
async function exportedTypes(): Promise<readonly string[]> {
  const dist = join(ROOT, 'packages/sdk/dist')
  const texts = await Promise.all(
    ['authority/index.d.ts', 'contract-types.d.ts', 'record-types.d.ts'].map((file) =>
      readFile(join(dist, file), 'utf8'),
    ),
  )
  const lists = texts.flatMap((text) => [...text.matchAll(/^export type \{([^}]*)\}/gm)])
  return lists.flatMap(([, names = '']) => names.match(/\w+/g) ?? []).filter((name) => name !== 'as')
}

describe('a project that installs only the library', () => {
  it('compiles the programs of the documents', async () => {
    const page = await readFile(join(ROOT, 'docs/partner-service.md'), 'utf8')
    const imports = [...page.matchAll(/^import .* from '@chancery\/.*'$/gm)].map(([line]) => line)
    expect(imports.length).toBeGreaterThan(2)
    const program = `
      import { MemoryNodeStore, joinNetwork, readJson, verifyCertificate } from '@chancery/sdk'
      import { readGenesisFile } from '@chancery/sdk/nodejs'
      import { readAttestation } from '@chancery/sdk/protocol'
      import type { Attestation, Certificate, Decision, GenesisBlock, NetworkNode } from '@chancery/sdk'
      export const ids = (a: Attestation, d: Decision, g: GenesisBlock, c: Certificate): string[] =>
        [a.attestation_id, d.decision_id, g.network_name, c.cert_id]
      export async function start(url: string) {
        return joinNetwork({ url, genesis: await readGenesisFile('genesis.json'), store: new MemoryNodeStore() })
      }
      export const ask = async (node: NetworkNode, attestation: string) => (await node.ask('x', { attestation })).decision
      export const attestation = (text: string) => readAttestation(readJson(text))
      export const check = (text: string) => verifyCertificate(text, {})`
    expect(await compile([...imports, program].join('\n'))).toEqual([])
  })

  it('can name what every method returns, and every part of it', async () => {
    const methods = Object.entries(ROUTES).flatMap(([area, routes]) =>
      Object.keys(routes).map((name) => `${area}.${name}`),
    )
    expect(methods.length).toBeGreaterThan(100)
    const calls = methods.map((method, at) => {
      const type = `Client${method
        .split('.')
        .map((name) => `['${name}']`)
        .join('')}`
      return `export const call${at} = async (client: Client, ...given: Parameters<${type}>) => client.${method}(...given)`
    })
    const types = await exportedTypes()
    expect(types.length).toBeGreaterThan(300)
    const parts = types.map((name, at) => `export const part${at} = (value: sdk.${name}) => ({ ...value })`)
    const program = [
      "import type * as sdk from '@chancery/sdk/authority'",
      "import type { Client } from '@chancery/sdk/authority'",
    ]
    const reported = await compile([...program, ...calls, ...parts].join('\n'))
    expect(reported.filter((line) => UNNAMED.test(line))).toEqual([])
  })

  it.each([
    [
      'nodejs',
      "import { readGenesisFile } from '@chancery/sdk/nodejs'\nexport const made = () => readGenesisFile('x')",
    ],
    [
      'verify',
      "import { RelyingParty } from '@chancery/sdk/verify'\nexport const made = (pins: Parameters<typeof RelyingParty.open>[0]) => ({ ...pins })",
    ],
    [
      'mcp',
      "import { callerOf } from '@chancery/sdk/mcp'\nexport const made = (context: unknown) => callerOf(context)",
    ],
    [
      'a2a',
      "import { verifyAgentCard } from '@chancery/sdk/a2a'\nexport const made = (...given: Parameters<typeof verifyAgentCard>) => verifyAgentCard(...given)",
    ],
    ...(
      [
        ['', 'joinNetwork createDecider createSigningFetch trustNetworks createGovernor verifyRecord verifyDecision'],
        ['/verify', 'verifyCrl verifyRequest verifyDecisionChain verifyVote'],
        ['/evidence', 'readPack verifyPack explainPack replayPack verifyBundle verifyPast verifyExport verifyAnchors'],
        ['/authority', 'createAuthorityClient castVote readWholeFeed evidenceApi partnersApi'],
        ['/gateway', 'createGatewayClient createAuthzenClient'],
        ['/wimse', 'wimse signWimseRequest verifyWimse'],
        ['/platform', 'githubToken gitlabToken kubernetesToken spiffeJwt spiffeX509'],
      ] as const
    ).map(([entry, names]): [string, string] => [
      entry === '' ? 'main' : entry.slice(1),
      [
        `import { ${names.split(' ').join(', ')} } from '@chancery/sdk${entry}'`,
        ...names
          .split(' ')
          .map((name) => `export const made_${name} = (...given: Parameters<typeof ${name}>) => ${name}(...given)`),
      ].join('\n'),
    ]),
  ])('can name records with the entry point %s alone', async (_name, text) => {
    expect(await compile(text)).toEqual([])
  })
})
