import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Repository, checkWorkflow, pinsOf } from './workflow-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = '.github/workflows'
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
const FILES = globSync('*', { cwd: join(ROOT, FOLDER) }).toSorted()

const REPOSITORY: Repository = {
  root: ROOT,
  scripts: new Set(Object.keys(scripts)),
  rights: new Set([
    'docs.yml/publish: pages: write',
    'docs.yml/publish: id-token: write',
    'nightly.yml/report: issues: write',
    'release.yml/attest: id-token: write',
    'release.yml/attest: attestations: write',
    'release.yml/stage: id-token: write',
    'release.yml/draft: contents: write',
    'scorecard.yml/scorecard: security-events: write',
    'scorecard.yml/scorecard: id-token: write',
    'codeql.yml/analyze: security-events: write',
  ]),
}

const DIGEST = '3d3c42e5aac5ba805825da76410c181273ba90b1'
const GOOD = `on:
  pull_request:
permissions: {}
jobs:
  check:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@${DIGEST} # v7.0.1
        with:
          persist-credentials: false
      - run: npm ci && npm run build && .ci/run check:quick
`
const rulesOf = (text: string): string[] => checkWorkflow('x.yml', text, REPOSITORY).map(({ rule }) => rule)

describe('workflows of this repository', () => {
  it('are these', () => {
    expect(FILES).toEqual([
      'ci.yml',
      'codeql.yml',
      'conformance.yml',
      'dependency-review.yml',
      'docs.yml',
      'nightly.yml',
      'release.yml',
      'scorecard.yml',
    ])
  })

  it.each(FILES)('%s follows the rules', (file) => {
    expect(checkWorkflow(file, read(`${FOLDER}/${file}`), REPOSITORY)).toEqual([])
  })

  it('use one digest and one version of each action', () => {
    const pins = new Set(FILES.flatMap((file) => pinsOf(read(`${FOLDER}/${file}`))))
    const actions = [...pins].map((pin) => pin.split('@')[0])
    expect(actions.length).toBeGreaterThan(5)
    expect(actions).toEqual([...new Set(actions)])
  })

  it('have in docs/project/workflows.md the source of every digest', () => {
    const page = read('docs/project/workflows.md')
    for (const pin of new Set(FILES.flatMap((file) => pinsOf(read(`${FOLDER}/${file}`))))) {
      const [, action = '', digest = '', version = ''] = /^(.+)@(.+) # (.+)$/.exec(pin) ?? []
      expect(page).toMatch(new RegExp(`\\| \`${action}\` \\| ${version} \\| \`${digest.slice(0, 12)}\` \\|`))
    }
  })

  it('that sign provenance are named in the command that verifies it: other workflows can sign, too', () => {
    const command = /gh attestation verify(?:\\\n|.)*/.exec(read('docs/how-to/verify-a-release.md'))?.[0]
    expect(command).toContain(`--signer-workflow OWNER/REPO/${FOLDER}/release.yml`)
    expect(command).toContain('--source-ref refs/tags/v')
    expect(read(`${FOLDER}/release.yml`)).toContain('uses: actions/attest@')
    const cosign = /cosign verify-blob(?:\\\n|.)*/.exec(read('docs/how-to/verify-a-release.md'))?.[0]
    expect(cosign).toContain(`https://github.com/OWNER/REPO/${FOLDER}/release.yml@refs/tags/v`)
    expect(cosign).toContain('--certificate-oidc-issuer https://token.actions.githubusercontent.com')
    expect(read(`${FOLDER}/release.yml`)).toContain('cosign sign-blob --yes --bundle SHA256SUMS.sigstore.json')
  })

  it('split the campaigns into the parts that the report expects', () => {
    const text = read(`${FOLDER}/nightly.yml`)
    const { jobs } = parse(text) as { jobs: { campaigns: { strategy: { matrix: { part: number[] } } } } }
    const parts = jobs.campaigns.strategy.matrix.part
    expect(parts).toEqual(Array.from({ length: parts.length }, (_, index) => index + 1))
    expect(text).toContain(`--part "$PART/${parts.length}"`)
    expect(text).toContain(`--parts ${parts.length} `)
  })
})

describe('rules of workflows', () => {
  it('accept the example', () => {
    expect(rulesOf(GOOD)).toEqual([])
  })

  it.each([
    ['rights at the top', ['permissions: {}', 'permissions: read-all'], 'no rights at the top'],
    ['a job without rights', ['    permissions:\n      contents: read\n', ''], 'rights of the job'],
    ['a right that is not listed', ['contents: read', 'contents: write'], 'listed rights'],
    ['all rights', ['    permissions:\n      contents: read\n', '    permissions: write-all\n'], 'rights of the job'],
    ['a tag in place of a digest', [`@${DIGEST} # v7.0.1`, '@v7 # v7.0.1'], 'action by digest with its version'],
    ['a short digest', [DIGEST, DIGEST.slice(0, 12)], 'action by digest with its version'],
    ['a digest without its version', [' # v7.0.1', ''], 'action by digest with its version'],
    [
      'an action of a change',
      [`actions/checkout@${DIGEST} # v7.0.1`, './tools/x'],
      'action by digest with its version',
    ],
    [
      'a key in quotes',
      ['- uses: actions', '- "uses": other/x@main\n      - uses: actions'],
      'action by digest with its version',
    ],
    [
      'an escaped key',
      ['- uses: actions', '- "us\\x65s": x/x@v1\n      - uses: actions'],
      'action by digest with its version',
    ],
    ['stored credentials', ['persist-credentials: false', 'fetch-depth: 0'], 'persist-credentials: false'],
    ['pull_request_target', ['pull_request:', 'pull_request_target:'], 'safe events'],
    ['workflow_run in a list', ['on:\n  pull_request:', 'on: [push, workflow_run]'], 'safe events'],
    ['a comment of a discussion', ['pull_request:', 'discussion_comment:'], 'safe events'],
    ['a review of a change', ['pull_request:', 'pull_request_review:'], 'safe events'],
    ['a secret', ['npm ci &&', 'npm ci &&\n          TOKEN=${{ secrets.NPM }}'], 'secrets in release'],
    ['all secrets', ['    steps:', '    secrets: inherit\n    steps:'], 'secrets in release'],
    ['a secret for all jobs', ['jobs:', 'env:\n  T: ${{ secrets.T }}\njobs:'], 'secrets in release'],
    ['an expression in a script', ['npm ci &&', 'echo ${{ github.head_ref }} &&'], 'no expression in a script'],
    ['a script that is missing', ['npm run build', 'npm run bild'], 'exists'],
    ['a tier that is missing', ['check:quick', 'check:quik'], 'exists'],
    ['a file that is missing', ['npm run build', 'node tools/check/chek.ts'], 'exists'],
    ['a program from the network', ['npm run build', 'npx zizmor'], 'nothing unpinned is fetched'],
    ['no time limit', ['    timeout-minutes: 5\n', ''], 'time limit'],
    ['a runner that changes', ['ubuntu-24.04', 'ubuntu-latest'], 'named runner'],
    ['an image by tag', ['    steps:', '    container: debian:12\n    steps:'], 'image by digest'],
    ['a service by tag', ['    steps:', '    services:\n      db: { image: redis:7 }\n    steps:'], 'image by digest'],
    ['a Node.js that changes', ['persist-credentials: false', 'node-version: 26'], 'exact Node.js'],
    ['a cache of Node.js', ['uses: actions/checkout', 'uses: actions/setup-node'], 'no caches'],
    ['a cache', ['persist-credentials: false', 'persist-credentials: false\n          cache: npm'], 'no caches'],
    [
      'a key that is there twice',
      ['    timeout-minutes: 5\n', '    timeout-minutes: 5\n    timeout-minutes: 6\n'],
      'yaml',
    ],
  ] as const)('find %s', (_, [from, to], rule) => {
    const text = GOOD.replace(from, to)
    expect(text).not.toBe(GOOD)
    expect(rulesOf(text)).toContain(rule)
  })

  it('allow a secret in the environment release', () => {
    const text = GOOD.replace('    steps:', '    environment: release\n    env:\n      T: ${{ secrets.T }}\n    steps:')
    expect(rulesOf(text)).toEqual([])
  })
})

describe('.github/renovate.json', () => {
  const config = JSON.parse(read('.github/renovate.json')) as Record<string, unknown>

  it('pins versions and digests, waits seven days, maintains the lock file, and merges nothing itself', () => {
    expect(config).toMatchObject({
      rangeStrategy: 'pin',
      pinDigests: true,
      minimumReleaseAge: '7 days',
      internalChecksFilter: 'strict',
      automerge: false,
      lockFileMaintenance: { enabled: true },
    })
    expect(JSON.stringify(config)).not.toMatch(/"automerge":true|"minimumReleaseAge":(?!"7 days")/)
  })

  it('finds exact versions in every package.json that it updates', () => {
    const files = ['package.json', ...globSync('{packages,apps}/*/package.json', { cwd: ROOT }), 'site/package.json']
    const ranges = files.flatMap((file) => {
      const about = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>
      return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
        Object.entries(about[kind] ?? {}).flatMap(([name, version]) =>
          /^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ? [] : [`${file}: ${name} ${version}`],
        ),
      )
    })
    expect(ranges).toEqual([])
  })
})
